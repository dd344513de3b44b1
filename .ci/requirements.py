"""Prints what a profile of this project needs, read from pyproject.toml, one requirement a line.

    demo     the package and the embedded model's runtime
    test     demo, and what the suite needs
    dev      test, and the linters
    compat   test, and the libraries that there are adapters for
    ray      test, and Ray
    adapters test, and those libraries at the lower bounds of pyproject.toml
    lowest   test, every lower bound of pyproject.toml pinned: `>=1.2` becomes `==1.2`

Only the standard library is used: it runs before anything is installed.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROFILES = ("demo", "test", "dev", "compat", "ray", "adapters", "lowest")


def requirements(profile: str, pyproject: Path) -> list[str]:
    """The requirement lines of a profile; `lowest` refuses a requirement that has no lower bound."""
    table = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    project, groups = table["project"], table["dependency-groups"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["local"]]
    if profile == "adapters":
        tests = [*group("test", groups)]
        return [*lines, *tests, *(pinned(line) for line in group("compat", groups) if line not in tests)]
    if profile != "demo":
        lines += group(profile if profile in ("dev", "compat", "ray") else "test", groups)
    return [pinned(line) for line in lines] if profile == "lowest" else lines


def group(name: str, groups: dict[str, list[str | dict[str, str]]]) -> Iterator[str]:
    """The lines of a dependency group, included groups first."""
    for line in groups[name]:
        if isinstance(line, dict):
            yield from group(line["include-group"], groups)
        else:
            yield line


def pinned(line: str) -> str:
    """`name[extra]>=1.2,<3; marker` as `name[extra]==1.2; marker`."""
    requirement, _, marker = line.partition(";")
    match = re.fullmatch(r"\s*([A-Za-z0-9._-]+(?:\[[^\]]*\])?)\s*(?:>=|==)\s*([^,\s]+)\s*(?:,.*)?", requirement)
    if match is None:
        raise SystemExit(f"requirements.py: {line!r} has no lower bound to pin")
    return f"{match[1]}=={match[2]}" + (f";{marker}" if marker else "")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PROFILES:
        sys.exit(f"usage: requirements.py {{{'|'.join(PROFILES)}}}")
    print("\n".join(requirements(sys.argv[1], Path(__file__).parent.parent / "pyproject.toml")))
