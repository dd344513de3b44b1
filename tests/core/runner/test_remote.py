"""A crew of workers carries out what an engine starts: the same outcome, whatever becomes of the workers."""

import asyncio
import pickle
import time
from collections import Counter

import pytest

from rollgrid.environments.attempt import StopReason
from rollgrid.errors import ModelError, RunError
from rollgrid.models.base import ModelReply, ModelRequest, Usage
from rollgrid.models.traffic import respond
from rollgrid.runner import remote, remote_outbox
from rollgrid.runner import remote_wire as wire
from rollgrid.runner.budget import Budget, Limits
from rollgrid.runner.losses import MAX_LOSSES
from rollgrid.runner.remote import HireFailed
from rollgrid.runner.remote_outbox import Outbox
from rollgrid.runner.schedule import Slot
from rollgrid.scorer.base import Score
from rollgrid.store.codec import decode, encode
from rollgrid.store.events import (
    AttemptEnded,
    AttemptPhase,
    AttemptStarted,
    AttemptSuperseded,
    EndpointPaused,
    Notice,
    RunStateChanged,
    StormCalled,
)
from support.crew import local_crew
from support.models import ScriptedModel
from support.runs import ListSink, make_engine, make_plan


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for are facts, not one event
            await asyncio.sleep(0.005)


async def run_with_crew(plan, sink, *, n_workers=2, concurrency=4, **changes):
    async with local_crew(plan, n_workers) as crew:
        engine, results = make_engine(plan, sink, concurrency, make_carrier=crew.make_carrier, **changes)
        await engine.run()
    return engine, results


def counted(sink):
    """The ends that count, by (task, attempt): those of takes that were not superseded."""
    gone = {(e.task, e.attempt, e.take) for e in sink.of(AttemptSuperseded)}
    return Counter((e.task, e.attempt) for e in sink.of(AttemptEnded) if (e.task, e.attempt, e.take) not in gone)


def told(event):
    return event.model_dump(exclude={"at", "duration_seconds"})


async def varied(prompt, context):
    """Every kind of end but a timeout."""
    context.output.metrics.input_tokens, context.output.metrics.output_tokens = 7, 3
    context.output.partial_text = "half \ud800"
    await asyncio.sleep(0)
    match prompt:
        case "q0":
            return "ok"
        case "q1":
            return "something else"
        case "q2":
            raise ModelError("HTTP 500: broken", kind="server", status=500)
        case "q3":
            raise asyncio.CancelledError
        case _:
            raise SystemExit(3)


class TellingScorer:
    """A score with all its parts."""

    async def ascore(self, run, expected):
        passed = run.content == expected
        return Score(0.75 if passed else 0.1 + 0.2, passed, "because \u202e of that", {"nan": float("nan"), "n": 2**70})

    def digest(self):
        return "telling"


async def test_attempts_end_on_workers_as_they_end_here():
    plan = make_plan(varied, n_tasks=5, k=2, scorer=TellingScorer(), storm_action="stop")
    here, there = ListSink(), ListSink()
    engine, results = make_engine(plan, here, 1)
    await engine.run()
    far_engine, far_results = await run_with_crew(plan, there, concurrency=1)
    assert far_engine.steering.stopped_early == engine.steering.stopped_early
    assert [repr(told(e)) for e in there.of(AttemptEnded)] == [repr(told(e)) for e in here.of(AttemptEnded)]
    bodies = {
        name: [decode(body) for body in sink.bodies if body is not None]
        for name, sink in (("here", here), ("there", there))
    }
    for body in bodies["here"] + bodies["there"]:
        for key in ("session_id", "user_id", "created_at"):
            body.pop(key, None)
    assert bodies["there"] == bodies["here"]
    assert far_results.keys() == results.keys()
    for key, result in results.items():
        far = far_results[key]
        assert (far.stop_reason, far.error, far.error_type, far.status, far.passed, far.usage) == (
            result.stop_reason,
            result.error,
            result.error_type,
            result.status,
            result.passed,
            result.usage,
        )
        if result.score is not None:
            assert (far.score.value, far.score.reason) == (result.score.value, result.score.reason)


async def test_all_workers_get_attempts_and_each_carries_out_several_at_once():
    here: Counter[int] = Counter()
    most: Counter[int] = Counter()

    async def behave(prompt, context):
        worker = id(context.observer.sink)
        here[worker] += 1
        most[worker] = max(most[worker], here[worker])
        await asyncio.sleep(0.02)
        here[worker] -= 1
        return "ok"

    sink = ListSink()
    _, results = await run_with_crew(make_plan(behave, n_tasks=6, k=4), sink, n_workers=3, concurrency=12)
    assert Counter(result.error for result in results.values()) == {None: 24}
    assert sorted(most.values()) == [4, 4, 4]


async def test_a_lost_worker_costs_no_attempt_and_none_counts_twice():
    held = asyncio.Event()

    async def behave(prompt, context):
        context.output.partial_text = "so far"
        context.observer.on_text(context.output)
        await held.wait()
        return "ok"

    plan, sink = make_plan(behave, n_tasks=4, k=3), ListSink()
    async with local_crew(plan) as crew:
        engine, results = make_engine(plan, sink, 6, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: len({*sink.live}) == 6)
            await crew.links[0].cut("its node is gone")
            held.set()
    assert counted(sink) == dict.fromkeys(((t, a) for t in range(4) for a in (1, 2, 3)), 1)
    assert all(result.passed for result in results.values())
    lost = [e for e in sink.of(AttemptEnded) if e.error_type == "WorkerLost"]
    assert len(lost) == 3
    assert {e.error for e in lost} == {"the worker was lost during this attempt: its node is gone"}
    assert [(e.task, e.attempt, e.take) for e in lost] == [
        (e.task, e.attempt, e.take) for e in sink.of(AttemptSuperseded) if e.why == "worker-lost"
    ]
    bodies = [decode(sink.bodies[sink.events.index(event)]) for event in lost]
    assert [body["rollgrid"]["partial_text"] for body in bodies] == ["so far"] * 3
    assert len(crew.links) == 3
    assert crew.said == ["lost the worker worker 1, with 3 attempts in flight: its node is gone"]


async def test_an_attempt_that_loses_its_worker_each_time_ends_as_an_error():
    async def behave(prompt, context):
        if prompt == "q0":
            crew.links[-1].cut_off("killed by signal 9")
            await asyncio.Event().wait()
        return "ok"

    plan, sink = make_plan(behave, n_tasks=2, k=1), ListSink()
    async with local_crew(plan, 1) as crew:
        engine, results = make_engine(plan, sink, 1, make_carrier=crew.make_carrier)
        await engine.run()
    assert len(crew.links) == MAX_LOSSES + 1
    assert results[0, 1].stop_reason is StopReason.error
    assert results[0, 1].error_type == "WorkerLost"
    assert "for the 3rd time" in results[0, 1].error
    assert results[1, 1].passed
    assert counted(sink) == {(0, 1): 1, (1, 1): 1}


async def test_what_is_lost_on_the_way_is_asked_for_again_and_taken_once(monkeypatch):
    monkeypatch.setattr(remote, "_AGAIN_SECONDS", 0.001)
    started: Counter[str] = Counter()

    async def behave(prompt, context):
        started[prompt] += 1
        return "ok"

    plan, sink = make_plan(behave, n_tasks=8, k=3), ListSink()
    async with local_crew(plan) as crew:
        for link in crew.links:
            link.is_bad = True
        engine, results = make_engine(plan, sink, 4, make_carrier=crew.make_carrier)
        await engine.run()
        for link in crew.links:
            link.is_bad = False
    assert len(results) == 24
    assert started == {f"q{i}": 3 for i in range(8)}
    assert len(sink.of(AttemptEnded)) == len(sink.of(AttemptStarted)) == 24
    assert not sink.of(AttemptSuperseded)


async def test_a_worker_out_of_reach_for_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(remote, "SILENCE_SECONDS", 0.1)
    monkeypatch.setattr(remote_outbox, "HEARTBEAT_SECONDS", 0.02)
    plan, sink = make_plan(n_tasks=3, k=2), ListSink()
    async with local_crew(plan) as crew:
        hung = crew.links[0]

        async def never(ack):
            await asyncio.Event().wait()
            return b""

        hung.news = never
        engine, results = make_engine(plan, sink, 4, make_carrier=crew.make_carrier)
        await engine.run()
    assert counted(sink) == {(t, a): 1 for t in range(3) for a in (1, 2)}
    assert all(result.passed for result in results.values())
    assert any("no sign of life" in text for text in crew.said)


async def test_a_result_that_comes_after_its_attempt_was_dropped_is_superseded(monkeypatch):
    monkeypatch.setattr(remote, "LAST_WORD_SECONDS", 0.05)
    finish = asyncio.Event()

    async def behave(prompt, context):
        context.output.partial_text = "so far"
        context.observer.on_text(context.output)
        await finish.wait()
        return "ok"

    plan, sink = make_plan(behave, n_tasks=1, k=1), ListSink()
    async with local_crew(plan, 1) as crew:
        engine, results = make_engine(plan, sink, 1, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: sink.live)
            crew.links[0].is_deaf = True
            engine.steering.stop("interrupted")
            engine.drop_flights()
            await until(lambda: results)
        finish.set()
        await until(lambda: sink.of(AttemptSuperseded))
    assert results[0, 1].stop_reason is StopReason.cancelled
    first, late = sink.of(AttemptEnded)
    assert (first.take, first.stop_reason) == (1, "cancelled")
    assert (late.take, late.passed) == (2, True)
    assert [(e.take, e.why) for e in sink.of(AttemptSuperseded)] == [(2, "late")]
    assert counted(sink) == {(0, 1): 1}


async def test_dropping_cancels_on_the_workers_and_keeps_what_had_arrived():
    cancelled: list[str] = []

    async def behave(prompt, context):
        context.output.partial_text = "so far"
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(prompt)

    plan, sink = make_plan(behave, n_tasks=4, k=1), ListSink()
    async with local_crew(plan) as crew:
        engine, results = make_engine(plan, sink, 4, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: sum(len(link.worker._flights) for link in crew.links) == 4)
            engine.steering.stop("interrupted")
            engine.drop_flights()
    assert sorted(cancelled) == ["q0", "q1", "q2", "q3"]
    assert {result.stop_reason for result in results.values()} == {StopReason.cancelled}
    bodies = [decode(body) for body in sink.bodies if body is not None]
    assert [body["rollgrid"]["partial_text"] for body in bodies] == ["so far"] * 4


async def test_a_run_that_is_cancelled_keeps_what_its_workers_had():
    async def behave(prompt, context):
        context.output.partial_text = "so far"
        await asyncio.Event().wait()

    plan, sink = make_plan(behave, n_tasks=2, k=1), ListSink()
    async with local_crew(plan) as crew:
        engine, results = make_engine(plan, sink, 2, make_carrier=crew.make_carrier)
        running = asyncio.create_task(engine.run())
        await until(lambda: sum(len(link.worker._flights) for link in crew.links) == 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert {result.stop_reason for result in results.values()} == {StopReason.cancelled}
    assert [decode(body)["rollgrid"]["partial_text"] for body in sink.bodies if body is not None] == ["so far"] * 2


async def test_a_storm_is_called_over_all_workers():
    async def behave(prompt, context):
        raise ModelError("HTTP 401: bad key", kind="auth", status=401)

    plan, sink = make_plan(behave, n_tasks=20, k=4), ListSink()
    engine, results = await run_with_crew(plan, sink, concurrency=4)
    assert engine.steering.stopped_early == "error-storm"
    assert len(sink.of(StormCalled)) == 1
    assert len(results) <= 8


async def test_a_pause_holds_all_workers_and_a_resume_lets_them_go_on():
    plan, sink = make_plan(n_tasks=6, k=4), ListSink()
    async with local_crew(plan) as crew:
        engine, results = make_engine(plan, sink, 2, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: len(results) >= 2)
            engine.steering.pause("me")
            await until(lambda: not engine.flights)
            n = len(sink.of(AttemptStarted))
            assert not any(link.worker._flights for link in crew.links)
            await asyncio.sleep(0.05)
            assert len(sink.of(AttemptStarted)) == n
            engine.steering.resume("me")
    assert counted(sink) == {(t, a): 1 for t in range(6) for a in range(1, 5)}


class Asked(ScriptedModel):
    """Counts calls under way; `serve` answers, given the number of the call."""

    def __init__(self, serve=None):
        super().__init__("ok", id="m")
        self.serve = serve
        self.calls = self.under_way = self.most = 0

    async def respond(self, request, on_text=None):
        n = self.calls = self.calls + 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0.002)
            if self.serve is not None:
                self.serve(n, request)
            return ModelReply(text="ok", usage=Usage(100, 10))
        finally:
            self.under_way -= 1


def plan_of(model, **changes):
    async def behave(prompt, context):
        await respond(model, ModelRequest([]))
        return "ok"

    return make_plan(behave, **{"endpoint": model.endpoint, "model_id": model.id, **changes})


async def test_a_budget_counts_what_all_workers_spend():
    sink, model = ListSink(), Asked()
    plan = plan_of(model, n_tasks=10, k=10)
    engine, results = await run_with_crew(plan, sink, concurrency=3, budget=Budget(Limits(max_tokens=1000)))
    assert engine.steering.stopped_early == "budget"
    assert len(results) == 9
    assert engine.budget.spent.tokens == 990


async def test_a_long_attempt_tells_what_it_has_spent_so_far():
    model, go = Asked(), asyncio.Event()

    async def behave(prompt, context):
        await respond(model, ModelRequest([]))
        await go.wait()
        return "ok"

    plan, sink = make_plan(behave, n_tasks=1, k=1), ListSink()
    async with local_crew(plan, 1) as crew:
        engine, _ = make_engine(plan, sink, 1, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: any(flight.spent().tokens == 110 for flight in engine.flights.values()))
            go.set()


async def test_a_pause_that_one_worker_is_asked_for_holds_the_calls_of_all():
    said_at: list[float] = []

    def serve(n, request):
        if n == 1:
            said_at.append(time.monotonic())
            raise ModelError("HTTP 429", kind="rate_limit", status=429, retryable=True, retry_after=0.4)
        if said_at and time.monotonic() - said_at[0] > 0.05:
            after.append(time.monotonic() - said_at[0])

    after: list[float] = []
    model, sink = Asked(serve), ListSink()
    plan = plan_of(model, n_tasks=12, k=1)
    _, results = await run_with_crew(plan, sink, n_workers=3, concurrency=3)
    assert len(sink.of(EndpointPaused)) == 1
    assert len(results) == 12
    assert after
    assert min(after) >= 0.4


async def test_a_limit_of_calls_that_is_found_out_holds_for_all_workers_together():
    model, sink = Asked(), ListSink()

    async def behave(prompt, context):
        for _ in range(3):
            await respond(model, ModelRequest([]))
        return "ok"

    plan = make_plan(behave, n_tasks=8, k=2, endpoint=model.endpoint, model_id=model.id, max_concurrency=2)
    engine, results = await run_with_crew(plan, sink, n_workers=4, concurrency=8, adaptive=True)
    assert len(results) == 16
    assert model.most <= 2
    assert engine.is_adaptive


async def test_an_attempt_that_waits_for_its_turn_says_so_and_gives_its_place_up_when_dropped():
    gate = asyncio.Event()

    def serve(n, request):
        if n == 1:
            raise ModelError("HTTP 429", kind="rate_limit", status=429, retryable=True, retry_after=60.0)

    model, sink = Asked(serve), ListSink()

    async def behave(prompt, context):
        if prompt == "q1":
            await gate.wait()
        await respond(model, ModelRequest([]))
        return "ok"

    plan = make_plan(behave, n_tasks=2, k=1)
    async with local_crew(plan) as crew:
        engine, results = make_engine(plan, sink, 2, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: results)
            gate.set()
            await until(lambda: sink.of(AttemptPhase))
            engine.steering.stop("interrupted")
            engine.drop_flights()
        lane = engine.lanes.at(model.endpoint)
        assert lane.in_flight == 0
        assert lane.n_waiting == 0
    waiting = sink.of(AttemptPhase)[-1]
    assert waiting.phase == "waiting"
    assert "rate limit" in waiting.detail
    assert results[1, 1].stop_reason is StopReason.cancelled


async def test_a_worker_that_is_lost_gives_its_places_in_the_lanes_back():
    class Hangs(ScriptedModel):
        async def respond(self, request, on_text=None):
            await hold.wait()
            return ModelReply(text="ok", usage=Usage(1, 1))

    hold, model, sink = asyncio.Event(), Hangs("ok"), ListSink()
    plan = plan_of(model, n_tasks=4, k=1)
    async with local_crew(plan) as crew:
        engine, results = make_engine(plan, sink, 4, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            lane = engine.lanes.at(model.endpoint)
            await until(lambda: lane.in_flight == 4)
            await crew.links[0].cut()
            await until(lambda: len(crew.links) == 3)
            await until(lambda: lane.in_flight == 4)
            hold.set()
        assert lane.in_flight == 0
    assert len(results) == 4


async def test_a_timeout_on_a_worker_keeps_what_had_arrived():
    async def behave(prompt, context):
        context.output.partial_text = "so far"
        await asyncio.Event().wait()

    plan, sink = make_plan(behave, n_tasks=1, k=1, timeout_seconds=0.1), ListSink()
    _, results = await run_with_crew(plan, sink)
    assert results[0, 1].stop_reason is StopReason.timeout
    (body,) = (decode(body) for body in sink.bodies if body is not None)
    assert body["rollgrid"]["partial_text"] == "so far"


async def test_work_that_ignores_its_cancellation_on_a_worker_is_told_and_superseded(monkeypatch):
    monkeypatch.setattr("rollgrid.runner.attempt.GRACE_SECONDS", 0.05)
    let_go = asyncio.Event()

    async def behave(prompt, context):
        if prompt == "q1":
            await let_go.wait()
            await asyncio.sleep(0.1)
            return "ok"
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await let_go.wait()
        return "ok"

    plan, sink = make_plan(behave, n_tasks=2, k=1, timeout_seconds=0.3), ListSink()
    async with local_crew(plan, 1) as crew:
        engine, results = make_engine(plan, sink, 1, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: sink.of(Notice))
            let_go.set()
            await until(lambda: sink.of(AttemptSuperseded))
    assert results[0, 1].stop_reason is StopReason.timeout
    assert "ignores its cancellation" in sink.of(Notice)[0].text
    assert [(e.task, e.why) for e in sink.of(AttemptSuperseded)] == [(0, "late")]
    assert counted(sink) == {(0, 1): 1, (1, 1): 1}


async def test_a_crew_that_cannot_be_replaced_stops_the_run_and_says_why(monkeypatch):
    monkeypatch.setattr(remote, "_AGAIN_SECONDS", 0.001)

    async def behave(prompt, context):
        await asyncio.Event().wait()

    plan, sink = make_plan(behave, n_tasks=3, k=1), ListSink()
    async with local_crew(plan, 1) as crew:
        engine, results = make_engine(plan, sink, 2, make_carrier=crew.make_carrier)
        async with asyncio.TaskGroup() as group:
            group.create_task(engine.run())
            await until(lambda: len(sink.of(AttemptStarted)) == 2)
            crew.refuses = HireFailed("the cluster is gone")
            await crew.links[0].cut()
    assert engine.steering.stopped_early == "workers-lost"
    assert sink.of(RunStateChanged)[-1].reason == "no worker is left, and none can be started: the cluster is gone"
    assert results == {}


async def test_a_crew_of_which_nobody_can_be_started_is_refused_with_the_reason():
    plan = make_plan()
    with pytest.raises(RunError, match="no such module") as caught:
        async with local_crew(plan, refuses=HireFailed("no such module", "install it", is_final=True)) as crew:
            pytest.fail(f"there is a crew: {crew}")
    assert caught.value.hint == "install it"


async def test_a_fault_of_the_worker_itself_ends_the_run_loudly(monkeypatch):
    def broken(*_arguments):
        raise KeyError("a fault of ours")

    monkeypatch.setattr("rollgrid.runner.remote_wire.pack_landing", broken)
    with pytest.raises(ExceptionGroup) as caught:
        await run_with_crew(make_plan(n_tasks=1, k=1), ListSink())
    assert "a fault of ours" in str(caught.value.exceptions[0])


async def test_an_outbox_keeps_the_newest_snapshot_and_every_result_until_it_is_acknowledged():
    outbox = Outbox()
    slot = Slot(0, 1, 1)
    for n in range(100):
        outbox.put_live(slot, str(n).encode())
    first: wire.Batch = pickle.loads(await outbox.batch(0))
    assert (first.news, first.live) == ([], [(slot, b"99")])
    outbox.put(wire.Happened("one"))
    outbox.put(wire.Happened("two"))
    again = [pickle.loads(await outbox.batch(0)) for _ in range(2)]
    assert [batch.news for batch in again] == [[wire.Happened("one"), wire.Happened("two")]] * 2
    outbox.put(wire.Happened("three"))
    rest: wire.Batch = pickle.loads(await outbox.batch(1))
    assert (rest.first, rest.news) == (2, [wire.Happened("two"), wire.Happened("three")])


async def test_a_batch_is_never_much_larger_than_its_limit(monkeypatch):
    monkeypatch.setattr(remote_outbox, "BATCH_BYTES", 1000)
    outbox = Outbox()
    for n in range(10):
        outbox.put(wire.Late(Slot(0, n, 1), 0.0, "", encode("x") + bytes(400)))
    ack, sizes = 0, []
    while ack < 10:
        batch: wire.Batch = pickle.loads(await outbox.batch(ack))
        ack = batch.first + len(batch.news) - 1
        sizes.append(len(batch.news))
    assert sizes == [2, 2, 2, 2, 2]
