import asyncio

import pytest

from rollgrid.environments.attempt import StopReason
from rollgrid.errors import ModelError
from rollgrid.runner.carrier import LocalCarrier
from rollgrid.store.events import (
    AttemptEnded,
    AttemptStarted,
    AttemptSuperseded,
    ConcurrencyChanged,
    Notice,
    RunStateChanged,
    StormCalled,
    StormCleared,
)
from support.runs import ListSink, make_engine, make_plan


async def until(condition, engine_task=None):
    """Let the loop turn until the condition holds (at most five seconds)."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - conditions of other people's making have no event
            await asyncio.sleep(0.005)


async def denied(prompt, context):
    raise ModelError("Incorrect API key provided", kind="auth", status=401)


async def test_every_attempt_of_every_task_is_run_once():
    sink = ListSink()
    engine, results = make_engine(make_plan(n_tasks=3, k=4), sink)
    await engine.run()
    assert set(results) == {(task, attempt) for task in range(3) for attempt in range(1, 5)}
    assert all(result.passed for result in results.values())
    assert len(sink.of(AttemptStarted)) == len(sink.of(AttemptEnded)) == 12
    assert engine.steering.stopped_early is None


async def test_never_more_than_the_limit_run_at_once():
    running = most = 0

    async def count(prompt, context):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return "ok"

    engine, results = make_engine(make_plan(count, n_tasks=5, k=5), ListSink(), concurrency=3)
    await engine.run()
    assert most == 3
    assert len(results) == 25


async def test_a_models_own_limit_wins():
    plan = make_plan(max_concurrency=1)
    engine, _ = make_engine(plan, ListSink(), concurrency=8)
    assert engine.concurrency == 1


async def test_an_attempt_that_raises_is_data_and_the_others_go_on():
    async def behave(prompt, context):
        if prompt == "q1":
            raise ZeroDivisionError("division by zero")
        return "ok"

    engine, results = make_engine(make_plan(behave), ListSink())
    await engine.run()
    bad = results[1, 1]
    assert (bad.stop_reason, bad.error, bad.score) == (StopReason.error, "ZeroDivisionError: division by zero", None)
    assert results[0, 1].passed
    assert results[2, 2].passed


async def test_an_agent_that_exits_the_interpreter_only_ends_its_attempt():
    async def behave(prompt, context):
        raise SystemExit(3)

    engine, results = make_engine(make_plan(behave, n_tasks=1, k=1), ListSink())
    await engine.run()
    assert results[0, 1].error_type == "SystemExit"


async def test_every_call_denied_costs_at_most_two_windows_and_stops_the_run():
    sink = ListSink()
    engine, results = make_engine(make_plan(denied, n_tasks=20, k=8), sink, concurrency=4)
    await engine.run()
    assert len(results) <= 8
    assert engine.steering.stopped_early == "error-storm"
    [storm] = sink.of(StormCalled)
    assert storm.sample == "Incorrect API key provided"
    assert all(result.status == 401 for result in results.values())


async def test_an_outage_after_a_pass_still_stops_the_run():
    calls = 0

    async def behave(prompt, context):
        nonlocal calls
        calls += 1
        if calls <= 6:
            return "ok"
        raise ModelError("overloaded", kind="server", status=503)

    engine, results = make_engine(make_plan(behave, n_tasks=10, k=8), ListSink())
    await engine.run()
    assert engine.steering.stopped_early == "error-storm"
    assert len(results) <= 6 + 8


async def test_a_storm_with_nothing_left_to_skip_stops_nothing():
    engine, results = make_engine(make_plan(denied, n_tasks=1, k=4), ListSink())
    await engine.run()
    assert engine.steering.stopped_early is None
    assert len(results) == 4


async def test_with_somebody_watching_a_storm_pauses_and_its_attempts_are_run_again():
    broken = True

    async def behave(prompt, context):
        if broken:
            raise ModelError("overloaded", kind="server", status=503)
        return "ok"

    sink = ListSink()
    engine, results = make_engine(make_plan(behave, n_tasks=6, k=2, storm_action="pause"), sink)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await until(lambda: engine.steering.state == "paused" and not engine.flights)
        broken = False
        assert engine.steering.resume("ada") is None
    assert len(results) == 12
    assert all(result.passed for result in results.values())
    superseded = sink.of(AttemptSuperseded)
    assert superseded
    assert {event.why for event in superseded} == {"storm"}
    assert len(sink.of(StormCleared)) == 1
    ended = sink.of(AttemptEnded)
    assert len(ended) == 12 + len(superseded)
    assert {(e.task, e.attempt, e.take) for e in superseded} == {
        (e.task, e.attempt, e.take) for e in ended if e.error is not None
    }


async def test_a_pause_starts_nothing_and_a_resume_finishes_the_run():
    sink = ListSink()
    engine, results = make_engine(make_plan(n_tasks=4, k=4), sink, concurrency=1)
    engine.steering.pause("ada")
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await asyncio.sleep(0.05)
        assert not results
        assert engine.steering.pause("bob") == "the run is paused"
        engine.steering.resume("ada")
    assert len(results) == 16
    assert [(e.state, e.author) for e in sink.of(RunStateChanged)] == [("paused", "ada"), ("running", "ada")]


async def test_time_in_a_pause_is_not_active_time():
    engine, _ = make_engine(make_plan(n_tasks=1, k=1), ListSink())
    engine.steering.pause("ada")
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await asyncio.sleep(0.3)
        engine.steering.resume("ada")
    assert engine.steering.active_seconds < 0.2


async def test_a_stop_lets_what_is_in_flight_finish():
    gate = asyncio.Event()

    async def wait(prompt, context):
        await gate.wait()
        return "ok"

    engine, results = make_engine(make_plan(wait, n_tasks=5, k=5), ListSink(), concurrency=3)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await until(lambda: len(engine.flights) == 3)
        engine.steering.stop("interrupted", author="ada")
        gate.set()
    assert len(results) == 3
    assert all(result.passed for result in results.values())
    assert engine.steering.stopped_early == "interrupted"


async def test_dropping_keeps_what_had_arrived():
    async def stall(prompt, context):
        context.output.partial_text = "half an ans"
        await asyncio.sleep(3600)

    sink = ListSink()
    engine, results = make_engine(make_plan(stall), sink, concurrency=2)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await until(lambda: len(engine.flights) == 2)
        engine.steering.stop("interrupted")
        engine.drop_flights()
        engine.drop_flights()
    assert {result.stop_reason for result in results.values()} == {StopReason.cancelled}
    assert all(result.run.partial_text == "half an ans" for result in results.values())
    assert len(sink.of(AttemptEnded)) == 2


async def test_attempts_in_flight_are_dropped_when_the_drain_limit_is_over():
    async def stall(prompt, context):
        await asyncio.sleep(3600)

    engine, results = make_engine(make_plan(stall, drain_seconds=0.1), ListSink(), concurrency=2)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await until(lambda: len(engine.flights) == 2)
        engine.steering.stop("interrupted")
    assert {result.stop_reason for result in results.values()} == {StopReason.cancelled}


async def test_cancelling_the_run_records_what_was_in_flight():
    async def stall(prompt, context):
        context.output.partial_text = "half"
        await asyncio.sleep(3600)

    sink = ListSink()
    engine, _ = make_engine(make_plan(stall), sink, concurrency=2)
    run = asyncio.create_task(engine.run())
    await until(lambda: len(engine.flights) == 2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [event.stop_reason for event in sink.of(AttemptEnded)] == ["cancelled", "cancelled"]


async def test_concurrency_can_change_while_the_run_goes_on():
    gate = asyncio.Event()

    async def wait(prompt, context):
        await gate.wait()
        return "ok"

    sink = ListSink()
    engine, results = make_engine(make_plan(wait, n_tasks=5, k=5), sink, concurrency=2)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await until(lambda: len(engine.flights) == 2)
        assert engine.steering.set_concurrency(0, "ada", "asked for") == "the concurrency must be at least 1"
        engine.steering.set_concurrency(7, "ada", "asked for")
        await until(lambda: len(engine.flights) == 7)
        gate.set()
    assert len(results) == 25
    [changed] = sink.of(ConcurrencyChanged)
    assert (changed.limit, changed.author) == (7, "ada")


async def test_a_finished_attempt_can_be_run_again():
    gate = asyncio.Event()

    async def behave(prompt, context):
        if prompt == "q2":
            await gate.wait()
        if prompt == "q0" and not gate.is_set():
            raise ModelError("overloaded", kind="server", status=503)
        return "ok"

    sink = ListSink()
    engine, results = make_engine(make_plan(behave, n_tasks=3, k=1), sink, concurrency=3)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        await until(lambda: len(results) == 2)
        assert engine.steering.retry("ada", key=(2, 1)) == "no finished attempt of this session matches"
        gate.set()
        assert engine.steering.retry("ada", key=(0, 1)) is None
    assert results[0, 1].passed
    assert results[0, 1].take == 2
    assert [(e.task, e.take, e.why, e.author) for e in sink.of(AttemptSuperseded)] == [(0, 1, "retry", "ada")]


async def test_a_late_result_is_kept_as_superseded_and_counts_for_nothing(monkeypatch):
    monkeypatch.setattr("rollgrid.runner.attempt.GRACE_SECONDS", 0.05)
    let_go = asyncio.Event()

    async def behave(prompt, context):
        if prompt == "q1":
            await let_go.wait()
            await asyncio.sleep(0.1)
            return "ok"
        context.output.metrics.input_tokens = 5
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await let_go.wait()
        context.output.metrics.input_tokens = 12
        return "ok"

    sink = ListSink()
    engine, results = make_engine(make_plan(behave, n_tasks=2, k=1, timeout_seconds=0.3), sink, concurrency=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(engine.run())
        carrier = engine.carrier
        assert isinstance(carrier, LocalCarrier)
        await until(lambda: carrier.leftovers.tasks)
        let_go.set()
    assert results[0, 1].stop_reason is StopReason.timeout
    assert results[0, 1].score is None
    late = [event for event in sink.of(AttemptEnded) if event.task == 0 and event.take == 2]
    assert [(event.passed, event.input_tokens) for event in late] == [(True, 7)]
    assert [(e.task, e.take, e.why) for e in sink.of(AttemptSuperseded)] == [(0, 2, "late")]
    assert len(sink.of(Notice)) >= 1


async def test_a_tick_tells_the_phase_and_leaves_a_snapshot_of_a_slow_attempt():
    async def slow(prompt, context):
        context.output.partial_text = "thinking"
        context.observer.on_text(context.output)
        await asyncio.sleep(0.8)
        return "ok"

    sink = ListSink()
    engine, _ = make_engine(make_plan(slow, n_tasks=1, k=1), sink)
    await engine.run()
    assert (0, 1, 1) in sink.live


async def test_a_fast_attempt_writes_its_start_and_its_end_only():
    sink = ListSink()
    engine, _ = make_engine(make_plan(n_tasks=10, k=10), sink)
    await engine.run()
    assert len(sink.events) == 200
    assert not sink.live
    assert not sink.of(Notice)


async def test_seeds_differ_between_attempts_and_stay_the_same_when_run_again():
    plan = make_plan(n_tasks=3, k=3)
    seeds = {plan.seed_of(slot) for slot in plan.slots}
    assert len(seeds) == 9
    again = plan.slots[0]._replace(take=5)
    assert plan.seed_of(again) == plan.seed_of(plan.slots[0])
