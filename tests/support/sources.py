"""The project's own files, for the tests that look at the source."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file that git knows, and every new one that it does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    return tuple(path for name in sorted(set(listed.split("\0")) - {""}) if (path := ROOT / name).is_file())


def product_modules() -> tuple[Path, ...]:
    """The Python files of the two packages."""
    return tuple(
        path for path in tracked_files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in {"core", "tui"}
    )


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def syntax_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def docstring_nodes(tree: ast.AST) -> set[int]:
    """Ids of the constants that are docstrings, or strings standing alone as documentation of an attribute."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
