"""Fingerprints: whether two results come from the same environment, and from the same policy.

`env_fingerprint` is `rgenv1:` and the sha256 over the canonical JSON of the digests of its parts (`PARTS`), so that two
fingerprints differ exactly when a part differs, and which one can be told. `policy_fingerprint` is the sha256 over the
model's class, provider, id and sampling parameters.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from rollgrid.environments.agents import AgentSource, with_model
from rollgrid.environments.environment import all_tasks
from rollgrid.models.base import Model, ToolSpec
from rollgrid.scorer.base import FingerprintError
from rollgrid.scorer.canonical import canonical, digest, model_identity

if TYPE_CHECKING:
    from rollgrid.environments.environment import Environment

__all__ = [
    "PARTS",
    "RunFingerprints",
    "env_fingerprint",
    "fingerprint_of",
    "fingerprint_parts",
    "fingerprint_run",
    "policy_fingerprint",
    "same_fingerprint",
]

PREFIX = "rgenv1:"

PARTS: Mapping[str, str] = {
    "tasks": "ids, inputs and expected values of the tasks",
    "scorer": "the scorer's digest",
    "tools": "declared tool schemas, in any order, and tool_choice",
    "prompt": "the agent's prompt fields and flags",
    "output_schema": "the JSON schema of the typed answer",
    "model_prompt": "prompt fields that the model itself carries",
    "session_state": "the declared session state",
    "limits": "timeout_seconds and tool_call_limit",
}


@dataclass(frozen=True, slots=True)
class RunFingerprints:
    """What a run is stamped with. A fingerprint is None when a part of it could not be told.

    `warnings` say in one line each which part that is and what would help. `parts` holds the digest of each part of the
    environment that could be told.
    """

    env: str | None
    policy: str | None
    parts: dict[str, str] = field(default_factory=dict[str, str])
    warnings: tuple[str, ...] = ()


def fingerprint_run(
    env: "Environment", *, model: Model | None = None, source: AgentSource | None = None
) -> RunFingerprints:
    """The fingerprints of a run that is about to start; `model` is the one that its attempts will use.

    Never raises `FingerprintError`. Raises `TypeError` when the agent cannot take `model`. Without `source` a factory
    is called once more.
    """
    source = source or AgentSource(env.agent)
    subject = source.subject if model is None or model is source.model else with_model(source.subject, model)
    parts, failures = _parts(env, subject)
    warnings = [f"this run can be compared with no other, its environment has no fingerprint: {f}" for f in failures]
    policy: str | None = None
    try:
        policy = policy_fingerprint(subject)
    except FingerprintError as error:
        warnings.append(f"what answered in this run is not recorded, its policy has no fingerprint: {error}")
    return RunFingerprints(None if failures else combined(parts), policy, parts, tuple(warnings))


def fingerprint_parts(env: "Environment", subject: Any = None) -> dict[str, str]:
    """The digest of each part of the environment. Raises `FingerprintError` for a part that cannot be told.

    `subject` is the agent instance to look at; without it the environment's own is used (a factory is called).
    """
    parts, failures = _parts(env, AgentSource(env.agent).subject if subject is None else subject)
    if failures:
        raise FingerprintError("; ".join(failures))
    return parts


def env_fingerprint(env: "Environment", subject: Any = None) -> str:
    """`rgenv1:` and 64 hex digits. Raises `FingerprintError`."""
    return combined(fingerprint_parts(env, subject))


def policy_fingerprint(subject: Any) -> str:
    """64 hex digits for a model, or for the model of an agent. Raises `FingerprintError`."""
    model = subject if isinstance(subject, Model) else getattr(subject, "model", None)
    if isinstance(model, Model):
        return digest(_guarded("policy", lambda: model_identity(model)), "policy")
    policy = getattr(subject, "policy", None)
    if callable(policy):
        own = _guarded("policy", policy)
        return digest({"class": _class_name(subject), "policy": own}, "policy")
    raise FingerprintError(
        f"the model behind {_class_name(subject)} is not known; give the agent a method policy() that returns the "
        "model's id and sampling parameters as JSON values"
    )


def same_fingerprint(left: str | None, right: str | None) -> bool:
    """Whether both are known and equal. None matches nothing, not even None."""
    return left is not None and right is not None and left == right


def fingerprint_of(thing: Any) -> str | None:
    """The environment fingerprint of a result or an environment, None where there is none."""
    value = getattr(thing, "env_fingerprint", None)
    if callable(value):
        try:
            value = value()
        except FingerprintError:
            return None
    return value if isinstance(value, str) else None


def combined(parts: Mapping[str, str]) -> str:
    return PREFIX + digest(dict(parts), "environment")


def _parts(env: "Environment", subject: Any) -> tuple[dict[str, str], list[str]]:
    builders: dict[str, Callable[[], Any]] = {
        "scorer": lambda: _scorer_digest(env.scorer),
        "tools": lambda: _tools(subject),
        "prompt": lambda: _prompt(subject),
        "output_schema": lambda: _output_schema(getattr(subject, "output_schema", None)),
        "model_prompt": lambda: _model_prompt(subject),
        "session_state": lambda: getattr(subject, "session_state", None),
        "limits": lambda: {
            "timeout_seconds": float(env.timeout_seconds),
            "tool_call_limit": getattr(subject, "tool_call_limit", None),
        },
    }
    parts: dict[str, str] = {}
    failures: list[str] = []
    for name in PARTS:
        try:
            parts[name] = _task_digest(env) if name == "tasks" else digest(_guarded(name, builders[name]), name)
        except FingerprintError as error:
            failures.append(str(error))
    return parts, failures


def _task_digest(env: "Environment") -> str:
    """Task by task, so that what JSON cannot hold is named by its task's id."""
    rows = [[task.id, task.input, canonical(task.expected, f"expected of task {task.id!r}")] for task in all_tasks(env)]
    return digest(rows, "tasks")


def _guarded(name: str, build: Callable[[], Any]) -> Any:
    """What a part is made of is the user's code in places: whatever it raises means that the part cannot be told."""
    try:
        return build()
    except FingerprintError:
        raise
    except Exception as error:
        raise FingerprintError(f"{name}: {type(error).__name__}: {error}") from error


def _scorer_digest(scorer: Any) -> str:
    method = getattr(scorer, "digest", None)
    if not callable(method):
        raise FingerprintError(
            f"the scorer {type(scorer).__name__} has no digest(); give it one that returns a stable text for all that "
            "decides the score"
        )
    value = method()
    if not isinstance(value, str):
        raise FingerprintError(f"digest() of {type(scorer).__name__} returned {type(value).__name__}, not text")
    return value


def _tools(subject: Any) -> Any:
    method = getattr(subject, "tool_specs", None)
    specs = cast("Iterable[Any]", method()) if callable(method) else ()
    tools = [_tool(spec) for spec in specs]
    return {
        # Declared in another order they are the same tools.
        "tools": sorted(tools, key=lambda tool: canonical(tool, "tools")),
        "tool_choice": getattr(subject, "tool_choice", None),
    }


def _tool(spec: Any) -> Any:
    if isinstance(spec, ToolSpec):
        return {"name": spec.name, "description": spec.description, "parameters": normal_schema(spec.parameters)}
    return spec


def _prompt(subject: Any) -> Any:
    method = getattr(subject, "prompt_fields", None)
    if callable(method):
        return method()
    raise FingerprintError(
        f"what shapes the prompt of {_class_name(subject)} is not known; give the agent a method prompt_fields() that "
        "returns its instructions and the like as JSON values (for a function: put it into a FunctionAgent)"
    )


def _model_prompt(subject: Any) -> Any:
    model = getattr(subject, "model", None)
    return model.prompt_fields() if isinstance(model, Model) else {}


def _output_schema(schema: Any) -> Any:
    if schema is None:
        return None
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return {"name": schema.__name__, "schema": normal_schema(schema.model_json_schema())}
    if isinstance(schema, Mapping):
        return normal_schema(cast("Mapping[str, Any]", schema))
    raise FingerprintError(f"output_schema is {_class_name(schema)}, which gives no JSON schema")


_NAMED = ("properties", "$defs", "definitions", "patternProperties")


def normal_schema(schema: Any) -> Any:
    """A JSON schema without what differs between versions of its maker and changes nothing of its meaning.

    Dropped are titles that merely repeat a field's or class's name; `required` is sorted.
    """
    if isinstance(schema, Mapping):
        return _normal_object(cast("Mapping[str, Any]", schema), None)
    if isinstance(schema, list):
        return [normal_schema(item) for item in cast("list[Any]", schema)]
    return schema


def _normal_object(schema: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    normal: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str) and (name is None or _is_title_of(value, name)):
            continue
        if key in _NAMED and isinstance(value, Mapping):
            members = cast("Mapping[str, Any]", value)
            normal[key] = {
                member: _normal_object(cast("Mapping[str, Any]", inner), member)
                if isinstance(inner, Mapping)
                else normal_schema(inner)
                for member, inner in members.items()
            }
        elif key == "required" and isinstance(value, list):
            normal[key] = sorted(cast("list[str]", value))
        elif key in ("default", "const", "enum", "examples"):
            normal[key] = value
        else:
            normal[key] = normal_schema(value)
    return normal


def _is_title_of(title: str, name: str) -> bool:
    return title.replace(" ", "").replace("_", "").casefold() == name.replace("_", "").casefold()


def _class_name(value: Any) -> str:
    if inspect.isroutine(value):
        return f"the function {getattr(value, '__name__', '?')}"
    return type(value).__name__
