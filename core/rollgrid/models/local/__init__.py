"""The embedded model: real weights on this machine, in a process of its own. No key, no network."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollgrid.models.local.cache import InstalledModel, find, installed, models_dir, remove
    from rollgrid.models.local.catalog import CATALOG, DEFAULT_MODEL, ModelCard
    from rollgrid.models.local.installer import install
    from rollgrid.models.local.model import LocalModel
    from rollgrid.models.local.process import close_local_models

__all__ = [
    "CATALOG",
    "DEFAULT_MODEL",
    "InstalledModel",
    "LocalModel",
    "ModelCard",
    "close_local_models",
    "find",
    "install",
    "installed",
    "models_dir",
    "remove",
]

# Lazy, because the model process is a module of this package and must not load the client side.
_HOMES = {
    "CATALOG": "catalog",
    "DEFAULT_MODEL": "catalog",
    "InstalledModel": "cache",
    "LocalModel": "model",
    "ModelCard": "catalog",
    "close_local_models": "process",
    "find": "cache",
    "install": "installer",
    "installed": "cache",
    "models_dir": "cache",
    "remove": "cache",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
