"""A transcript as blocks."""

import pytest

from rollgrid_tui.state.attempt_view import Kind, attempt_blocks, outcome, pane_blocks
from support.fake_log import attempt_row, transcript


def sections(blocks):
    """Headings with the text below each."""
    found = []
    for block in blocks:
        if block.kind is Kind.heading:
            found.append((block.text, block.note, []))
        elif block.kind is not Kind.gap:
            found[-1][2].append(block.text)
    return found


def titles(blocks):
    return [title for title, _, _ in sections(blocks)]


def test_an_attempt_is_told_in_the_order_in_which_things_happened():
    blocks = attempt_blocks(attempt_row(0, 1, "fail"), transcript(), expected=391)
    assert titles(blocks) == [
        "system",
        "user",
        "tool call",
        "tool result",
        "assistant",
        "score",
        "expected",
        "figures",
    ]


def test_a_tool_call_shows_its_name_arguments_result_and_time():
    found = sections(attempt_blocks(attempt_row(0, 1), transcript()))
    call = next(section for section in found if section[0] == "tool call")
    assert call[1:] == ("multiply", ['{\n  "a": 17,\n  "b": 23\n}'])
    assert ("tool result", "multiply  10ms", ["391"]) in found


def test_a_tool_error_is_told_apart():
    body = transcript()
    body["tools"][0]["tool_call_error"] = True
    body["messages"][3]["content"] = "division by zero"
    blocks = attempt_blocks(attempt_row(0, 1), body)
    assert ("tool error", "multiply  10ms", ["division by zero"]) in sections(blocks)
    assert any(block.kind is Kind.bad and block.text == "division by zero" for block in blocks)


def test_calls_of_the_chat_format_are_read_too():
    call = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "not json"}}
    body = transcript(messages=[{"role": "assistant", "content": None, "tool_calls": [call]}], tools=[])
    assert ("tool call", "lookup", ["not json"]) in sections(attempt_blocks(attempt_row(0, 1), body))


def test_executions_that_no_message_tells_of_are_shown():
    body = transcript(messages=[{"role": "user", "content": "hi"}])
    assert titles(attempt_blocks(attempt_row(0, 1), body))[:3] == ["user", "tool call", "tool result"]


def test_a_paused_execution_says_that_it_was_not_carried_out():
    body = transcript(messages=[], tools=[{"tool_name": "pay", "tool_args": {}, "is_paused": True}])
    text = [block.text for block in attempt_blocks(attempt_row(0, 1), body)]
    assert "paused: it was not carried out" in text


def test_reasoning_is_shown_once_before_the_answer():
    body = transcript(reasoning="17 x 20 is 340")
    assert titles(attempt_blocks(attempt_row(0, 1), body)).count("reasoning") == 1
    body["messages"][-1]["reasoning"] = "17 x 20 is 340"
    found = titles(attempt_blocks(attempt_row(0, 1), body))
    assert found.count("reasoning") == 1
    assert found.index("reasoning") == found.index("assistant") - 1


def test_the_text_that_had_arrived_when_an_attempt_was_cut_off_is_kept():
    body = transcript(
        partial_text="Let me mul", messages=[{"role": "user", "content": "17 x 23?"}], tools=[], score=None
    )
    found = sections(attempt_blocks(attempt_row(0, 1, "timeout"), body))
    assert ("assistant", "not finished", ["Let me mul"]) in found
    assert ("error", "", ["no answer within 120 s"]) in found


def test_an_error_shows_its_type_and_status():
    found = sections(attempt_blocks(attempt_row(0, 1, "error", status=500), None))
    assert ("error", "InternalServerError  HTTP 500", ["HTTP 500: oops"]) in found


def test_an_answer_that_is_none_says_why():
    body = transcript(problem="refusal", problem_detail="I cannot help with that", content=None)
    assert ("answer", "", ["refusal: I cannot help with that"]) in sections(attempt_blocks(attempt_row(0, 1), body))


def test_a_superseded_attempt_says_why_it_does_not_count():
    text = [block.text for block in attempt_blocks(attempt_row(0, 1, "superseded"), None)]
    assert "it failed in an error storm and is run again; it does not count" in text


def test_an_attempt_that_has_not_begun_shows_its_prompt_and_what_is_expected():
    found = sections(attempt_blocks(None, None, prompt="What is 17 x 23?", expected=391))
    assert found == [("user", "", ["What is 17 x 23?"]), ("expected", "", ["391"])]


def test_the_pane_begins_with_the_verdict_and_leaves_the_system_prompt_out():
    found = titles(pane_blocks(attempt_row(0, 1, "fail"), transcript()))
    assert found[0] == "score"
    assert "system" not in found


def test_a_running_attempt_says_what_it_is_doing():
    text = " ".join(
        block.text for block in attempt_blocks(attempt_row(0, 1, "running"), transcript(score=None), live=True)
    )
    assert "waiting for the model" in text
    lost = " ".join(block.text for block in attempt_blocks(attempt_row(0, 1, "running"), None, live=False))
    assert "lost" in lost


def test_values_of_any_shape_are_shown():
    body = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, {"content": None}, "nonsense", 7],
        "tools": None,
        "metrics": "none",
        "score": {"value": 0.5, "passed": True, "reason": ["a"], "detail": {"raw_score": 7}},
    }
    text = " ".join(block.text for block in attempt_blocks(attempt_row(0, 1), body))
    assert '"text": "hi"' in text
    assert "raw_score" in text


def test_an_empty_transcript_is_no_fault():
    assert titles(attempt_blocks(attempt_row(0, 1), {})) == ["score", "figures"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"detail": "3/5, HTTP 429: slow down", "retry_at": 112.0, "status": 429}, "retrying in 12 s (3/5, 429)"),
        ({"detail": "1/5, connection failed", "retry_at": 99.0}, "retrying in 0 s (1/5, connection failed)"),
        ({"detail": "HTTP 429, again in 2 s"}, "retrying: HTTP 429, again in 2 s"),
        ({"phase": "waiting", "detail": "rate limit, next call in 3 s"}, "held back: rate limit, next call in 3 s"),
    ],
)
def test_a_take_that_waits_says_what_for_and_how_long(changes, words):
    assert outcome(attempt_row(0, 1, "retrying", **changes), live=True, now=100.0) == words
