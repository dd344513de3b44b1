"""SQL that every supported interpreter takes."""

import ast
import re
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[2] / "core" / "rollgrid").rglob("*.py"))
NUMBERED = re.compile(r"\?[0-9]")


def strings(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def test_no_statement_numbers_its_parameters():
    """CPython 3.12 warns of `?1` bound by position, and the warning ends the statement where warnings are errors."""
    found = [f"{path.name}: {text[:60]}" for path in SOURCES for text in strings(path) if NUMBERED.search(text)]
    assert found == []
