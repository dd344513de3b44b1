"""The sample environments, and a simulated server that knows what is right in them."""

import asyncio
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rollgrid.environments import Environment, Task
from rollgrid.testing import SimulatedServer

FOLDER = Path(__file__).parents[2] / "sample_envs"


def module_of(path: Path) -> dict[str, Any]:
    """What a sample's file defines, as `rollgrid run` would see it."""
    with _as_a_script(path):
        return runpy.run_path(str(path), run_name="sample")


def environments_of(path: Path) -> dict[str, Environment]:
    """The environments of a sample by the names that its file gives them."""
    return {name: value for name, value in module_of(path).items() if isinstance(value, Environment)}


def run_script(path: Path) -> int:
    """What `python path` does, in this process; the exit code."""
    with _as_a_script(path):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


@contextmanager
def _as_a_script(path: Path) -> Generator[None, None, None]:
    """Modules of a sample's own folder can be imported, and are forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(path.parent))
    try:
        yield
    finally:
        sys.path.remove(str(path.parent))
        for name in set(sys.modules) - before:
            if (
                getattr(sys.modules[name], "__file__", None)
                and Path(str(sys.modules[name].__file__)).parent == path.parent
            ):
                del sys.modules[name]


REPAIRED = {
    "off-by-one": "def last_words(text, n):\n    return text.split()[-n:] if n else []\n",
    "half-open": "def overlaps(a, b):\n    return max(a[0], b[0]) < min(a[1], b[1])\n",
    "shared-default": "def collect(pairs, into=None):\n    into = {} if into is None else into\n"
    "    for key, value in pairs:\n        into.setdefault(key, []).append(value)\n    return into\n",
    "rounding": "def split_evenly(cents, people):\n    share, rest = divmod(cents, people)\n"
    "    return [share + (n < rest) for n in range(people)]\n",
}


def answer_to(env: Environment, task: Task, passed: bool) -> str:
    """A right or wrong answer to a task of one of the samples."""
    expected = task.expected
    if env.name == "code-fixes":
        wrong = task.input.split("```python\n")[1].split("```")[0]
        return json.dumps({"code": REPAIRED[str(task.id)] if passed else wrong})
    if env.name.startswith("router"):
        return json.dumps({"queue": expected if passed else "elsewhere"})
    if env.name == "structured-extraction":
        return json.dumps(expected if passed else {**expected, "total_cents": 0})
    if isinstance(expected, int):
        return json.dumps({"value": expected if passed else expected + 1})
    return "Done." if passed else "I cannot do that."


def oracle(envs: list[Environment]) -> Callable[[str, int, bool], str]:
    known: Mapping[str, tuple[Environment, Task]] = {task.input: (env, task) for env in envs for task in env.tasks}

    def answer(prompt: str, n: int, passed: bool) -> str:
        env, task = known[prompt]
        return answer_to(env, task, passed)

    return answer


@contextmanager
def server_that_knows(envs: list[Environment], spec: str) -> Generator[str, None, None]:
    """The base URL of a server in a thread, which answers tasks of `envs` rightly with the spec's probability."""
    ready, done = threading.Event(), threading.Event()
    url: list[str] = []

    async def serve() -> None:
        async with SimulatedServer(spec, answers=oracle(envs)) as server:
            url.append(server.base_url)
            ready.set()
            while not done.is_set():  # noqa: ASYNC110 - it is set in another thread
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        if not ready.wait(30):
            raise RuntimeError("the server did not start")
        yield url[0]
    finally:
        done.set()
        thread.join(10)


def scripts() -> list[Path]:
    """The samples that are for hosted models, each one a script and an environment."""
    return [FOLDER / name for name in SAMPLES]


SAMPLES: Mapping[str, str | None] = {
    "saved_baselines/basic.py": None,
    "saved_baselines/reload.py": None,
    "saved_baselines/async_save_load.py": None,
    "task_sets/inline.py": None,
    "task_sets/from_jsonl.py": None,
    "task_sets/with_metadata.py": None,
    "math/basic.py": None,
    "math/chained_arithmetic.py": None,
    "math/recurrence_boundary.py": None,
    "environment_diff/basic.py": None,
    "environment_diff/task_subset.py": None,
    "environment_diff/mismatch_guard.py": "env",
    "prompt_comparison/compare.py": "detailed",
    "code_fixes/repairs.py": None,
    "structured_extraction/invoices.py": None,
    "tool_reliability/basic.py": None,
    "tool_reliability/per_task.py": None,
    "ci_gating/check.py": None,
    "sft_export/export.py": None,
}
"""Each with the name of the environment to run, where there are several."""

assert os.sep == "/", "the samples are named with slashes"
