"""From the name of a model on the command line to a policy for an environment's agent."""

import copy

from rollgrid.environments.agents import resolve_agent
from rollgrid.environments.environment import Environment
from rollgrid.errors import RunError
from rollgrid.models.base import Model


def choose_model(name: str, env: Environment) -> Model:
    """`simulated`, `local` or `local/NAME`, or another model id for the provider that the environment already uses."""
    if name == "simulated" or name.startswith("simulated/"):
        from rollgrid.models.simulated import simulated_for

        schema = getattr(resolve_agent(env.agent).subject, "output_schema", None)
        return simulated_for(((task.input, task.expected) for task in env.tasks), output_schema=schema)
    if name == "local" or name.startswith("local/"):
        from rollgrid.models.local import LocalModel

        _, _, wanted = name.partition("/")
        return LocalModel(wanted) if wanted else LocalModel()
    current = resolve_agent(env.agent).model
    if current is None:
        raise RunError(
            f"--model {name}: the agent of {env.name} brings its own model",
            "choose the model in the environment's file",
        )
    chosen = copy.copy(current)
    chosen.id = name
    return chosen
