import asyncio

import pytest

from rollgrid.errors import ModelError
from rollgrid.runner.control import carry_out
from rollgrid.store.events import AttemptSuperseded, TargetsChanged
from rollgrid.store.rows import CommandRow
from support.runs import ListSink, make_engine, make_plan


def command(name, **args):
    return CommandRow(1, "run", 0.0, "ada", name, args, None, None)


@pytest.fixture
def engine():
    return make_engine(make_plan(), ListSink())[0]


def test_commands_are_carried_out_and_answered_in_words(engine):
    assert carry_out(engine, command("pause")) == (True, "paused: nothing more starts, what is in flight finishes")
    assert engine.steering.state == "paused"
    assert carry_out(engine, command("resume")) == (True, "running again")
    assert engine.steering.state == "running"
    assert carry_out(engine, command("cancel"))[0]
    assert (engine.steering.state, engine.steering.stopped_early) == ("stopping", "interrupted")


def test_a_command_that_no_longer_applies_says_why(engine):
    assert carry_out(engine, command("resume")) == (False, "the run is running")
    engine.steering.stop("interrupted")
    assert carry_out(engine, command("pause")) == (False, "the run is stopping")
    assert carry_out(engine, command("retry", task=0, attempt=1)) == (False, "the run is stopping")


@pytest.mark.parametrize("limit", [None, "8", True, 0, -1])
def test_a_concurrency_that_makes_no_sense_is_refused(engine, limit):
    accepted, answer = carry_out(engine, command("concurrency", limit=limit))
    assert not accepted
    assert answer
    assert engine.concurrency == 4


def test_an_unknown_command_is_refused_by_name(engine):
    assert carry_out(engine, command("explode")) == (False, "this runner knows no command `explode`")


async def test_auto_can_be_asked_for_from_elsewhere(engine):
    assert carry_out(engine, command("concurrency", limit="auto"))[0]
    assert engine.is_adaptive
    assert carry_out(engine, command("concurrency", limit=6))[0]
    assert (engine.is_adaptive, engine.concurrency) == (False, 6)


async def test_one_cluster_is_run_again_while_the_run_is_paused_and_the_other_stays_as_it_is():
    broken = True
    last = asyncio.Event()

    async def behave(prompt, context):
        if prompt == "q2":
            await last.wait()
        elif broken and prompt == "q0":
            raise ModelError("overloaded", kind="server", status=503)
        elif broken:
            raise ModelError("no such model", kind="unknown_model", status=404)
        return "ok"

    sink = ListSink()
    engine, results = make_engine(make_plan(behave, n_tasks=3, k=2), sink, concurrency=6)
    run = asyncio.create_task(engine.run())
    while len(results) < 4:  # noqa: ASYNC110 - the engine has no event for it
        await asyncio.sleep(0.005)
    broken = False
    assert carry_out(engine, command("pause"))[0]
    accepted, answer = carry_out(engine, command("retry", signature="ModelError.server 503: overloaded"))
    assert (accepted, answer) == (True, "scheduled again; the run is paused, and goes on when it is resumed")
    assert carry_out(engine, command("resume"))[0]
    last.set()
    await run
    superseded = {(event.task, event.attempt, event.why) for event in sink.of(AttemptSuperseded)}
    assert superseded == {(0, 1, "retry"), (0, 2, "retry")}
    assert [results[0, n].passed for n in (1, 2)] == [True, True]
    assert [results[1, n].status for n in (1, 2)] == [404, 404]


async def test_more_attempts_of_a_task_are_run_while_the_run_goes_on():
    sink = ListSink()
    engine, results = make_engine(make_plan(n_tasks=3, k=1), sink)
    assert carry_out(engine, command("more", n=2, tasks=[1])) == (True, "2 more attempts of 1 task, 5 in all")
    assert carry_out(engine, command("more", n=1))[0]
    await engine.run()
    assert sorted(results) == [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2)]
    one, whole = sink.of(TargetsChanged)
    assert (one.targets, one.k, one.n_planned, one.author) == (((1, 3),), 1, 5, "ada")
    assert (whole.targets, whole.k, whole.n_planned) == (((0, 2), (1, 4), (2, 2)), 2, 8)


@pytest.mark.parametrize(
    "args", [{}, {"n": 0}, {"n": True}, {"n": "2"}, {"n": 10**9}, {"n": 1, "tasks": [7]}, {"n": 1, "tasks": []}]
)
def test_more_of_what_there_is_not_is_refused(engine, args):
    accepted, answer = carry_out(engine, command("more", **args))
    assert not accepted
    assert answer
    assert engine.ledger.targets.total == 6


def test_a_run_that_is_stopping_takes_no_more(engine):
    engine.steering.stop("interrupted")
    assert carry_out(engine, command("more", n=1)) == (False, "the run is stopping, and starts nothing more")


async def test_a_rule_may_want_fewer_attempts_of_a_task_but_never_fewer_than_have_begun():
    sink = ListSink()
    engine, results = make_engine(make_plan(n_tasks=2, k=4), sink, concurrency=3)
    started = [engine.ledger.schedule.next() for _ in range(3)]
    assert engine.steering.want({0: 1, 1: 1}, reason="decided") is None
    (event,) = sink.of(TargetsChanged)
    assert (event.targets, event.n_planned, event.author, event.reason) == (((0, 2), (1, 1)), 3, None, "decided")
    assert engine.steering.want({0: 2}, reason="decided") is None
    assert len(sink.of(TargetsChanged)) == 1, "what changes nothing is not told"
    engine.steering.want({1: 2}, reason="undecided")
    engine.ledger.schedule.add(started)
    await engine.run()
    assert sorted(results) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert all(result.take == 1 for result in results.values())


async def test_an_attempt_that_runs_or_waits_is_not_retried_and_the_answer_says_which():
    go = asyncio.Event()

    async def behave(prompt, context):
        await go.wait()
        return "ok"

    engine, _ = make_engine(make_plan(behave, n_tasks=2, k=1), ListSink(), concurrency=1)
    run = asyncio.create_task(engine.run())
    while not engine.flights:  # noqa: ASYNC110 - the engine has no event for it
        await asyncio.sleep(0.005)
    assert carry_out(engine, command("retry", task=0, attempt=1)) == (False, "this attempt is running")
    assert carry_out(engine, command("retry", task=1, attempt=1)) == (False, "this attempt is to be run anyway")
    assert carry_out(engine, command("retry", task=7, attempt=1)) == (
        False,
        "no finished attempt of this session matches",
    )
    assert carry_out(engine, command("cancel"))[0]
    assert carry_out(engine, command("cancel")) == (False, "the run is already stopping")
    go.set()
    await run


@pytest.mark.parametrize(
    "args", [{"n": 1, "tasks": [0, [1]]}, {"n": 1, "tasks": [0, "1"]}, {"n": 1, "tasks": [True]}, ["n", 1], None, "n"]
)
def test_a_command_of_a_wrong_shape_is_refused_whole_and_the_run_goes_on(engine, args):
    before = list(engine.ledger.targets)
    accepted, answer = carry_out(engine, command("more")._replace(args=args))
    assert not accepted
    assert answer
    assert list(engine.ledger.targets) == before
