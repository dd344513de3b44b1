"""Workers as actors of a Ray cluster that is there already. The only module that imports `ray`, when it is used."""

import asyncio
import contextlib
import importlib
import importlib.util
import logging
import os
import pickle
import platform
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import rollgrid
from rollgrid._version import __version__
from rollgrid.errors import RunError
from rollgrid.masking import mask
from rollgrid.runner import remote_wire as wire
from rollgrid.runner.groups import plain_group
from rollgrid.runner.prepare import Prepared
from rollgrid.runner.ray_options import RayOptions
from rollgrid.runner.remote import Crew, HireFailed, LinkLost, LinkTroubled
from rollgrid.runner.request import RunRequest
from rollgrid.threads import in_thread

_PREFIXES = ("OPENAI_",)
_NAMES = ("ROLLGRID_MAX_RETRIES",)

_PROBE_SECONDS = 5.0
_CONNECT_SECONDS = 60.0
_FIRST_SECONDS = 120.0
_TELL_SECONDS = 5.0
_CLOSE_SECONDS = 3.0

_SAME_HINT = "use the same Ray, and the same Python up to the minor version, on every node and here"
_HEAD_HINT = "start one with `ray start --head`, or name it with --ray-address HOST:PORT"


@asynccontextmanager
async def ray_crew(
    request: RunRequest,
    options: RayOptions,
    prepared: Prepared,
    *,
    concurrency: int | None,
    say: Callable[[str], None],
) -> AsyncGenerator[Crew]:
    """Connect to the cluster and start workers; `concurrency` None: it is found out. Raises `RunError`."""
    if prepared.model_kind == "local":
        raise RunError(
            "the embedded model answers on the machine of the runner only",
            "serve it there and name its address in the environment, or leave out --engine ray",
        )
    shipped = _shipped(prepared, options)
    found = importlib.util.find_spec("ray")
    if found is None or found.origin is None:  # without an origin it is a folder that happens to have the name
        raise RunError("--engine ray needs Ray, which is not installed here", "install it: pip install 'rollgrid[ray]'")
    setup = _setup(request, options, prepared, shipped.ref)
    host, port = _host_and_port(options.address)
    ray = await in_thread("the import of Ray", _import_ray)
    await _reach(ray, options.address, host, port)
    await _connect(ray, options, shipped.runtime_env)
    try:
        n_cpus = int(ray.cluster_resources().get("CPU", 0))
        size = options.workers or max(1, min(n_cpus, concurrency or n_cpus))
        async with plain_group() as group:
            crew = Crew(group, lambda: _hire(ray, setup), size, say)
            try:
                await _muster(ray, crew, say)
                yield crew
            finally:
                await crew.dismiss()
    finally:
        await in_thread("the end of Ray", ray.shutdown)


# -- connecting -------------------------------------------------------------------------------------------------------


def _import_ray() -> Any:
    """Ray, quiet: what happens to its nodes and workers is told by the crew."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray = importlib.import_module("ray")
        worker: Any = importlib.import_module("ray._private.worker")
    except ImportError as error:
        raise RunError(
            f"--engine ray needs Ray, which cannot be imported: {error}", "install it anew: pip install 'rollgrid[ray]'"
        ) from error
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # Not part of Ray's interface, and needed by nobody: whole pages about a node that died, on stdout.
    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = _say_nothing
    return ray


def _say_nothing(*_data: Any, **_how: Any) -> None:
    """In place of what prints."""


def _host_and_port(address: str | None) -> tuple[str | None, int]:
    """Where a connection to this address leads; host None for a cluster that Ray is to find by itself."""
    if address in (None, "auto"):
        return None, 0
    parts = urlsplit(address if "://" in str(address) else f"//{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme not in ("", "ray"):
        raise RunError(f"{address} is no address of a Ray cluster", "write HOST:PORT or ray://HOST:PORT")
    return host, port


async def _reach(ray: Any, address: str | None, host: str | None, port: int) -> None:
    """See whether anybody answers: Ray itself tries for minutes, and may end the process when nobody does."""
    if host is None:
        return
    if not str(address).startswith("ray://") and host in ("localhost", "127.0.0.1", "::1"):
        # Ray takes these for the address by which other machines reach this one.
        host = str(ray.util.get_node_ip_address())
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        at = f"{host}:{port}"
        number = getattr(error, "errno", None)
        why = os.strerror(number).lower() if number else "no answer" if isinstance(error, TimeoutError) else str(error)
        also = "" if str(address).endswith(at) else f", which Ray takes for {at}"
        raise RunError(f"no Ray cluster answers at {address}{also} ({why})", _HEAD_HINT) from error
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _connect(ray: Any, options: RayOptions, runtime_env: Mapping[str, Any]) -> None:
    address = options.address or "auto"

    def connect() -> None:
        ray.init(
            address=address, runtime_env=dict(runtime_env), log_to_driver=False, configure_logging=False, namespace=None
        )

    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await in_thread("the connection to Ray", connect)
    except TimeoutError as error:
        raise RunError(
            f"what answers at {address} does not speak Ray's protocol, or not in {_CONNECT_SECONDS:.0f} s",
            "name the address that `ray start` printed; behind a firewall use ray://HOST:10001",
        ) from error
    except Exception as error:
        raise _connect_error(address, error) from error


def _connect_error(address: str, error: Exception) -> RunError:
    """One line out of what Ray says in many."""
    if address == "auto" and isinstance(error, ConnectionError):
        return RunError("no Ray cluster is running on this machine", _HEAD_HINT)
    text = mask(str(error) or str(error.__context__ or ""))
    here = f"Ray {importlib.import_module('ray').__version__} on Python {platform.python_version()}"
    if "mismatch" in text.lower():
        theirs = re.search(r"started with:\s*Ray: (\S+)\s*Python: (\S+)", text)
        there = f": Ray {theirs[1]} on Python {theirs[2]}" if theirs else ""
        return RunError(f"the cluster at {address} has other versions{there}, this is {here}", _SAME_HINT)
    return RunError(f"the Ray cluster at {address} takes no connection from {here}: {_first_line(text)}", _SAME_HINT)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")


# -- what workers get -------------------------------------------------------------------------------------------------


class _Shipped:
    """The runtime environment, and how the user's environment is named in it."""

    def __init__(self, ref: str, runtime_env: dict[str, Any]) -> None:
        self.ref = ref
        self.runtime_env = runtime_env


def _shipped(prepared: Prepared, options: RayOptions) -> _Shipped:
    """The folder of the user's file travels, and rollgrid's own code, so that both sides speak the same."""
    target, _, name = str(prepared.source["ref"]).rpartition(":")
    cwd = Path(prepared.source["cwd"] or os.getcwd())
    given = dict(options.runtime_env)
    path = cwd / target
    folder = cwd
    if path.exists():
        path = (path / "env.py" if path.is_dir() else path).resolve()
        folder = path.parent
    named = given.get("working_dir")
    if named is not None and "://" not in str(named):
        folder = (cwd / str(named)).resolve()
    if path.exists():
        if not path.is_relative_to(folder):
            raise RunError(f"{target} is not in the working_dir {named} that is shipped", "name a folder that holds it")
        target = str(path.relative_to(folder))
    mine: dict[str, Any] = {"py_modules": [str(Path(rollgrid.__file__).parent), *given.get("py_modules", [])]}
    if named is None or "://" not in str(named):
        mine["working_dir"] = str(folder)
    return _Shipped(f"{target}:{name}", {**given, **mine})


def _setup(request: RunRequest, options: RayOptions, prepared: Prepared, ref: str) -> wire.Setup:
    missing = [name for name in options.passed if name not in os.environ]
    if missing:
        raise RunError(f"the environment variable {missing[0]} is not set", "set it, or do not pass it on")
    wanted = {*options.passed, *_NAMES, *(name for name in os.environ if name.startswith(_PREFIXES))}
    return wire.Setup(
        version=__version__,
        run_id=request.run_id,
        ref=ref,
        model=request.model or prepared.source.get("model"),
        price=request.price or prepared.source.get("price"),
        task_ids=tuple(task.id or "" for task in prepared.tasks),
        env_fingerprint=prepared.env_fingerprint,
        policy_fingerprint=prepared.policy_fingerprint,
        fingerprint_parts=dict(prepared.fingerprint_parts),
        environ={name: os.environ[name] for name in sorted(wanted) if name in os.environ},
    )


# -- workers ----------------------------------------------------------------------------------------------------------


async def _muster(ray: Any, crew: Crew, say: Callable[[str], None]) -> None:
    try:
        async with asyncio.timeout(_FIRST_SECONDS), plain_group() as group:
            reminder = group.create_task(_say_what_is_waited_for(ray, say))
            try:
                await crew.muster()
            finally:
                reminder.cancel()
    except TimeoutError as error:
        raise RunError(
            f"the Ray cluster gave no worker in {_FIRST_SECONDS:.0f} s: {_room(ray)}",
            "wait until others need less of it, or add a node",
        ) from error


async def _say_what_is_waited_for(ray: Any, say: Callable[[str], None]) -> None:
    await asyncio.sleep(_TELL_SECONDS)
    say(f"waiting for a worker of the Ray cluster: {_room(ray)}")


def _room(ray: Any) -> str:
    there = int(ray.cluster_resources().get("CPU", 0))
    return f"it has {there} processors, and each worker takes one for itself"


async def _hire(ray: Any, setup: wire.Setup) -> "_ActorLink":
    from rollgrid.runner.remote_worker import Worker

    made: Any = ray.remote(Worker)
    actor = made.options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD").remote()
    link = _ActorLink(ray, actor)
    try:
        # Not as part of the runtime environment, which Ray shows and logs: there are keys among it.
        ready: wire.Ready = pickle.loads(await link.begin(pickle.dumps(setup)))
    except (LinkLost, LinkTroubled) as error:
        await link.end()
        why = str(error)
        lacks = re.search(r"No module named '[\w.]+'", why)
        if lacks:
            raise HireFailed(
                f"a Ray worker cannot start: {lacks[0]}",
                "install rollgrid on every node, or name what is missing under `pip` in --ray-env FILE",
                is_final=True,
            ) from error
        raise HireFailed(f"a Ray worker cannot start: {why}", "`ray status` and the cluster's logs say more") from error
    except BaseException:
        link.kill()
        raise
    link.name = f"{ready.host} (pid {ready.pid})"
    if ready.fault is not None:
        await link.end()
        raise HireFailed(f"the Ray worker {link.name}: {ready.fault}", ready.hint, is_final=True)
    return link


class _ActorLink:
    """The way to one actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self.name = "?"
        self._ray = ray
        self._actor = actor

    async def begin(self, setup: bytes) -> bytes:
        return await self._ask(self._actor.begin.remote(setup))

    async def tell(self, number: int, data: bytes) -> None:
        await self._ask(self._actor.tell.remote(number, data))

    async def news(self, ack: int) -> bytes:
        return await self._ask(self._actor.news.remote(ack))

    async def end(self) -> None:
        with contextlib.suppress(LinkLost, LinkTroubled, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._ask(self._actor.close.remote())
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError, ValueError):
            self._ray.kill(self._actor)

    async def _ask(self, answer: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return await answer
        except errors.ActorUnavailableError as error:
            raise LinkTroubled(_why(error)) from error
        except (errors.RayError, ConnectionError) as error:
            raise LinkLost(_why(error)) from error


def _why(error: Exception) -> str:
    """The one line that matters of what Ray says about a lost actor."""
    text = mask(str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(("ModuleNotFoundError", "ImportError")) or ("node" in line and "dead" in line):
            return line
    found = re.search(r"death cause|The actor died because|node.* (?:died|dead|terminated)", text)
    if found:
        return _first_line(text[found.start() :])
    return lines[0] if lines else type(error).__name__


__all__ = ["ray_crew"]
