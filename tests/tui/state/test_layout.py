"""Blocks laid out as lines, lazily."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rollgrid_tui.state.attempt_view import Block, Kind, attempt_blocks
from rollgrid_tui.state.layout import Layout, wrap
from support.fake_log import attempt_row


def texts(layout, top=0, count=50):
    return [line.text for line in layout.lines(top, count)[0]]


def test_lines_are_wrapped_at_spaces():
    assert wrap("the quick brown fox", 10, cell_len) == ["the quick", "brown fox"]


def test_a_hanging_line_goes_on_further_in():
    assert wrap("key   what it does and more", 16, cell_len, hang=6) == [
        "key   what it",
        "      does and",
        "      more",
    ]
    assert wrap("short", 16, cell_len, hang=6) == ["short"]


def test_a_word_longer_than_the_line_is_cut():
    assert wrap("abcdefghij" * 2, 8, cell_len) == ["abcdefgh", "ijabcdef", "ghij"]


def test_wide_characters_are_counted_as_two_columns():
    assert wrap("日本語テキスト", 6, cell_len) == ["日本語", "テキス", "ト"]


@given(st.text(st.sampled_from("ab 日本e\u0301🎉"), max_size=60), st.integers(4, 20))
def test_no_piece_is_wider_than_the_line_and_nothing_but_spaces_is_lost(text, width):
    pieces = wrap(text, width, cell_len)
    assert all(cell_len(piece) <= width for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


def test_a_block_keeps_its_indent_and_its_own_lines():
    layout = Layout([Block(Kind.heading, "user"), Block(Kind.text, "a\n  b", indent=2)], 40, cell_len)
    lines, _ = layout.lines(0, 10)
    assert [(line.text, line.indent) for line in lines] == [("user", 0), ("a", 2), ("  b", 2)]
    assert layout.height == 3


def test_hostile_text_is_clean_when_it_is_laid_out():
    layout = Layout([Block(Kind.text, "a\x1b[2Jb\u202ec"), Block(Kind.heading, "x\x07", "y\x9b")], 40, cell_len)
    lines, _ = layout.lines(0, 10)
    assert [(line.text, line.note) for line in lines] == [(r"a\x1b[2Jb\u202ec", ""), (r"x\x07", r"y\x9b")]


@pytest.mark.parametrize(
    "text", ["x" * 10_000_000, "a\n" * 5_000_000, "\x1b[31m" * 2_000_000, "日本 " * 2_500_000, "\n" * 10_000_000]
)
def test_ten_megabytes_open_by_looking_at_what_is_shown(text):
    layout = Layout([Block(Kind.text, text, indent=2)], 80, cell_len)
    assert layout.chunks_made == 0
    assert len(texts(layout, 0, 50)) == 50
    assert layout.chunks_made <= 3
    middle = layout.height // 2
    assert len(texts(layout, middle, 50)) == 50
    assert layout.chunks_made <= 8


def test_forty_thousand_messages_open_by_looking_at_what_is_shown():
    messages = [{"role": "user" if n % 2 else "assistant", "content": f"message {n}"} for n in range(40_000)]
    blocks = attempt_blocks(attempt_row(0, 1), {"messages": messages})
    layout = Layout(blocks, 80, cell_len)
    assert layout.chunks_made == 0
    assert texts(layout, 0, 3) == ["assistant", "message 0", ""]
    assert layout.chunks_made < 50


def test_lines_shown_do_not_move_when_heights_above_turn_out_otherwise():
    # 100 columns wide by estimate, but each stand-in takes four: the heights above are guessed too low.
    text = "\n".join("\x1b" * 60 for _ in range(20_000))
    layout = Layout([Block(Kind.text, text)], 100, cell_len)
    top = layout.height - 200
    shown, moved = layout.lines(top, 20)
    top += moved
    again, moved = layout.lines(top, 20)
    assert moved == 0
    assert again == shown


def test_reading_to_the_end_line_by_line_misses_nothing():
    text = "\n".join(f"line {n} " + "日本" * (n % 40) for n in range(12_000))
    layout = Layout([Block(Kind.text, text)], 60, cell_len)
    seen, top = [], 0
    while True:
        lines, moved = layout.lines(top, 40)
        if not lines:
            break
        seen.extend(line.text for line in lines)
        top += moved + len(lines)
    heads = [line.split()[1] for line in seen if line.startswith("line ")]
    assert heads == [str(n) for n in range(12_000)]
    assert layout.height == len(seen)


def test_sections_are_found_from_any_line():
    blocks = [Block(Kind.heading, "one"), Block(Kind.text, "a\nb"), Block(Kind.heading, "two"), Block(Kind.text, "c")]
    layout = Layout(blocks, 40, cell_len)
    assert layout.heading(0) == 3
    assert layout.heading(3) == 3
    assert layout.heading(4, -1) == 3
    assert layout.heading(3, -1) == 0


def test_no_blocks_are_no_lines():
    layout = Layout([], 40, cell_len)
    assert layout.height == 0
    assert layout.lines(0, 10) == ([], 0)
    assert layout.heading(0) == 0
