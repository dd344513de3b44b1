"""What the build and the environments are made from."""

import os
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.sources import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "requirements.py"))


def requirements(profile: str) -> list[str]:
    return SCRIPT["requirements"](profile, ROOT / "pyproject.toml")


def test_the_lowest_profile_pins_every_lower_bound() -> None:
    lowest = requirements("lowest")
    assert all("==" in line and ">" not in line for line in lowest)
    assert [line.split("==")[0] for line in lowest] == [
        line.split(">=")[0].split("==")[0] for line in requirements("test")
    ]


@pytest.mark.parametrize(
    ("line", "pinned"),
    [
        ("a>=1.2", "a==1.2"),
        ("a[b]>=1.2,<3", "a[b]==1.2"),
        ("a==1", "a==1"),
        ("a>=1; python_version < '3.12'", "a==1; python_version < '3.12'"),
    ],
)
def test_a_lower_bound_becomes_a_pin(line: str, pinned: str) -> None:
    assert SCRIPT["pinned"](line) == pinned


def test_a_requirement_without_a_lower_bound_is_refused() -> None:
    with pytest.raises(SystemExit, match="no lower bound"):
        SCRIPT["pinned"]("a<2")


def test_each_profile_holds_the_one_before() -> None:
    demo, suite, dev = (set(requirements(name)) for name in ("demo", "test", "dev"))
    assert demo < suite < dev
    assert set(PYPROJECT["project"]["dependencies"]) < demo


def test_the_demo_travels_in_the_wheel() -> None:
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    (source,) = [path for path, target in included.items() if target == "rollgrid_tui/_demo/quickstart"]
    assert (ROOT / source / "env.py").is_file()


def test_an_interpreter_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    """A shim of a version manager is there for versions that are not selected, and fails when it is run."""
    for name in ("python3.11", "python3.12", "python3"):
        shim = tmp_path / name
        shim.write_text("#!/bin/sh\necho 'not this one' >&2\nexit 127\n")
        shim.chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    listed = subprocess.run(
        [ROOT / ".ci" / "pythons"], env=variables, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert listed
    assert not [line for line in listed if str(tmp_path) in line]
    minors = [int(line.split()[0].split(".")[1]) for line in listed]
    assert minors == sorted(set(minors))
    assert min(minors) >= 11
