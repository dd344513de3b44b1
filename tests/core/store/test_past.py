"""The runs of one environment with what each task came to, in one look at the log."""

from pathlib import Path

import pytest

from rollgrid.errors import LogError, RunError
from rollgrid.store.events import Event
from rollgrid.store.past import TaskCounts, env_name_of, read_past
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, ended, superseded

OTHER = "zzz999"


async def write(path: Path, *events: Event) -> Path:
    async with LogWriter.open_cm(path) as writer:
        for event in events:
            writer.append(event)
        await writer.flush()
    return path


def source(ref: str, cwd: Path) -> dict[str, str]:
    return {"ref": ref, "cwd": str(cwd)}


async def test_counts_are_of_the_takes_that_count(tmp_path):
    path = await write(
        tmp_path / "log.db",
        created(),
        ended(),
        superseded(),
        ended(0, 1, 2, passed=False),
        ended(0, 2),
        ended(1, 1, passed=None, error="x"),
    )
    (run,) = await read_past(path, "arithmetic")
    assert run.counts == (TaskCounts("t1", 2, 2, 1), TaskCounts("t2", 1, 0, 0))
    assert (run.run_id, run.scoring, run.fingerprint_parts) == (RUN, 1, {"tasks": "aa", "scorer": "bb"})


async def test_runs_come_oldest_first_and_of_this_environment_only(tmp_path):
    path = await write(
        tmp_path / "log.db", created(), created(OTHER), created("other1", env_name="other"), created("third1")
    )
    assert [run.run_id for run in await read_past(path, "arithmetic")] == [RUN, OTHER, "third1"]
    assert [run.run_id for run in await read_past(path, "arithmetic", limit=2)] == [OTHER, "third1"]


async def test_an_environment_is_named_by_its_name_or_its_file(tmp_path):
    (tmp_path / "evals").mkdir()
    path = await write(
        tmp_path / "log.db",
        created(source=source("evals/env.py:env", tmp_path)),
        created(OTHER, env_name="other", source=source("package.module:env", tmp_path)),
        created("script", env_name="from a script", source={}),
    )
    for text, name in (
        ("arithmetic", "arithmetic"),
        (str(tmp_path / "evals" / "env.py"), "arithmetic"),
        (f"{tmp_path}/evals/env.py:env", "arithmetic"),
        (str(tmp_path / "evals"), "arithmetic"),
        ("package.module", "other"),
        ("package.module:env", "other"),
        ("from a script", "from a script"),
    ):
        assert await env_name_of(path, text) == name
    for text in ("nothing", f"{tmp_path}/evals/env.py:another", "package", ""):
        with pytest.raises(RunError, match="no run of an environment") as caught:
            await env_name_of(path, text)
        assert "arithmetic" in (caught.value.hint or "")


async def test_a_log_without_runs_and_no_log_are_one_line(tmp_path):
    path = await write(tmp_path / "log.db")
    with pytest.raises(RunError, match="has no run yet"):
        await env_name_of(path, "arithmetic")
    with pytest.raises(LogError, match="there is no log"):
        await read_past(tmp_path / "none.db", "arithmetic")
