"""Which kind of file system a path is on. WAL needs memory that all writers share, which network mounts do not give."""

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")

NETWORK = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.davfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.smbnetfs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "smb2",
        "smb3",
        "smbfs",
    }
)


def network_file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """The type of the network file system that `path` (or the nearest folder that exists) is on, else None.

    None also where the machine does not tell (`mounts` is Linux's table).
    """
    try:
        table = mounts.read_bytes()
    except OSError:
        return None
    place = os.fsencode(os.path.realpath(path))
    best: tuple[bytes, str] = (b"", "")
    for line in table.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = _unescape(fields[1])
        # A later mount on the same point hides the earlier one.
        if len(point) >= len(best[0]) and _is_under(place, point):
            best = (point, fields[2].decode(errors="replace"))
    return best[1] if best[1] in NETWORK else None


def _is_under(place: bytes, point: bytes) -> bool:
    return place == point or place.startswith(point.rstrip(b"/") + b"/")


def _unescape(field: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes((int(match[1], 8),)), field)
