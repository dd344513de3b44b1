"""Kills, faults, outages, locks and commands at random moments: the run ends as an undisturbed one would.

`CHAOS_SEED` repeats what was done (not what it met), `CHAOS_SECONDS` says for how long; more than a minute is parted
into runs of a minute, with a seed each. `make soak` sets both.
"""

import asyncio
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from rollgrid.store.rebuild import rebuild
from support.chaos import Chaos, takes_of
from support.cli import Shell
from support.log_events import derived_rows, query

TOTAL = float(os.environ.get("CHAOS_SECONDS", "20"))
SECONDS = min(TOTAL, 60.0)
SEED = int(os.environ.get("CHAOS_SEED", random.randrange(10**6)))
TASKS = 5
A_SECOND = 2
"""Attempts that the run is given for each second of chaos, so that there is something left to disturb."""


@pytest.mark.e2e
@pytest.mark.timeout(SECONDS * 4 + 200)
@pytest.mark.parametrize("number", range(round(TOTAL / SECONDS)))
def test_whatever_happens_every_attempt_is_made_and_counted_once(tmp_path: Path, number: int) -> None:
    seed = SEED + number
    (tmp_path / "rollgrid.toml").touch()
    shell = Shell(tmp_path)
    chaos = Chaos(shell, seed, TASKS, k=max(6, int(SECONDS * A_SECOND / TASKS)))
    print(f"CHAOS_SEED={seed}")
    try:
        chaos.rage(SECONDS)
        run = chaos.finish()
    finally:
        chaos.close()
        shell.clear_away()
        print(chaos.story())
    assert chaos.done["kill"] > 0
    assert_sound(chaos, run["run_id"])


def assert_sound(chaos: Chaos, run_id: str) -> None:
    log = chaos.shell.log
    planned = {(task, attempt) for task in range(chaos.tasks) for attempt in range(1, chaos.k + 1)}
    takes = asyncio.run(takes_of(chaos.shell, run_id))
    counting = [take for take in takes if take.superseded is None]

    # Every attempt has exactly one take that counts, and it has ended with a score.
    assert Counter((take.task, take.attempt) for take in counting) == Counter(planned)
    assert all(take.phase == "ended" and take.passed is not None for take in counting)
    assert Counter((take.task, take.attempt, take.take) for take in takes).most_common(1)[0][1] == 1

    # The run's own figures are those of its takes.
    ((state, ended, scored, passed, superseded, started),) = query(
        log, "SELECT state, n_ended, n_scored, n_passed, n_superseded, n_started FROM run WHERE run_id = ?", run_id
    )
    assert (state, ended, scored, started) == ("finished", len(planned), len(planned), len(planned))
    assert passed == sum(take.passed for take in counting)
    assert superseded == len(takes) - len(counting)
    ((tokens_in, tokens_out),) = query(log, "SELECT input_tokens, output_tokens FROM run WHERE run_id = ?", run_id)
    assert tokens_in == sum(take.input_tokens for take in takes)
    assert tokens_out == sum(take.output_tokens for take in takes)

    # What counts was served, with the tokens of one reply, and what was served more was at risk at a kill.
    served = chaos.server.served
    replies = [take for take in counting if take.passed]
    assert len({(take.input_tokens, take.output_tokens) for take in replies}) <= 1
    assert all(take.input_tokens > 0 and take.output_tokens > 0 for take in replies)
    in_the_log = sum(take.passed is True for take in takes)
    assert len(replies) <= in_the_log <= served["ok"]
    assert served["ok"] - in_the_log <= chaos.at_risk

    # The log is whole: every event has its place, nothing is left over, and the rows are the fold of the events.
    assert query(log, "PRAGMA integrity_check") == [("ok",)]
    ((events, last),) = query(log, "SELECT count(*), max(seq) FROM event")
    assert events == last
    assert query(log, "SELECT count(*) FROM live") == [(0,)]
    assert query(log, "SELECT count(*) FROM lease") == [(0,)]
    assert list(log.parent.glob("*.rescue")) == []
    before = derived_rows(log)
    asyncio.run(rebuild(log))
    assert derived_rows(log) == before
