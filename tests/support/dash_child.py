"""A child process that shows the dashboard on a log in memory, in whatever terminal it is given.

`python -m support.dash_child CASE`: `finished` is a run at rest, `running` one that a runner holds, `hostile` one whose
every field attacks the terminal, `empty` a log without runs.
"""

import os
import sys

os.environ["TEXTUAL_ANIMATIONS"] = "none"

from rollgrid_tui.dashboard import Dashboard
from rollgrid_tui.glyphs import wants_ascii
from rollgrid_tui.keymap import Keymap
from rollgrid_tui.theme import choose
from support.dash import make_feed
from support.fake_log import FakeLog, attempt_row, run_row, task_row, transcript

PAYLOAD = "\x1b]52;c;ZXZpbA==\x07\x1b[6n\x1b]0;owned\x1b\\\x9b31m\u202e\u2066\u200b\x00\ud800[b][/INST]"
"""Sets the clipboard, asks for a reply, renames the window, reverses text: none of it may reach a terminal."""


def hostile_log() -> FakeLog:
    """`PAYLOAD` in every field of every row that is shown."""
    tasks = [task_row(i, f"{PAYLOAD}{i}", **{PAYLOAD: PAYLOAD}) for i in range(4)]
    rows = [
        attempt_row(0, 1, "fail", reason=PAYLOAD),
        attempt_row(0, 2, "error", error=PAYLOAD, error_type=PAYLOAD),
        attempt_row(0, 3, "retrying", detail=PAYLOAD),
    ]
    body = transcript(
        PAYLOAD,
        messages=[
            {"role": PAYLOAD, "content": PAYLOAD},
            {
                "role": "assistant",
                "content": PAYLOAD,
                "tool_calls": [{"id": "1", "name": PAYLOAD, "arguments": PAYLOAD}],
            },
            {"role": "tool", "content": PAYLOAD, "name": PAYLOAD, "tool_call_id": "1", "tool_call_error": True},
        ],
        score={"value": 0.0, "passed": False, "reason": PAYLOAD, "detail": {PAYLOAD: PAYLOAD}},
        model=PAYLOAD,
        problem=PAYLOAD,
        problem_detail=PAYLOAD,
        reasoning=PAYLOAD,
    )
    run = run_row(
        n_tasks=4, env_name=PAYLOAD, model=PAYLOAD, author=PAYLOAD, storm=PAYLOAD, stopped_early=PAYLOAD, state="paused"
    )
    return FakeLog([run], tasks, rows, {(0, 1): body, (0, 2): body})


def log_for(case: str) -> FakeLog:
    tasks = [task_row(i) for i in range(3)]
    rows = [attempt_row(i, n, "pass" if n % 2 else "fail") for i in range(3) for n in range(1, 5)]
    bodies = {(i, n): transcript() for i in range(3) for n in range(1, 5)}
    match case:
        case "hostile":
            return hostile_log()
        case "empty":
            return FakeLog()
        case "running":
            return FakeLog([run_row()], tasks, rows, bodies)
        case _:
            return FakeLog([run_row(state="finished", alive=False, ended_at=1_700_000_000.0)], tasks, rows, bodies)


def main(case: str) -> None:
    log = log_for(case)
    app = Dashboard(
        make_feed(log),
        keymap=Keymap(),
        theme_name=choose("auto", os.environ),
        ascii=wants_ascii(os.environ),
        run_id="r4k9tz" if log.run_rows else None,
    )
    app.run()
    if app.failure is not None:
        raise app.failure


if __name__ == "__main__":
    main(sys.argv[1])
