"""What every module of the two packages keeps to."""

import ast
import re
from pathlib import Path

import pytest

from support.sources import docstring_nodes, name_of, product_modules, syntax_of, tracked_files

MODULE_LINES = 400
CLASS_LINES = 250

LONG_MODULES: dict[str, str] = {}
"""Modules that may be longer, each with the reason."""

LONG_CLASSES: dict[str, str] = {}
"""`path:Class` that may be longer, each with the reason."""

AMBIGUOUS_WIDTH = "·●○■▲…×"
"""Drawn one or two cells wide, depending on the terminal, so no string that reaches the screen may have one."""

NOT_FOR_THE_SCREEN = {
    "core/rollgrid/models/local/sources.py": "looks for the mark with which uv starts its error messages",
}
"""Modules whose strings may hold such a character, each with the reason."""

MODULES = product_modules()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MODULE_LINES or LONG_MODULES.get(name_of(path)), f"{lines} lines, more than {MODULE_LINES}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_class_has_one_job(path: Path) -> None:
    long = [
        f"{node.name}: {length} lines"
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.ClassDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > CLASS_LINES
        and f"{name_of(path)}:{node.name}" not in LONG_CLASSES
    ]
    assert not long


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_public_module_says_what_it_is(path: Path) -> None:
    if path.name == "_version.py" or not path.read_text(encoding="utf-8").strip():
        return
    assert ast.get_docstring(syntax_of(path))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_exception_is_swallowed(path: Path) -> None:
    mute = [
        f"line {node.lineno}"
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and all(_does_nothing(s) for s in node.body)
    ]
    assert not mute


def _is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"}) for name in names
    )


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass | ast.Continue) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_string_holds_a_character_of_uncertain_width(path: Path) -> None:
    tree = syntax_of(path)
    documentation = docstring_nodes(tree)
    found = [
        f"line {node.lineno}: {character!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
        for character in AMBIGUOUS_WIDTH
        if character in node.value
    ]
    assert not found or NOT_FOR_THE_SCREEN.get(name_of(path))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_is_left_undone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    marks = re.findall(r"\b(?:TODO|FIXME|XXX|HACK)\b", text)
    unfinished = [
        f"line {node.lineno}"
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node)
    ]
    assert not marks
    assert not unfinished


HOST = re.compile(r"https?://[^\s/'\"]*(?:pypi|pythonhosted|npmjs|debian|anaconda)[^\s/'\"]*", re.IGNORECASE)
HOME = re.compile(r"(?<![\w.~}])/(?:root|home|Users|work)/[\w.]")
BINARY = {".png", ".gguf", ".db", ".zip", ".gz"}


@pytest.mark.parametrize("path", [p for p in tracked_files() if p.suffix not in BINARY], ids=name_of)
def test_no_file_tells_of_the_machine_it_was_made_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    assert not HOST.findall(text)
    assert not HOME.findall(text)
