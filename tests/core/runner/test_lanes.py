"""Who may call an endpoint, and when. Waits are real, of hundredths of seconds; what is asserted is order."""

import asyncio

import pytest

from rollgrid.errors import ModelError
from rollgrid.models.base import ModelReply, Usage
from rollgrid.runner.lanes import Lane, LaneListener, Lanes
from support.models import ScriptedModel


class Told:
    """Keeps what a lane tells."""

    def __init__(self):
        self.pauses = []
        self.limits = []
        self.rooms = 0
        self.listener = LaneListener(
            on_pause=lambda endpoint, seconds, reason: self.pauses.append((endpoint, seconds, reason)),
            on_limit=lambda endpoint, limit, reason: self.limits.append((limit, reason)),
            on_room=self.on_room,
        )

    def on_room(self):
        self.rooms += 1


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def lane(told):
    return Lane("http://here", told.listener)


def refusal(retry_after=0.05, status=429):
    return ModelError("slow down", kind="rate_limit", status=status, retryable=True, retry_after=retry_after)


def reply(tokens=100):
    return ModelReply(usage=Usage(tokens, 0))


async def enter(lane, waits=None, model="m"):
    return await lane.enter(model, (waits if waits is not None else []).append)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_without_any_trouble_every_call_passes_at_once(lane):
    waits = []
    for _ in range(100):
        await enter(lane, waits)
    assert lane.in_flight == 100
    assert waits == []


async def test_while_a_retry_after_stands_no_other_call_goes_out(lane, told):
    first, second = await enter(lane), await enter(lane)
    lane.left(first, refusal())
    waits = []
    third = asyncio.create_task(enter(lane, waits))
    await settle()
    assert not third.done()
    assert waits[0].startswith("rate limit, the server asks for a pause")
    lane.left(second, reply())
    await settle()
    assert not third.done()
    await third
    assert told.pauses == [("http://here", 0.05, "429")]


async def test_after_a_pause_one_call_goes_first_and_each_answer_lets_two_more_pass(lane):
    lane.left(await enter(lane), refusal(0.02))
    calls = [asyncio.create_task(enter(lane)) for _ in range(7)]
    done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    await settle()
    assert sum(call.done() for call in calls) == 1
    lane.left(done.pop().result(), reply())
    await settle()
    assert sum(call.done() for call in calls) == 3
    for call in calls[1:3]:
        lane.left(call.result(), reply())
    await settle()
    assert sum(call.done() for call in calls) == 7


async def test_an_answer_that_begins_to_stream_lets_others_pass_before_it_ends(lane):
    lane.left(await enter(lane), refusal(0.02))
    calls = [asyncio.create_task(enter(lane)) for _ in range(3)]
    done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    lane.told(done.pop().result(), {})
    await settle()
    assert sum(call.done() for call in calls) == 2


async def test_a_refusal_without_a_wish_pauses_nothing(lane, told):
    lane.left(await enter(lane), refusal(retry_after=None))
    await enter(lane)
    assert told.pauses == []


async def test_what_failed_for_good_pauses_nothing(lane, told):
    error = ModelError("no quota", kind="quota", status=429, retryable=False, retry_after=30)
    lane.left(await enter(lane), error)
    await enter(lane)
    assert told.pauses == []


async def test_calls_pass_in_the_order_in_which_they_came(lane):
    lane.left(await enter(lane), refusal(0.02))
    order = []

    async def call(n):
        sent = await enter(lane)
        order.append(n)
        lane.left(sent, reply())

    async with asyncio.TaskGroup() as group:
        for n in range(10):
            group.create_task(call(n))
    assert order == list(range(10))


async def test_a_call_that_is_cancelled_while_it_waits_leaves_no_trace(lane):
    lane.left(await enter(lane), refusal(0.02))
    calls = [asyncio.create_task(enter(lane)) for _ in range(3)]
    await settle()
    calls[0].cancel()
    await asyncio.wait(calls[:1])
    await calls[1]
    assert (lane.in_flight, lane.n_waiting) == (1, 1)
    calls[2].cancel()
    await asyncio.wait(calls[2:])
    assert lane.n_waiting == 0


async def test_a_call_that_is_cancelled_in_the_moment_of_its_turn_gives_it_back(lane):
    lanes_first = await enter(lane)
    lane.left(lanes_first, refusal(0.02))
    call = asyncio.create_task(enter(lane))
    await settle()
    lane.paused_until = 0.0
    lane._let_pass()
    call.cancel()
    await asyncio.wait([call])
    assert lane.in_flight == 0


async def test_a_limit_that_is_used_up_holds_calls_back_until_there_is_more(lane):
    sent = await enter(lane)
    # 50 requests a second, none left.
    lane.told(
        sent,
        {
            "x-ratelimit-limit-requests": "50",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "1s",
        },
    )
    lane.left(sent, reply())
    assert not lane.has_room("m")
    assert lane.has_room("another")
    waits = []
    await enter(lane, waits)
    assert waits == ["rate limit, next call in 0 s"]


async def test_somebody_who_found_no_room_is_told_when_there_is_some(lane, told):
    lane.left(await enter(lane), refusal(0.02))
    before = told.rooms
    assert not lane.has_room("m")
    async with asyncio.timeout(5):
        while told.rooms == before:  # noqa: ASYNC110 - a timer of the lane
            await asyncio.sleep(0.005)
    assert lane.has_room("m")


async def test_attempts_that_have_started_take_up_room_before_they_call(lane):
    lane.left(await enter(lane), refusal(0.0))
    sent = await enter(lane)
    lane.told(sent, {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "3"})
    assert lane.has_room("m")
    lane.expected = 2
    assert not lane.has_room("m")


async def test_adaptive_lanes_hold_calls_to_their_limit_and_tell_of_its_changes(told):
    lanes = Lanes(told.listener)
    lanes.adapt(True)
    lane = lanes.of(ScriptedModel("x"))
    assert lane is lanes.at("scripted")
    lane.backlog = True
    calls = [asyncio.create_task(enter(lane)) for _ in range(6)]
    await settle()
    assert lane.in_flight == 4
    for call in calls[:4]:
        lane.left(call.result(), reply())
    await settle()
    assert told.limits == [(8, "no sign of congestion")]
    lane.left(calls[4].result(), refusal(0.01))
    assert told.limits[-1] == (4, "429")


async def test_each_endpoint_has_a_lane_of_its_own(told):
    lanes = Lanes(told.listener)
    one, other = lanes.at("http://one"), lanes.at("http://other")
    one.left(await enter(one), refusal(10))
    await enter(other)
    assert other.in_flight == 1
    assert not one.has_room("m")
    lanes.close()


async def test_a_client_of_ones_own_is_judged_by_whole_attempts(told):
    lanes = Lanes(told.listener)
    lanes.adapt(True)
    lane = lanes.at("")
    lane.backlog = True
    for _ in range(4):
        lane.observed(asyncio.get_running_loop().time(), None, well=True)
    assert told.limits == [(8, "no sign of congestion")]
    lane.observed(float("inf"), 429, well=False)
    assert told.limits[-1] == (4, "429")


async def test_after_a_pause_about_as_many_go_out_as_the_server_let_pass_before(lane):
    under_way = [await enter(lane) for _ in range(20)]
    lane.left(under_way[0], refusal(0.02))
    for sent in under_way[1:11]:
        lane.left(sent, reply())
    for sent in under_way[11:]:
        lane.left(sent, refusal(0.02))
    calls = [asyncio.create_task(enter(lane)) for _ in range(30)]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    await settle()
    assert sum(call.done() for call in calls) == 15
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
