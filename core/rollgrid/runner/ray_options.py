"""What `--engine ray` was told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class RayOptions:
    """`address` is HOST:PORT, ray://HOST:PORT or None for the cluster that this machine belongs to.

    `workers` None: one for each processor of the cluster, no more than attempts at once. `passed` are names of
    environment variables that workers get besides those of rollgrid's own models. `runtime_env` is a Ray runtime
    environment to build on: `pip`, `working_dir`, ...
    """

    address: str | None = None
    workers: int | None = None
    passed: tuple[str, ...] = ()
    runtime_env: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_dict(self) -> dict[str, Any]:
        """What is set, as JSON values."""
        values: dict[str, Any] = {
            "address": self.address,
            "workers": self.workers,
            "passed": list(self.passed),
            "runtime_env": dict(self.runtime_env),
        }
        return {key: value for key, value in values.items() if value}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(
            address=values.get("address"),
            workers=values.get("workers"),
            passed=tuple(values.get("passed") or ()),
            runtime_env=values.get("runtime_env") or {},
        )

    def over(self, other: Self) -> Self:
        """These where they are set, else those of `other`."""
        return self.from_dict({**other.to_dict(), **self.to_dict()})
