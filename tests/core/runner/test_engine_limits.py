"""The engine between its limits: budgets, rate limits, a log that is slow to write, functions that never return."""

import asyncio
import threading
import time

from rollgrid.environments.attempt import StopReason
from rollgrid.errors import ModelError
from rollgrid.models.base import ModelReply, ModelRequest, Usage
from rollgrid.models.pricing import GivenPrice
from rollgrid.models.traffic import respond
from rollgrid.runner.budget import Budget, Limits
from rollgrid.scorer.code import CodeScorer
from rollgrid.store.events import (
    AttemptEnded,
    AttemptPhase,
    AttemptStarted,
    ConcurrencyChanged,
    EndpointPaused,
    Notice,
    RunStateChanged,
    StormCalled,
)
from rollgrid.threads import in_thread
from support.models import ScriptedModel
from support.runs import ListSink, make_engine, make_plan

MODEL = ScriptedModel("ok")


class Endpoint(ScriptedModel):
    """Answers as `serve` says, which gets the number of the call and the number of calls under way."""

    def __init__(self, serve):
        super().__init__("ok", id="m")
        self.serve = serve
        self.calls = self.under_way = self.most = 0

    async def respond(self, request, on_text=None):
        self.calls += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            return await self.serve(self.calls, request)
        finally:
            self.under_way -= 1


async def answer(n, request):
    await asyncio.sleep(0.002)
    return ModelReply(text="ok", usage=Usage(100, 10))


def asks(model, times=1):
    async def behave(prompt, context):
        for _ in range(times):
            await respond(model, ModelRequest([]))
        return "ok"

    return behave


def plan_of(model, **changes):
    return make_plan(asks(model), **{"endpoint": model.endpoint, "model_id": model.id, **changes})


async def test_a_budget_lets_what_is_in_flight_finish_and_starts_nothing_more():
    sink, model = ListSink(), Endpoint(answer)
    engine, results = make_engine(
        plan_of(model, n_tasks=10, k=10), sink, concurrency=3, budget=Budget(Limits(max_tokens=1000))
    )
    await engine.run()
    assert engine.steering.stopped_early == "budget"
    assert len(results) == 9
    assert all(result.passed for result in results.values())
    assert engine.budget.spent.tokens == 990
    reason = [event.reason for event in sink.of(RunStateChanged)][-1]
    assert reason == "budget, tokens: 990 of 1,000 are used"


async def test_a_budget_in_money_counts_what_each_call_costs():
    model = Endpoint(answer)
    plan = plan_of(model, n_tasks=10, k=10, prices=GivenPrice(1000.0, 0.0))
    sink = ListSink()
    engine, results = make_engine(plan, sink, concurrency=2, budget=Budget(Limits(max_cost=0.75)))
    await engine.run()
    assert len(results) == 7
    assert {event.cost for event in sink.of(AttemptEnded)} == {0.1}


async def test_the_calls_of_a_scorer_are_paid_for_too():
    judge = Endpoint(answer)

    class Judge:
        async def ascore(self, run, expected):
            from rollgrid.scorer.base import Score

            await respond(judge, ModelRequest([]))
            return Score(1.0, True)

        def digest(self):
            return "judge"

    sink = ListSink()
    plan = plan_of(Endpoint(answer), n_tasks=1, k=1, scorer=Judge(), prices=GivenPrice(1000.0, 0.0))
    engine, _ = make_engine(plan, sink)
    await engine.run()
    [ended] = sink.of(AttemptEnded)
    assert (ended.input_tokens, ended.cost) == (100, 0.1)
    assert (ended.scorer_input_tokens, ended.scorer_output_tokens, ended.scorer_cost) == (100, 10, 0.1)
    assert engine.budget.spent.tokens == 220


async def test_a_call_of_unknown_price_makes_the_whole_cost_unknown():
    class HalfKnown:
        def cost(self, model, reply):
            return None if model is MODEL else 0.5

        async def ready(self):
            pass

    async def behave(prompt, context):
        await respond(Endpoint(answer), ModelRequest([]))
        await respond(MODEL, ModelRequest([]))
        return "ok"

    sink = ListSink()
    engine, _ = make_engine(make_plan(behave, n_tasks=1, k=1, prices=HalfKnown()), sink)
    await engine.run()
    assert sink.of(AttemptEnded)[0].cost is None


async def test_time_is_a_budget_too():
    engine, results = make_engine(
        plan_of(Endpoint(answer), n_tasks=10, k=100), ListSink(), concurrency=2, budget=Budget(Limits(max_seconds=0.1))
    )
    await engine.run()
    assert engine.steering.stopped_early == "budget"
    assert 0 < len(results) < 1000


async def test_a_pause_that_the_server_asks_for_holds_for_every_attempt():
    async def serve(n, request):
        if n == 1:
            raise ModelError("slow down", kind="rate_limit", status=429, retryable=True, retry_after=0.2)
        return await answer(n, request)

    sink, model = ListSink(), Endpoint(serve)
    times = []

    async def behave(prompt, context):
        await respond(model, ModelRequest([]))
        times.append(time.monotonic())
        return "ok"

    plan = make_plan(behave, n_tasks=20, k=1, endpoint=model.endpoint, model_id=model.id)
    engine, results = make_engine(plan, sink, concurrency=1)
    began = time.monotonic()
    await engine.run()
    assert len(results) == 20
    # Nothing was sent before the pause was over, so every other answer came after it.
    assert min(times) - began >= 0.2
    [pause] = sink.of(EndpointPaused)
    assert (pause.endpoint, pause.seconds, pause.reason) == ("scripted", 0.2, "429")


async def test_no_attempt_starts_while_its_endpoint_has_nothing_left():
    async def serve(n, request):
        left = {"x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": str(max(0, 5 - n))}
        request.on_headers({**left, "x-ratelimit-reset-requests": "60s"})
        return await answer(n, request)

    sink, model = ListSink(), Endpoint(serve)
    engine, results = make_engine(plan_of(model, n_tasks=30, k=1), sink, concurrency=2)
    run = asyncio.create_task(engine.run())
    async with asyncio.timeout(10):
        while not engine.holding:  # noqa: ASYNC110 - the engine has no event for it
            await asyncio.sleep(0.01)
    assert engine.holding.startswith("rate limit, next call in ")
    assert len(sink.of(AttemptStarted)) == model.calls <= 6
    engine.steering.stop("interrupted")
    await run
    assert engine.steering.stopped_early == "interrupted"
    assert len(results) == model.calls


async def test_an_attempt_that_waits_for_its_turn_says_so():
    async def serve(n, request):
        if n == 1:
            raise ModelError("slow down", kind="rate_limit", status=429, retryable=True, retry_after=1.0)
        return await answer(n, request)

    sink, model = ListSink(), Endpoint(serve)

    async def behave(prompt, context):
        try:
            return (await respond(model, ModelRequest([]))).text
        except ModelError:
            return (await respond(model, ModelRequest([]))).text

    engine, _ = make_engine(make_plan(behave, n_tasks=1, k=1, endpoint=model.endpoint, model_id="m"), sink)
    await engine.run()
    waiting = [event.detail for event in sink.of(AttemptPhase) if event.phase == "waiting"]
    assert waiting == ["rate limit, the server asks for a pause of 1 s"]


async def test_auto_finds_the_limit_of_an_endpoint_that_refuses_more_than_it_bears():
    bears = 12

    async def serve(n, request):
        if model.under_way > bears:
            raise ModelError("overloaded", kind="server", status=503, retryable=True)
        await asyncio.sleep(0.01)
        return ModelReply(text="ok", usage=Usage(1, 1))

    model, refused = Endpoint(serve), 0

    async def behave(prompt, context):
        nonlocal refused
        while True:
            try:
                return (await respond(model, ModelRequest([]))).text
            except ModelError:
                refused += 1

    sink = ListSink()
    plan = make_plan(behave, n_tasks=100, k=4, endpoint=model.endpoint, model_id="m")
    engine, results = make_engine(plan, sink, concurrency=4, adaptive=True)
    await engine.run()
    assert len(results) == 400
    limits = [event.limit for event in sink.of(ConcurrencyChanged)]
    assert limits[:3] == [4, 8, 16]
    assert all(event.reason.startswith("auto: ") and event.author is None for event in sink.of(ConcurrencyChanged))
    # It stays near what the endpoint bears, and a refusal is rare.
    assert max(limits) <= 16
    assert refused < 60


async def test_a_number_that_somebody_gives_ends_auto_and_auto_can_be_asked_for_again():
    sink = ListSink()
    engine, _ = make_engine(make_plan(), sink, concurrency=4, adaptive=True)
    assert engine.steering.set_concurrency(7, "ada", "asked for") is None
    assert (engine.concurrency, engine.is_adaptive) == (7, False)
    assert engine.steering.set_concurrency("auto", "ada", "asked for") is None
    assert (engine.concurrency, engine.is_adaptive) == (4, True)
    assert engine.steering.set_concurrency("fast", "ada", "asked for") == "the concurrency is a number or `auto`"


class SlowSink(ListSink):
    """A log that says nothing is saved until it is told to."""

    def __init__(self):
        super().__init__()
        self.waiting = []

    def when_saved(self, callback):
        self.waiting.append(callback)

    def save(self):
        while self.waiting:
            self.waiting.pop(0)()


async def test_an_attempt_holds_its_place_until_its_end_is_saved():
    sink = SlowSink()
    engine, results = make_engine(make_plan(n_tasks=5, k=4), sink, concurrency=3)
    run = asyncio.create_task(engine.run())
    await asyncio.sleep(0.1)
    assert len(results) == 3
    while not run.done():
        sink.save()
        await asyncio.sleep(0.001)
    assert len(results) == 20


async def test_a_scorer_that_never_returns_gives_its_slot_back_and_is_reported(monkeypatch):
    monkeypatch.setattr("rollgrid.runner.leftovers.GRACE_SECONDS", 0.05)
    never = threading.Event()

    def hangs(run, expected):
        never.wait()

    sink = ListSink()
    engine, results = make_engine(
        make_plan(n_tasks=2, k=1, scorer=CodeScorer(hangs), timeout_seconds=0.2), sink, concurrency=1
    )
    await engine.run()
    never.set()
    assert {result.limit for result in results.values()} == {"timeout_seconds:scoring"}
    assert [notice.text for notice in sink.of(Notice)] == [
        "scorer hangs of attempt 1 of task0 ignores its time limit and still runs in a thread",
        "scorer hangs of attempt 1 of task1 ignores its time limit and still runs in a thread",
    ]


async def test_a_tool_that_never_returns_ends_with_its_attempt():
    never = threading.Event()

    async def behave(prompt, context):
        await in_thread("tool search", never.wait)
        return "ok"

    sink = ListSink()
    engine, results = make_engine(make_plan(behave, n_tasks=3, k=1, timeout_seconds=0.2), sink, concurrency=3)
    await engine.run()
    never.set()
    assert {result.stop_reason for result in results.values()} == {StopReason.timeout}
    assert len(sink.of(Notice)) == 3


async def test_a_scorer_that_spins_the_processor_does_not_stop_the_clocks_of_others():
    stop = False

    def spins(run, expected):
        while not stop:
            pass
        return True

    async def behave(prompt, context):
        await asyncio.sleep(0.01)
        return "ok"

    sink = ListSink()
    plan = make_plan(behave, n_tasks=4, k=2, scorer=CodeScorer(spins), timeout_seconds=0.5)
    engine, results = make_engine(plan, sink, concurrency=8)
    await engine.run()
    stop = True
    assert len(results) == 8
    assert {result.limit for result in results.values()} == {"timeout_seconds:scoring"}


async def test_scorers_that_all_hang_are_a_storm():
    never = threading.Event()

    def hangs(run, expected):
        never.wait()

    sink = ListSink()
    plan = make_plan(n_tasks=10, k=4, scorer=CodeScorer(hangs), timeout_seconds=0.1)
    engine, results = make_engine(plan, sink, concurrency=4)
    await engine.run()
    never.set()
    assert engine.steering.stopped_early == "error-storm"
    assert len(results) <= 8
    [storm] = sink.of(StormCalled)
    assert storm.sample == "no score from the scorer before the attempt's time was up"
