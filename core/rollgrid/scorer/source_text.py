"""The source text of functions, lambdas and classes, cut out exactly."""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any, cast

from rollgrid.scorer.base import FingerprintError

__all__ = ["class_source", "function_source", "functions_of"]


def function_source(fn: types.FunctionType, where: str) -> str:
    code = fn.__code__
    if code.co_name == "<lambda>":
        return _lambda_source(code, where)
    try:
        return _tidy(inspect.getsource(code))
    except (OSError, TypeError, IndexError, SyntaxError):
        raise _no_source(where, fn.__qualname__) from None


def _lambda_source(code: types.CodeType, where: str) -> str:
    """The lambda's own text. `inspect` would give the whole statement, in which several lambdas may stand."""
    tree, text = _parsed(code, where)
    # The instructions that open a code object have no place in the text: their columns are both 0.
    spots = [
        (line, column)
        for line, _, column, end in code.co_positions()
        if line is not None and column is not None and (column, end) != (0, 0)
    ]
    here = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno <= code.co_firstlineno <= (node.end_lineno or node.lineno)
    ]
    if len(here) > 1:
        # A lambda that only returns a constant has no places at all in some versions.
        here = [node for node in here if (all(_holds(node, at) for at in spots) if spots else _gives(node, code))]
        here = sorted(here, key=lambda node: (-node.lineno, -node.col_offset))[:1]
    source = ast.get_source_segment(text, here[0]) if here else None
    if source is None:
        raise _no_source(where, "<lambda>")
    return _tidy(source)


def _gives(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether the lambda compiles to these constants and parameters."""
    alone = compile(ast.Expression(node), "<lambda>", "eval")
    made = [one for one in alone.co_consts if isinstance(one, types.CodeType)]
    return any(one.co_consts == code.co_consts and one.co_varnames == code.co_varnames for one in made)


def _holds(node: ast.expr, spot: tuple[int, int]) -> bool:
    first = (node.lineno, node.col_offset)
    last = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return first <= spot <= last


def class_source(cls: type, code: types.CodeType, where: str) -> str:
    """The class statement with its decorators, found by its qualified name in the file that `code` comes from."""
    tree, text = _parsed(code, where)
    nodes: list[ast.AST] = [tree]
    for name in cls.__qualname__.split("."):
        if name != "<locals>":
            nodes = [found for node in nodes for found in _definitions(node, name)]
    found = [node for node in nodes if isinstance(node, ast.ClassDef)]
    if len(found) > 1:
        # Written several times (under an if, say): the one that holds this class's own methods.
        lines = {fn.__code__.co_firstlineno for member in vars(cls).values() for fn in functions_of(member)}
        found = [node for node in found if any(node.lineno <= at <= (node.end_lineno or 0) for at in lines)]
    if len(found) != 1:
        raise _no_source(where, cls.__qualname__)
    node = found[0]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return _tidy("\n".join(text.split("\n")[first - 1 : node.end_lineno]))


def _definitions(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """The classes and functions called `name` that are defined in `node` itself, at any depth of ifs and withs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if child.name == name:
                yield child
        elif not isinstance(child, ast.expr):
            yield from _definitions(child, name)


def _parsed(code: types.CodeType, where: str) -> tuple[ast.Module, str]:
    try:
        lines, _ = inspect.findsource(code)
        text = "".join(lines)
        return ast.parse(text), text
    except (OSError, TypeError, IndexError, SyntaxError):
        raise _no_source(where, code.co_name) from None


def _no_source(where: str, name: str) -> FingerprintError:
    return FingerprintError(
        f"{where}: the source of {name} cannot be read (typed into a shell, or built in); put it in a file"
    )


def _tidy(source: str) -> str:
    lines = textwrap.dedent(source.replace("\r\n", "\n")).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def functions_of(member: Any) -> Iterator[types.FunctionType]:
    if isinstance(member, types.FunctionType):
        yield member
    elif isinstance(member, (staticmethod, classmethod)):
        inner = cast("staticmethod[..., Any]", member).__func__
        if isinstance(inner, types.FunctionType):
            yield inner
    elif isinstance(member, property):
        yield from (fn for fn in (member.fget, member.fset, member.fdel) if isinstance(fn, types.FunctionType))
