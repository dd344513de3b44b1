"""Agents of other libraries as agents of an environment.

`Environment(agent=...)` takes an agent of pydantic-ai, openai-agents or agno as it is; the classes here are for saying
more about it: what its fingerprints cannot see, its dependencies, its limits. Nothing is imported before it is asked
for, and each library is an optional extra of this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rollgrid._lazy import lazy_exports

if TYPE_CHECKING:
    from rollgrid.adapters.agno import AgnoAgent
    from rollgrid.adapters.foreign import ForeignAgent, ForeignRunError
    from rollgrid.adapters.functions import FunctionAgent
    from rollgrid.adapters.openai_agents import OpenAIAgentsAgent
    from rollgrid.adapters.pydantic_ai import PydanticAIAgent

__all__ = [
    "AgnoAgent",
    "ForeignAgent",
    "ForeignRunError",
    "FunctionAgent",
    "OpenAIAgentsAgent",
    "PydanticAIAgent",
    "adapted",
    "is_foreign",
]

_ADAPTERS = {
    ("agno.agent.agent", "Agent"): ("rollgrid.adapters.agno", "AgnoAgent"),
    ("agents.agent", "Agent"): ("rollgrid.adapters.openai_agents", "OpenAIAgentsAgent"),
    ("pydantic_ai.agent.abstract", "AbstractAgent"): ("rollgrid.adapters.pydantic_ai", "PydanticAIAgent"),
}


def is_foreign(agent: Any) -> bool:
    """Whether `agent` is an agent of a library that there is an adapter for."""
    return _adapter_of(agent) is not None


def adapted(agent: Any, *, is_fresh: bool = False) -> Any:
    """`agent` in its adapter when it is an agent of another library, else `agent` itself.

    `is_fresh`: it was made for one attempt, which need not copy it. Raises `ImportError` for an incomplete library.
    """
    home = _adapter_of(agent)
    if home is None:
        return agent
    module, name = home
    adapter: ForeignAgent = getattr(import_module(module), name)(agent)
    return adapter.as_made() if is_fresh else adapter


def _adapter_of(agent: Any) -> tuple[str, str] | None:
    if isinstance(agent, type):
        return None
    for cls in type(agent).__mro__:
        home = _ADAPTERS.get((cls.__module__, cls.__name__))
        if home is not None:
            return home
    return None


__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AgnoAgent": "rollgrid.adapters.agno",
        "ForeignAgent": "rollgrid.adapters.foreign",
        "ForeignRunError": "rollgrid.adapters.foreign",
        "FunctionAgent": "rollgrid.adapters.functions",
        "OpenAIAgentsAgent": "rollgrid.adapters.openai_agents",
        "PydanticAIAgent": "rollgrid.adapters.pydantic_ai",
    },
)
