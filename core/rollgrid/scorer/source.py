"""What a Python function is, as data: its source, and the values that its source refers to.

`describe_code(fn)` gives a JSON value that is the same wherever the same code is, and differs when anything changes
that `CodeScorer.digest` lists. It rests on source text, never on bytecode, which differs between Python versions.
"""

import dis
import functools
import logging
import sys
import types
import typing
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePath
from re import Pattern
from typing import Any, cast

from pydantic import BaseModel

from rollgrid.scorer.base import FingerprintError
from rollgrid.scorer.canonical import canonical
from rollgrid.scorer.source_text import class_source, function_source, functions_of

__all__ = ["describe_code"]

_TEXTUAL = (Decimal, Fraction, datetime, date, time, timedelta)


def describe_code(fn: Any) -> Any:
    """A JSON value that stands for `fn` and all it depends on. Raises `FingerprintError`, naming what is no data."""
    walk = _Walk()
    try:
        root = walk.callable(fn, "the function")
    except RecursionError:
        raise FingerprintError("the function refers to data that contains itself") from None
    return {"root": root, "uses": walk.found}


class _Walk:
    """One pass over a function and what it uses. Each function and class of its own modules is described once."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self._own: dict[str, types.CodeType] = {}
        """Modules whose functions and classes count by source, each with some code of its file."""
        self._seen: dict[int, str] = {}
        self._folder: Path | None = None

    # -- callables --------------------------------------------------------------------------------------------------

    def callable(self, fn: Any, where: str) -> Any:
        """The scorer itself: unlike what it uses, it counts by source wherever it was defined."""
        if isinstance(fn, functools.partial):
            part = cast("functools.partial[Any]", fn)
            return {
                "partial": self.callable(part.func, where),
                "args": self.value(part.args, f"{where}'s arguments"),
                "keywords": self.value(part.keywords, f"{where}'s arguments"),
            }
        if isinstance(fn, types.MethodType):
            return {"method": self.callable(fn.__func__, where), "self": self.instance(fn.__self__, f"{where}'s self")}
        if isinstance(fn, types.FunctionType):
            self._adopt(_module_of(fn), fn.__code__)
            return self.function(fn, where)
        wrapped = getattr(fn, "__wrapped__", None)
        if wrapped is not None:
            return {"wrapper": _type_name(fn), "wrapped": self.callable(wrapped, where)}
        if isinstance(fn, type):
            self._adopt_class(fn)
            return self._class_or_name(fn, where)
        if isinstance(fn, types.BuiltinFunctionType):
            raise FingerprintError(f"{where} {fn.__qualname__} is built in and has no source; wrap it in a def")
        self._adopt_class(cast("type[Any]", type(fn)))
        return {"object": self.instance(fn, where)}

    def _adopt(self, module: str, code: types.CodeType) -> None:
        self._own.setdefault(module, code)
        self._folder = self._folder or Path(code.co_filename).parent

    def _adopt_class(self, cls: type) -> None:
        for member in vars(cls).values():
            for fn in functions_of(member):
                if fn.__module__ == cls.__module__ and fn.__qualname__.startswith(f"{cls.__qualname__}."):
                    self._adopt(cls.__module__, fn.__code__)
                    return

    def function(self, fn: types.FunctionType, where: str) -> Any:
        if (name := self._seen.get(id(fn))) is not None:
            return {"function": name}
        name = self._enter(fn, fn.__qualname__)
        entry: dict[str, Any] = {"source": function_source(fn, where)}
        self.found[name] = entry
        entry["defaults"] = self.value(list(fn.__defaults__ or ()), f"{where}'s defaults")
        entry["keyword_defaults"] = self.value(dict(fn.__kwdefaults__ or {}), f"{where}'s defaults")
        entry["closure"] = {
            free: self._cell(cell, f"{free!r}, which {fn.__qualname__} closes over")
            for free, cell in sorted(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True), key=_first)
        }
        entry["globals"] = self._globals(fn.__code__, fn.__globals__, fn.__qualname__)
        wrapped = getattr(fn, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):
            entry["wrapped"] = self.function(wrapped, where)
        return {"function": name}

    def klass(self, cls: type, where: str) -> Any:
        """A class of an own module, by its source, its bases and what its methods use."""
        if (name := self._seen.get(id(cls))) is not None:
            return {"class": name}
        name = self._enter(cls, cls.__qualname__)
        entry: dict[str, Any] = {"source": class_source(cls, self._own[cls.__module__], where)}
        self.found[name] = entry
        entry["bases"] = [self._class_or_name(base, where) for base in cls.__bases__]
        uses: dict[str, Any] = {}
        attributes: dict[str, Any] = {}
        for member_name, member in sorted(dict(vars(cls)).items()):
            for fn in functions_of(member):
                # Methods that dataclasses and the like generate come from no file, or from another one.
                if fn.__code__.co_filename == self._own[cls.__module__].co_filename:
                    uses |= self._globals(fn.__code__, fn.__globals__, fn.__qualname__)
            # What enum and pydantic put into a class differs between their versions; their source says it all.
            if not issubclass(cls, (Enum, BaseModel)) and not member_name.startswith("__") and _is_data(member):
                attributes[member_name] = self.value(member, f"{cls.__qualname__}.{member_name}")
        entry["uses"] = uses
        entry["attributes"] = attributes
        return {"class": name}

    def instance(self, value: Any, where: str) -> Any:
        """An object with its class and its state."""
        cls = cast("type[Any]", type(value))
        if isinstance(value, type):
            return self._class_or_name(value, where)
        state = cast("dict[str, Any] | None", getattr(value, "__dict__", None))
        if state is None:
            return self.value(value, where)
        return {
            "class": self._class_or_name(cls, where),
            "state": {name: self.value(state[name], f"{where}.{name}") for name in sorted(state)},
        }

    def _class_or_name(self, cls: type, where: str) -> Any:
        if cls.__module__ in self._own:
            return self.klass(cls, where)
        return {"named": _named(cls)}

    def _enter(self, thing: Any, qualname: str) -> str:
        # Two functions of one qualified name (made by one factory, say) are told apart by their order of discovery.
        name = qualname if qualname not in self.found else f"{qualname}#{len(self.found)}"
        self._seen[id(thing)] = name
        return name

    # -- values -----------------------------------------------------------------------------------------------------

    def _cell(self, cell: Any, where: str) -> Any:
        try:
            content = cell.cell_contents
        except ValueError:
            return {"empty": True}
        return self.value(content, where)

    def _globals(self, code: types.CodeType, namespace: dict[str, Any], user: str) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for name, attribute in sorted(_global_reads(code), key=lambda read: (read[0], read[1] or "")):
            if name not in namespace or name.startswith("__"):
                continue  # a builtin, or the module's own name and place
            value = namespace[name]
            if isinstance(value, types.ModuleType):
                seen[name] = {"module": value.__name__}
                if attribute is not None and value.__name__.partition(".")[0] not in sys.stdlib_module_names:
                    setting = getattr(value, attribute, None)
                    if _is_data(setting):
                        seen[f"{name}.{attribute}"] = self.value(setting, f"{name}.{attribute}, which {user} uses")
            else:
                seen[name] = self.value(value, f"{name}, which {user} uses")
        return seen

    def value(self, value: Any, where: str) -> Any:
        if isinstance(value, Enum):
            return {"enum": self._class_or_name(type(value), where), "member": value.name}
        if isinstance(value, float):
            return {"float": value.hex()}
        if value is None or isinstance(value, (bool, int, str)):
            return {"json": value}
        if isinstance(value, (list, tuple)):
            items = cast("list[Any] | tuple[Any, ...]", value)
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.value(item, f"{where}[{index}]") for index, item in enumerate(items)]}
        if isinstance(value, (set, frozenset)):
            members = [self.value(item, where) for item in cast("set[Any]", value)]
            return {"set": sorted(members, key=lambda member: canonical(member, where))}
        if isinstance(value, dict):
            pairs = [
                [self.value(key, where), self.value(item, f"{where}[{key!r}]")]
                for key, item in cast("dict[Any, Any]", value).items()
            ]
            return {"dict": sorted(pairs, key=lambda pair: canonical(pair[0], where))}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, _TEXTUAL):
            return {_type_name(value): str(value)}
        if isinstance(value, Pattern):
            pattern = cast("Pattern[Any]", value)
            return {"pattern": self.value(pattern.pattern, where), "flags": int(pattern.flags)}
        if isinstance(value, PurePath):
            return {"path": self._place(value)}
        return self._object(value, where)

    def _place(self, path: PurePath) -> str:
        """A path as seen from the scorer's own folder, so that a checkout elsewhere gives the same digest."""
        if self._folder is not None and path.is_relative_to(self._folder):
            return path.relative_to(self._folder).as_posix()
        return path.as_posix()

    def _object(self, value: Any, where: str) -> Any:
        if isinstance(value, types.ModuleType):
            return {"module": value.__name__}
        if isinstance(value, logging.Logger):
            return {"named": "logging:Logger"}
        if isinstance(value, type):
            return self._class_or_name(value, where)
        if isinstance(value, types.FunctionType):
            if _module_of(value) in self._own:
                return self.function(value, where)
            return {"named": _named(value)}
        if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            owner = value.__self__
            if owner is None or isinstance(owner, types.ModuleType):
                return {"named": _named(value)}
            return {"named": value.__qualname__, "of": self.value(owner, where)}
        if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            return {"named": value.__qualname__}
        if isinstance(value, types.MethodType):
            return {"method": self.value(value.__func__, where), "self": self.instance(value.__self__, where)}
        if isinstance(value, functools.partial):
            part = cast("functools.partial[Any]", value)
            parts = [self.value(one, where) for one in (part.func, part.args, part.keywords)]
            return {"partial": parts}
        if isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            return {"wrapper": _type_name(value), "wrapped": self._object(value.__wrapped__, where)}
        if isinstance(value, BaseModel):
            return {"class": self._class_or_name(type(value), where), "state": value.model_dump(mode="json")}
        if is_dataclass(value):
            state = {one.name: self.value(getattr(value, one.name), f"{where}.{one.name}") for one in fields(value)}
            return {"class": self._class_or_name(type(value), where), "state": state}
        if (origin := typing.get_origin(value)) is not None:
            of = [self.value(one, where) for one in typing.get_args(value)]
            # `X | None` and `Optional[X]` are of one kind in some versions and of two in others.
            union = origin in (types.UnionType, typing.Union)
            return {"type": {"named": "union"} if union else self.value(origin, where), "of": of}
        if value is Any or value is Ellipsis or value is typing.Union or value is typing.Literal:
            return {"named": str(value)}
        raise FingerprintError(
            f"{where} is of type {_type_name(value)}, which is no data that can be hashed; pass plain values, or give "
            "the scorer a class with its own digest()"
        )


def _is_data(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, bytes, list, tuple, dict, set, frozenset, Enum))


def _type_name(value: Any) -> str:
    kind = cast("type[Any]", type(value))
    return f"{kind.__module__}.{kind.__qualname__}"


def _named(thing: Any) -> str:
    """A name for what is defined elsewhere: top-level package and own name, since libraries move things inside."""
    return f"{str(thing.__module__).partition('.')[0]}:{thing.__qualname__}"


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _module_of(fn: types.FunctionType) -> str:
    """Where the function's code was written; `__module__` is copied by decorators."""
    return str(fn.__globals__.get("__name__", fn.__module__))


def _global_reads(code: types.CodeType) -> set[tuple[str, str | None]]:
    """The global names that the code reads, each with the attribute that is then taken of it, if any."""
    reads: set[tuple[str, str | None]] = set()
    pending: str | None = None
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":
            continue
        if pending is not None:
            attribute = step.opname in {"LOAD_ATTR", "LOAD_METHOD"}
            reads.add((pending, str(step.argval) if attribute else None))
            pending = None
        if step.opname in {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}:
            pending = str(step.argval)
    if pending is not None:
        reads.add((pending, None))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            reads |= _global_reads(constant)
    return reads
