"""Scorers in a process of their own. The functions are looked up there, so they stand at the top of this module."""

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rollgrid.agent.run import RunOutput
from rollgrid.scorer import CodeScorer, Score
from rollgrid.scorer.isolated import close_isolated


@dataclass
class Answer:
    value: int


def right(run, expected):
    return run.content.value == expected


def whose(run, expected):
    return Score(1.0, True, detail={"pid": os.getpid()})


async def slowly(run, expected):
    await asyncio.sleep(0)
    return 0.25


def fails(run, expected):
    raise LookupError("no such thing")


def spins(run, expected):
    Path(expected).touch()
    while True:
        pass


def dies(run, expected):
    os._exit(7)


def prints(run, expected):
    print("what a scorer has to say")
    return True


def odd(run, expected):
    return lambda: None


@pytest.fixture(autouse=True)
async def _closed():
    yield
    await close_isolated()


def isolated(fn, **kw):
    return CodeScorer(fn, isolate=True, **kw)


def output(value=4):
    return RunOutput(content=Answer(value))


def children():
    """The command lines of this process's children."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    pids = listed.read_text().split() if listed.exists() else []
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids]


async def test_the_verdict_is_that_of_the_function():
    scorer = isolated(right)
    assert (await scorer.ascore(output(4), 4)).passed
    assert not (await scorer.ascore(output(5), 4)).passed
    assert (await isolated(slowly, pass_threshold=0.2).ascore(output())).value == 0.25


async def test_one_process_serves_one_attempt_after_another():
    scorer = isolated(whose)
    first, second = (await scorer.ascore(output())).detail, (await scorer.ascore(output())).detail
    assert first == second
    assert first["pid"] != os.getpid()


async def test_what_it_raises_keeps_its_name_and_text():
    with pytest.raises(Exception, match="no such thing") as caught:
        await isolated(fails).ascore(output())
    assert type(caught.value).__name__ == "LookupError"


async def test_what_it_prints_is_not_taken_for_an_answer():
    assert (await isolated(prints).ascore(output())).passed


async def test_a_result_that_cannot_travel_is_an_error():
    with pytest.raises(Exception, match="local object"):
        await isolated(odd).ascore(output())


async def test_a_function_that_computes_without_end_is_killed_and_the_next_one_gets_a_fresh_process(tmp_path):
    mark = tmp_path / "started"
    call = asyncio.create_task(isolated(spins).ascore(output(), str(mark)))
    while not mark.exists():  # noqa: ASYNC110 - it happens in another process
        await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.wait([call])
    assert not [command for command in children() if "isolated_worker" in command]
    assert (await isolated(right).ascore(output(4), 4)).passed


async def test_a_process_that_dies_is_an_error_and_not_the_end():
    with pytest.raises(Exception, match="the scorer's process ended with exit code 7"):
        await isolated(dies).ascore(output())
    assert (await isolated(right).ascore(output(4), 4)).passed


def test_it_scores_without_an_event_loop_too():
    assert isolated(right).score(output(4), 4).passed


def test_isolation_is_no_part_of_the_verdict():
    assert isolated(right).digest() == CodeScorer(right).digest()


def test_a_function_that_another_process_cannot_find_is_refused_at_once():
    def inner(run, expected):
        return True

    for fn in (inner, lambda run, expected: True, RunOutput().get_content_as_string):
        with pytest.raises(TypeError, match="top level of a module"):
            isolated(fn)


SCRIPT = """
from rollgrid import CodeScorer, Environment, Task, run_rollouts

async def agent(prompt):
    return prompt

def same(run, expected):
    return run.content == expected

same = CodeScorer(same, isolate=True)
env = Environment(name="echo", tasks=[Task("a", "a"), Task("b", "c")], scorer=same, agent=agent)
{guard}
print(run_rollouts(env, k=2).summary()["pass_rate"])
"""


def run_script(tmp_path, guard):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(guard=guard).replace("\nprint", "\n    print" if guard else "\nprint"))
    return subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=tmp_path,
        env={**os.environ, "ROLLGRID_LOG": "off"},
    )


def test_a_script_with_a_guard_can_isolate_its_own_functions(tmp_path):
    done = run_script(tmp_path, 'if __name__ == "__main__":')
    assert (done.returncode, done.stdout) == (0, "0.5\n"), done.stderr


def test_a_script_without_a_guard_is_told_so(tmp_path):
    done = run_script(tmp_path, "")
    assert done.stdout == "None\n", done.stderr
