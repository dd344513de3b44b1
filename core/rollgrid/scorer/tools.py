"""Scores a run by the tools it really used."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rollgrid.agent.run import RunOutput, ToolExecution
from rollgrid.scorer.base import Score
from rollgrid.scorer.canonical import digest

ArgumentSpec = Mapping[str, Any]


class ToolCallScorer:
    """Checks the tool executions of a run, without a model.

    A check is met only by a clean execution: one that has no error and is not paused. What the model merely asked for
    does not count. `expected_tools` are names, each met by at least one clean execution in any order; a name that
    stands twice is one check. `arguments` maps a tool name to one spec or a list of specs: a spec is met by a clean
    execution of that tool whose arguments have every key of the spec with an equal value (other keys are free, nothing
    is converted: `1` is not `"1"` and not `True`). `value` is the share of checks met; `passed` needs all of them and,
    with `allow_additional=False`, no clean call of a tool that no check names.

    A task's `expected` is not looked at. The digest covers all three settings.
    """

    def __init__(
        self,
        expected_tools: Sequence[str] = (),
        arguments: Mapping[str, ArgumentSpec | Sequence[ArgumentSpec]] | None = None,
        allow_additional: bool = True,
    ) -> None:
        if isinstance(expected_tools, str):
            raise TypeError(
                f"expected_tools must be a sequence of tool names, got the string {expected_tools!r}; "
                f"write [{expected_tools!r}]"
            )
        for name in expected_tools:
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"expected_tools must hold tool names, got {type(name).__name__}")
        self.expected_tools: list[str] = list(dict.fromkeys(expected_tools))
        self.arguments = arguments
        self.allow_additional = allow_additional
        self._specs: list[tuple[str, ArgumentSpec]] = []
        for name, given in (arguments or {}).items():
            specs = _spec_list(name, given)
            if not specs:
                raise ValueError(f"arguments[{name!r}] is an empty list, which checks nothing")
            self._specs += [(name, spec) for spec in specs]
        if not self.expected_tools and not self._specs:
            raise ValueError("ToolCallScorer checks nothing: give expected_tools, arguments, or both")

    def score(self, run: RunOutput, expected: Any = None) -> Score:
        """Score one run. `expected` is not consulted."""
        executions = list(run.tools or ())
        clean = [one for one in executions if not one.tool_call_error and not one.is_paused]
        used = {one.tool_name for one in clean}
        notes: list[str] = [] if executions else ["the run executed no tool"]
        missing = [name for name in self.expected_tools if name not in used]
        notes += [f"no clean execution of {name}" for name in missing]
        unmet = [(name, spec) for name, spec in self._specs if not _met(clean, name, spec)]
        notes += [f"no clean execution of {name} with {dict(spec)!r}" for name, spec in unmet]
        n_checks = len(self.expected_tools) + len(self._specs)
        n_failed = len(missing) + len(unmet)
        passed = n_failed == 0
        if not self.allow_additional:
            named = {*self.expected_tools, *(name for name, _ in self._specs)}
            additional = sorted(used - named)
            if additional:
                passed = False
                notes.append(f"further tools were used: {', '.join(additional)}")
        return Score((n_checks - n_failed) / n_checks, passed, reason="; ".join(notes) or None)

    async def ascore(self, run: RunOutput, expected: Any = None) -> Score:
        """As `score`; it needs no waiting."""
        return self.score(run, expected)

    def digest(self) -> str:
        """sha256 over the expected names (in any order), the argument specs and `allow_additional`."""
        specs: dict[str, list[Any]] = {}
        for name, spec in self._specs:
            specs.setdefault(name, []).append(spec)
        return digest(
            {
                "scorer": "tool_calls",
                "expected_tools": sorted(self.expected_tools),
                "arguments": specs,
                "allow_additional": self.allow_additional,
            },
            "ToolCallScorer",
        )


def _spec_list(name: str, given: ArgumentSpec | Sequence[ArgumentSpec]) -> list[ArgumentSpec]:
    listed = [given] if isinstance(given, Mapping) else given
    if isinstance(listed, str) or not isinstance(listed, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"arguments[{name!r}] must be a mapping or a list of mappings, got {type(given).__name__}")
    for spec in listed:
        if not isinstance(spec, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"arguments[{name!r}] must hold mappings, got {type(spec).__name__}")
    return list(listed)


def _met(clean: Sequence[ToolExecution], name: str, spec: ArgumentSpec) -> bool:
    return any(
        one.tool_name == name and all(key in one.tool_args and _same(one.tool_args[key], spec[key]) for key in spec)
        for one in clean
    )


def _same(actual: Any, wanted: Any) -> bool:
    """Equality without coercion: Python holds True equal to 1, JSON does not."""
    if isinstance(actual, bool) or isinstance(wanted, bool):
        return isinstance(actual, bool) and isinstance(wanted, bool) and actual == wanted
    if isinstance(actual, Mapping) and isinstance(wanted, Mapping):
        left, right = cast("Mapping[Any, Any]", actual), cast("Mapping[Any, Any]", wanted)
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(actual, (list, tuple)) and isinstance(wanted, (list, tuple)):
        one, other = cast("Sequence[Any]", actual), cast("Sequence[Any]", wanted)
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(actual == wanted)
