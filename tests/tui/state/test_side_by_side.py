"""Two attempts beside each other: steps, alignment, words."""

from rollgrid_tui.state.side_by_side import (
    MOST_CHARACTERS,
    MOST_STEPS,
    MOST_WORDS,
    WORD_BUDGET,
    Span,
    Step,
    by_index,
    by_outcome,
    compare_steps,
    outcome_text,
    steps_of,
)
from support.fake_log import transcript


def text_of(spans):
    return "".join(span.text for span in spans)


def changed(spans):
    return [span.text for span in spans if span.differs]


def test_an_attempt_is_its_messages_calls_and_results_and_what_it_came_to():
    steps = steps_of(transcript(), "passed 1.00")
    assert [step.title for step in steps] == [
        "system",
        "user",
        "tool call multiply",
        "tool result multiply",
        "assistant",
        "outcome",
    ]
    assert steps[3].text == "391"


def test_how_long_a_tool_took_is_no_difference():
    slow = transcript()
    slow["tools"][0]["duration"] = 9.0
    assert compare_steps(steps_of(transcript(), "x"), steps_of(slow, "x")).first_difference is None


def test_the_words_that_differ_are_marked_and_no_others():
    sides = compare_steps([Step("assistant", "17 x 23 = 389")], [Step("assistant", "17 x 23 = 391")])
    assert changed(sides.pairs[0].left) == ["389"]
    assert changed(sides.pairs[0].right) == ["391"]
    assert text_of(sides.pairs[0].left) == "17 x 23 = 389"
    assert sides.first_difference == 0


def test_a_step_of_one_side_only_differs_and_later_steps_are_aligned_again():
    one = [Step("user", "a"), Step("tool call x", "{}"), Step("assistant", "b")]
    sides = compare_steps(one, [one[0], one[2]])
    assert [pair.differs for pair in sides.pairs] == [False, True, False]
    assert sides.pairs[1].right == ()
    assert sides.first_difference == 1


def test_texts_are_clean_before_they_are_compared():
    sides = compare_steps([Step("a", "x \x1b[2J\u202e")], [Step("a", "x")])
    assert text_of(sides.pairs[0].left) == r"x \x1b[2J\u202e"


def test_long_texts_many_steps_and_many_words_are_bounded():
    long = "word " * (MOST_WORDS + 1)
    (pair,) = compare_steps([Step("a", long)], [Step("a", long + "x")]).pairs
    assert pair.differs
    assert pair.left == (Span(long, False),)
    huge = compare_steps([Step("a", "x" * (MOST_CHARACTERS + 7))], [Step("a", "")]).pairs[0]
    assert text_of(huge.left).endswith("... and 7 more characters")
    many = compare_steps([Step("a", str(n)) for n in range(MOST_STEPS + 5)], [])
    assert len(many.pairs) == MOST_STEPS
    assert many.left_out == 5
    assert text_of(many.pairs[-1].left) == str(MOST_STEPS + 4)


def test_words_compared_in_all_are_bounded():
    words = "a b " * 300
    left = [Step("s", f"{words}{n}") for n in range(60)]
    right = [Step("s", f"{words}x{n}") for n in range(60)]
    sides = compare_steps(left, right)
    marked = sum(bool(changed(pair.left)) for pair in sides.pairs)
    assert 0 < marked <= WORD_BUDGET // 600
    assert all(pair.differs for pair in sides.pairs)


def test_attempts_stand_by_number_or_what_was_lost_comes_first():
    assert by_index(1, 3) == [(1, 1), (None, 2), (None, 3)]
    assert by_outcome([False, True], [True, None, False]) == [(2, 3), (1, 1), (None, 2)]


def test_an_outcome_says_score_and_reason_or_why_there_is_none():
    words = {"passed": None, "value": None, "reason": None, "error": None, "stop_reason": None}
    assert outcome_text(**{**words, "passed": False, "value": 0.4, "reason": "2 of 5"}) == "failed 0.40\n2 of 5"
    assert outcome_text(**{**words, "stop_reason": "error", "error": "HTTP 500"}) == "error, unscored\nHTTP 500"
