from pathlib import Path

import pytest

from rollgrid.errors import LogError
from rollgrid.store import opening
from rollgrid.store.filesystems import network_file_system
from rollgrid.store.opening import prepare_log

TABLE = """\
/dev/sda / ext4 rw 0 0
server:/export /net nfs4 rw 0 0
//box/share /mnt/my\\040share cifs rw 0 0
tmpfs /net/ann/local tmpfs rw 0 0
user@box: /mnt/ssh fuse.sshfs rw 0 0
/dev/sdb /mnt/twice nfs rw 0 0
/dev/sdb /mnt/twice xfs rw 0 0
short
"""


@pytest.fixture
def mounts(tmp_path: Path):
    table = tmp_path / "mounts"
    table.write_text(TABLE)
    return table


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/net/ann/project/log.db", "nfs4"),
        ("/net", "nfs4"),
        ("/nets/log.db", None),
        ("/mnt/my share/log.db", "cifs"),
        ("/mnt/ssh/x/y/log.db", "fuse.sshfs"),
        ("/net/ann/local/log.db", None),
        ("/mnt/twice/log.db", None),
        ("/var/log.db", None),
    ],
)
def test_the_innermost_mount_decides(mounts, path, kind):
    assert network_file_system(Path(path), mounts) == kind


def test_a_machine_that_does_not_tell_is_believed(tmp_path: Path):
    assert network_file_system(Path("/net/log.db"), tmp_path / "missing") is None


def test_a_log_on_a_network_file_system_is_refused_in_one_line(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(opening, "network_file_system", lambda _path: "nfs4")
    with pytest.raises(LogError) as caught:
        prepare_log(tmp_path / "new" / "log.db")
    assert "network file system (nfs4)" in caught.value.message
    assert "\n" not in caught.value.message
    assert "--log" in (caught.value.hint or "")
    assert not (tmp_path / "new").exists()
