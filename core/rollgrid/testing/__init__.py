"""A light server that speaks the OpenAI APIs, for tests, benchmarks and rehearsals of storms and rate limits."""

from rollgrid.testing.answers import Oracle
from rollgrid.testing.backend import Recorded
from rollgrid.testing.server import SimulatedServer, serve
from rollgrid.testing.spec import Spec, SpecError, describe, parse_spec

__all__ = ["Oracle", "Recorded", "SimulatedServer", "Spec", "SpecError", "describe", "parse_spec", "serve"]
