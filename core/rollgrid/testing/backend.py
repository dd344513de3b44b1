"""Requests in, replies out: everything the server decides, apart from sockets and timers."""

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from rollgrid.testing import chat_api, responses_api
from rollgrid.testing.answers import Answers, Oracle
from rollgrid.testing.calls import Api, BadCall, Call, Turn, read_call
from rollgrid.testing.draft import Draft, Tokens, ToolUse, dumps, tokens_in
from rollgrid.testing.draws import unit
from rollgrid.testing.faults import (
    STATUSES,
    certain_fault,
    denied_body,
    draw_fault,
    error_body,
    error_of,
    is_faulty,
    retry_after,
    retry_after_denied,
)
from rollgrid.testing.http import Request
from rollgrid.testing.limits import Limits
from rollgrid.testing.shapes import instance
from rollgrid.testing.spec import Spec, SpecError, spec_of_request

JSON_TYPE = "application/json"
STREAM_TYPE = "text/event-stream; charset=utf-8"
Ending = Literal["whole", "cut", "drop", "hang"]

_ROUTES: dict[str, Api] = {"responses": "responses", "chat/completions": "chat"}
_REFUSAL = "I cannot help with that."
_THOUGHT = "Weighing what the question asks for before answering."
_MAX_CACHED = 4096


@dataclass(slots=True)
class Reply:
    """What goes back. With `events` it is a stream, `gap` seconds apart; `ending` says how it breaks off."""

    kind: str
    status: int = 200
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    events: list[bytes] | None = None
    gap: float = 0.0
    ending: Ending = "whole"


@dataclass(slots=True)
class Pending:
    """A reply that is to be made after `delay` seconds, and not at all when the client has gone by then."""

    delay: float
    make: Callable[[], Reply]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it came. `body` is the parsed JSON."""

    api: Api
    target: str
    headers: dict[str, str]
    body: dict[str, Any]


class _Lane:
    """What is counted for one spec. Specs do not disturb each other, so one server can serve many tests."""

    def __init__(self, spec: Spec, oracle: Oracle | None, now: float) -> None:
        self.spec = spec
        self.faulty = is_faulty(spec)
        self.answers = Answers(oracle)
        self.limits = Limits(spec.rpm, spec.tpm, now) if spec.rpm or spec.tpm else None
        self.requests = 0
        self.fault_draws = 0


class Backend:
    """The state of a server: specs, draws, counts. `clock` gives seconds and never goes back."""

    def __init__(self, spec: Spec, oracle: Oracle | None, record: int, clock: Callable[[], float]) -> None:
        self.spec = spec
        self.oracle = oracle
        self.clock = clock
        self.recorded: deque[Recorded] = deque(maxlen=record)
        self._record = record > 0
        self.connections = 0
        self.open_connections = 0
        self.in_flight = 0
        self.closed = False
        """New connections are cut at once."""
        self._clear()

    def _clear(self) -> None:
        self.requests = 0
        self.streamed = 0
        self.kinds: Counter[str] = Counter()
        self.routes: Counter[str] = Counter()
        self.max_in_flight = self.in_flight
        self.bytes_in = 0
        self.bytes_out = 0
        self.first_at: float | None = None
        self.last_at: float | None = None
        self._started = self.clock()
        self._cpu = time.process_time()
        self._lanes: dict[Spec, _Lane] = {}
        self._known: dict[tuple[str, str, str], _Lane] = {}
        self._turns: dict[str, Turn] = {}

    def reset(self) -> None:
        """As if just started; open connections and requests in flight stay."""
        self._clear()
        self.connections = self.open_connections
        self.recorded.clear()

    def stats(self) -> dict[str, Any]:
        """Counts since the start or the last reset. `first_at` and `last_at` are seconds of the epoch."""
        return {
            "requests": self.requests,
            "kinds": dict(self.kinds),
            "routes": dict(self.routes),
            "streamed": self.streamed,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "connections": self.connections,
            "open_connections": self.open_connections,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "first_at": self.first_at,
            "last_at": self.last_at,
            "uptime": self.clock() - self._started,
            "cpu_seconds": time.process_time() - self._cpu,
        }

    def handle(self, request: Request) -> Reply | Pending:
        path, _, query = request.target.partition("?")
        prefix, versioned, route = path.partition("/v1/")
        api = _ROUTES.get(route.rstrip("/")) if versioned else None
        if api is not None:
            if request.method != "POST":
                return _wrong_method("POST")
            return self._call(api, prefix, query, request)
        if versioned and (route == "models" or route.startswith("models/")):
            return self._models(prefix, query, route, request.method)
        if path == "/stats":
            return Reply("stats", body=orjson.dumps(self.stats())) if request.method == "GET" else _wrong_method("GET")
        if path == "/reset":
            if request.method != "POST":
                return _wrong_method("POST")
            self.reset()
            return Reply("reset", body=b"{}")
        return Reply("no route", 404, error_body(f"no such route: {request.method} {path}", code="unknown_url"))

    # -- the lane of a request

    def _lane(self, prefix: str, query: str, model: str) -> _Lane:
        key = (prefix, query, model)
        lane = self._known.get(key)
        if lane is None:
            spec = spec_of_request(self.spec, prefix, query, model)
            lane = self._lanes.get(spec)
            if lane is None:
                lane = self._lanes[spec] = _Lane(spec, self.oracle, self.clock())
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            self._known[key] = lane
        return lane

    def _is_out(self, spec: Spec) -> bool:
        return spec.outage is not None and spec.outage[0] <= self.clock() - self._started < spec.outage[1]

    # -- models

    def _models(self, prefix: str, query: str, route: str, method: str) -> Reply:
        if method not in ("GET", "HEAD"):
            return _wrong_method("GET, HEAD")
        name = route.partition("/")[2]
        try:
            spec = self._lane(prefix, query, name).spec
        except SpecError as error:
            return Reply("bad spec", 400, error_body(error.message, code="bad_spec"))
        fault = "outage" if self._is_out(spec) else certain_fault(spec)
        if fault is not None and not (fault == "e404" and not name):
            status, body = error_of(fault, name)
            return Reply(fault, status, body)
        model = {"id": name or "simulated", "object": "model", "created": 1_700_000_000, "owned_by": "rollgrid"}
        return Reply("models", body=dumps(model if name else {"object": "list", "data": [model]}))

    # -- answers

    def _turn(self, response_id: str) -> Turn:
        turn = self._turns.get(response_id)
        if turn is None:
            message = f"previous response with id '{response_id}' not found"
            raise BadCall(message, "previous_response_id", "previous_response_not_found")
        return turn

    def _remember(self, response_id: str, call: Call) -> None:
        if call.data.get("store") is False:
            return
        while len(self._turns) >= _MAX_CACHED:
            del self._turns[next(iter(self._turns))]
        self._turns[response_id] = call.turn()

    def _call(self, api: Api, prefix: str, query: str, request: Request) -> Reply | Pending:
        now = time.time()
        self.first_at = now if self.first_at is None else self.first_at
        self.last_at = now
        self.requests += 1
        self.routes[api] += 1
        self.bytes_in += len(request.body)
        try:
            call = read_call(api, request.body)
            if call.previous is not None:
                call.go_on_from(self._turn(call.previous))
            lane = self._lane(prefix, query, call.model)
        except BadCall as error:
            self.kinds["bad request"] += 1
            return Reply("bad request", 400, error_body(error.message, code=error.code, param=error.param))
        except SpecError as error:
            self.kinds["bad request"] += 1
            return Reply("bad spec", 400, error_body(error.message, code="bad_spec"))
        if self._record:
            self.recorded.append(Recorded(api, request.target, request.headers, call.data))
        if call.stream:
            self.streamed += 1
        lane.requests += 1
        spec, number = lane.spec, lane.requests
        delay = spec.lat + (spec.jitter * unit("jitter", spec.seed, number) if spec.jitter else 0.0)
        return Pending(delay / 1000, lambda: self._answer(call, lane, number))

    def _answer(self, call: Call, lane: _Lane, number: int) -> Reply:
        try:
            reply = self._reply(call, lane, number)
        except Exception as error:  # noqa: BLE001 - the user's answers raised; the client is told, or it would wait
            message = f"the answers of this server raised {type(error).__name__}: {error}"
            reply = Reply("answers raised", 500, error_body(message, "server_error"))
        reply.headers.append(("x-request-id", f"req_{self.requests:012x}"))
        if lane.limits is not None:
            reply.headers.extend(lane.limits.headers(self.clock()))
        return reply

    def _reply(self, call: Call, lane: _Lane, number: int) -> Reply:
        spec = lane.spec
        if self._is_out(spec):
            return Reply("outage", *error_of("outage"), headers=retry_after(spec.ra))
        if lane.limits is not None:
            denied = lane.limits.admit(tokens_in(call.size), self.clock())
            if denied is not None:
                headers = retry_after_denied(denied, spec.ra)
                return Reply("limit", 429, denied_body(denied), headers=headers)
        fault = None
        if lane.faulty:
            fault = draw_fault(spec, number, lane.fault_draws)
            lane.fault_draws += 1
        if fault == "cutstream" and not call.stream:
            fault = None
        if fault == "failed" and call.api == "chat" and not call.stream:
            return Reply("failed", *error_of("e500"))  # a completion has no status of its own to fail with
        if fault is not None and fault in STATUSES:
            headers = retry_after(spec.ra) if fault == "e429" else []
            return Reply(fault, *error_of(fault, call.model), headers=headers)
        if fault == "hang" or fault == "drop":
            return Reply(fault, ending=fault)
        draft = self._draft(call, lane, fault, number)
        if call.api == "responses":
            self._remember(f"resp_{draft.id}", call)
        if lane.limits is not None:
            lane.limits.spend(draft.tokens.output, self.clock())
        return _shaped(call, draft, fault, spec)

    def _draft(self, call: Call, lane: _Lane, fault: str | None, number: int) -> Draft:
        spec = lane.spec
        draft = Draft(
            id=f"{self.requests:08x}{number:06x}",
            model=call.model,
            created=int(time.time()),
            tokens=Tokens(tokens_in(call.size), 1),
            chunks=spec.chunks,
            wants_usage=call.wants_usage,
            thinking=_THOUGHT if spec.think else None,
        )
        if spec.tool and call.tool_results < spec.tool and (tool := call.tool()) is not None:
            arguments = dumps(instance({"type": "object", **tool[1]}, call.tool_results)).decode()
            draft.tool = ToolUse(tool[0], arguments)
        elif fault == "refusal":
            draft.refusal = _REFUSAL
        else:
            # A fault does not use up a draw of right or wrong: the request will be made again.
            draft.text = lane.answers.next(call, spec, count=fault is None)
            forced = call.forced()
            if forced is not None and draft.text.startswith("{"):
                draft.tool, draft.text = ToolUse(forced[0], draft.text), ""
        if fault in ("incomplete", "filter"):
            draft.outcome = fault
            draft.text = draft.text[: max(1, len(draft.text) // 2)]
        elif fault == "failed":
            draft.outcome = fault
        said = draft.tool.arguments if draft.tool else draft.refusal or draft.text
        draft.tokens.reasoning = tokens_in(len(_THOUGHT)) if spec.think else 0
        draft.tokens.output = tokens_in(len(said)) + draft.tokens.reasoning
        return draft


def _shaped(call: Call, draft: Draft, fault: str | None, spec: Spec) -> Reply:
    kind = fault or ("tool" if draft.tool else "ok")
    ending: Ending = "cut" if fault == "trunc" else "whole"
    if not call.stream:
        body = responses_api.body(draft, call.data) if call.api == "responses" else chat_api.body(draft)
        if fault == "malformed":
            body = body[: len(body) // 2] + b'{{"oops":'
        return Reply(kind, body=body, ending=ending)
    if call.api == "responses":
        events = responses_api.events(draft, call.data)
        ended = events[:-1]
    else:
        events = chat_api.events(draft)
        ended = chat_api.without_end(events)
    if fault == "cutstream":
        events = ended
    elif fault == "trunc":
        events = events[: max(1, len(events) // 2)]
    elif fault == "malformed":
        events = [*events[: len(events) // 2], b'data: {{"oops":\n\n', *events[len(events) // 2 :]]
    return Reply(kind, content_type=STREAM_TYPE, events=events, gap=spec.slow / 1000, ending=ending)


def _wrong_method(allowed: str) -> Reply:
    return Reply("wrong method", 405, error_body(f"this route takes {allowed}"), headers=[("Allow", allowed)])
