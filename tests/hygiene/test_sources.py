"""What every module of the two packages keeps to."""

import ast
import re
from collections.abc import Iterator

from support.sources import docstring_nodes, name_of, product_modules, syntax_of, tracked_files

MODULE_LINES = 400
CLASS_LINES = 250

LONG_MODULES: dict[str, str] = {}
"""Modules that may be longer, each with the reason."""

LONG_CLASSES: dict[str, str] = {}
"""`path:Class` that may be longer, each with the reason."""

NOT_FOR_THE_SCREEN = {
    "core/rollgrid/models/local/sources.py": "looks for the mark with which uv starts its error messages",
}
"""Modules whose strings may hold a character of uncertain width, each with the reason."""

ABSTRACT = {
    "tui/rollgrid_tui/screens/base.py": "a textual screen cannot be an ABC, so what a subclass must give raises",
}
"""Modules that may raise NotImplementedError, each with the reason."""

AMBIGUOUS_WIDTH = "·●○■▲…×"
"""Drawn one or two cells wide, depending on the terminal, so no string that reaches the screen may have one."""

MODULES = product_modules()


def test_there_is_something_to_look_at() -> None:
    names = {name_of(path) for path in MODULES}
    assert {"core/rollgrid/errors.py", "tui/rollgrid_tui/cli/root.py"} <= names


def test_a_module_can_be_read_in_one_sitting() -> None:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: n for name, n in lines.items() if n > MODULE_LINES and name not in LONG_MODULES} == {}


def test_a_class_has_one_job() -> None:
    lines = {
        f"{name_of(path)}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.ClassDef)
    }
    assert {name: n for name, n in lines.items() if n > CLASS_LINES and name not in LONG_CLASSES} == {}


def test_a_public_module_says_what_it_is() -> None:
    silent = [
        name_of(path)
        for path in MODULES
        if path.name != "_version.py" and path.read_text().strip() and not ast.get_docstring(syntax_of(path))
    ]
    assert silent == []


def test_no_exception_is_swallowed() -> None:
    mute = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and all(_does_nothing(s) for s in node.body)
    ]
    assert mute == []


def _is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"}) for name in names
    )


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass | ast.Continue) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def test_no_string_holds_a_character_of_uncertain_width() -> None:
    assert [found for found in _strings_of_uncertain_width() if found.split(":")[0] not in NOT_FOR_THE_SCREEN] == []


def _strings_of_uncertain_width() -> Iterator[str]:
    for path in MODULES:
        tree = syntax_of(path)
        documentation = docstring_nodes(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                for character in set(AMBIGUOUS_WIDTH) & set(node.value):
                    yield f"{name_of(path)}:{node.lineno}: {character}"


def test_nothing_is_left_undone() -> None:
    marks = [
        f"{name_of(path)}: {mark}"
        for path in MODULES
        for mark in re.findall(r"\b(?:TODO|FIXME|XXX|HACK)\b", path.read_text(encoding="utf-8"))
    ]
    unfinished = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node) and name_of(path) not in ABSTRACT
    ]
    assert marks + unfinished == []


HOST = re.compile(r"https?://[^\s/'\"]*(?:pypi|pythonhosted|npmjs|debian|anaconda)[^\s/'\"]*", re.IGNORECASE)
HOME = re.compile(r"(?<![\w.~}])/(?:root|home|Users|work)/[\w.]")
BINARY = {".png", ".gguf", ".db", ".zip", ".gz"}


def test_no_file_tells_of_the_machine_it_was_made_on() -> None:
    told = [
        f"{name_of(path)}: {found}"
        for path in tracked_files()
        if path.suffix not in BINARY
        for pattern in (HOST, HOME)
        for found in pattern.findall(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert told == []
