"""Two attempts beside each other, step by step, with the words that differ.

Everything is bounded: how many steps, how long a text, how many words are compared. What lies beyond is shown without
marks, or counted. Texts are cleaned here, so what comes out may be drawn.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from rollgrid.text import clean_block, clean_line
from rollgrid_tui.state.attempt_view import Kind, conversation

MOST_STEPS = 300
MOST_CHARACTERS = 20_000
"""Of one step's text."""

MOST_WORDS = 1_500
"""Of a step on each side; longer ones are shown whole, without marks."""

WORD_BUDGET = 12_000
"""Words compared in all, so that two long transcripts are compared in well under a second."""

WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class Step(NamedTuple):
    """A message, a tool call, a result, or the outcome. `title` is equal for steps of one kind."""

    title: str
    text: str


class Span(NamedTuple):
    text: str
    differs: bool


class Pair(NamedTuple):
    """What happened at one step on each side; a side where nothing did has no spans. `differs` in any way."""

    title: str
    left: tuple[Span, ...]
    right: tuple[Span, ...]
    differs: bool


class Sides(NamedTuple):
    pairs: tuple[Pair, ...]
    left_out: int
    """Steps of the longer side beyond those that are compared."""

    @property
    def first_difference(self) -> int | None:
        return next((place for place, pair in enumerate(self.pairs) if pair.differs), None)


def steps_of(transcript: Mapping[str, Any] | None, outcome: str) -> list[Step]:
    """An attempt as its steps; the last is what it came to."""
    steps: list[Step] = []
    texts: list[str] = []
    title = ""
    for block in conversation(transcript):
        if block.kind is Kind.heading:
            # Behind the name of a tool stands how long it took, which always differs.
            title, texts = clean_line(f"{block.text} {block.note.partition('  ')[0]}".strip(), 80), []
        elif block.kind is Kind.gap:
            steps.append(Step(title, "\n".join(texts)))
        else:
            texts.append(block.text)
    return [*steps, Step("outcome", outcome)]


def outcome_text(
    *, passed: bool | None, value: float | None, reason: str | None, error: str | None, stop_reason: str | None
) -> str:
    if passed is not None:
        figure = f" {value:.2f}" if value is not None else ""
        return f"{'passed' if passed else 'failed'}{figure}" + (f"\n{reason}" if reason else "")
    return f"{stop_reason or 'not ended'}, unscored" + (f"\n{error}" if error else "")


def compare_steps(left: Sequence[Step], right: Sequence[Step]) -> Sides:
    """The steps of two attempts, aligned so that steps of one kind stand beside each other."""
    left_out = max(0, max(len(left), len(right)) - MOST_STEPS)
    one, other = _bounded(left), _bounded(right)
    budget = WORD_BUDGET
    pairs: list[Pair] = []
    for a, b in _aligned(one, other):
        pair, used = _pair(a, b, budget)
        budget -= used
        pairs.append(pair)
    return Sides(tuple(pairs), left_out)


def _bounded(steps: Sequence[Step]) -> list[Step]:
    # The outcome, which is last, always stays.
    kept = steps if len(steps) <= MOST_STEPS else [*steps[: MOST_STEPS - 1], steps[-1]]
    return [Step(title, _cut(text)) for title, text in kept]


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return clean_block(text)
    return f"{clean_block(text[:MOST_CHARACTERS])}\n... and {len(text) - MOST_CHARACTERS} more characters"


def _aligned(left: Sequence[Step], right: Sequence[Step]) -> list[tuple[Step | None, Step | None]]:
    matcher = SequenceMatcher(None, [step.title for step in left], [step.title for step in right], autojunk=False)
    pairs: list[tuple[Step | None, Step | None]] = []
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(left[a:a_end], right[b:b_end], strict=True)
        else:
            pairs += [(step, None) for step in left[a:a_end]]
            pairs += [(None, step) for step in right[b:b_end]]
    return pairs


def _pair(a: Step | None, b: Step | None, budget: int) -> tuple[Pair, int]:
    if a is None or b is None:
        one = a or b
        spans = (Span(one.text, False),) if one is not None else ()
        return Pair(one.title if one else "", spans if a else (), spans if b else (), True), 0
    if a.text == b.text:
        return Pair(a.title, (Span(a.text, False),), (Span(b.text, False),), False), 0
    words, others = WORDS.findall(a.text), WORDS.findall(b.text)
    used = len(words) + len(others)
    if max(len(words), len(others)) > MOST_WORDS or used > budget:
        return Pair(a.title, (Span(a.text, False),), (Span(b.text, False),), True), 0
    left, right = word_spans(words, others)
    return Pair(a.title, left, right, True), used


def word_spans(words: Sequence[str], others: Sequence[str]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Both texts in runs that are equal on the other side, or differ from it."""
    left: list[Span] = []
    right: list[Span] = []
    for tag, a, a_end, b, b_end in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        if a_end > a:
            left.append(Span("".join(words[a:a_end]), tag != "equal"))
        if b_end > b:
            right.append(Span("".join(others[b:b_end]), tag != "equal"))
    return tuple(left), tuple(right)


def by_index(left: int, right: int) -> list[tuple[int | None, int | None]]:
    """Attempts beside those of the same number, from 1."""
    return [(n if n <= left else None, n if n <= right else None) for n in range(1, max(left, right) + 1)]


def by_outcome(left: Sequence[bool | None], right: Sequence[bool | None]) -> list[tuple[int | None, int | None]]:
    """Attempts that passed on the left beside those that failed on the right first: what was lost."""
    lost = {True: 0, False: 1, None: 2}
    found = {False: 0, True: 1, None: 2}
    ones = sorted(range(len(left)), key=lambda i: (lost[left[i]], i))
    others = sorted(range(len(right)), key=lambda i: (found[right[i]], i))
    return [(None if a is None else a + 1, None if b is None else b + 1) for a, b in zip_longest(ones, others)]
