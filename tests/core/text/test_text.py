"""The sanitiser: no character that acts on a terminal, hides or moves its neighbours comes out of it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rollgrid.text import MAX_MARKS, clean_block, clean_line

FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

PAYLOADS = {
    "csi": ("\x1b[31mred", r"\x1b[31mred"),
    "osc 52": ("\x1b]52;c;ZXZpbA==\x07", r"\x1b]52;c;ZXZpbA==\x07"),
    "osc 8": ("\x1b]8;;http://x\x1b\\y", r"\x1b]8;;http://x\x1b\y"),
    "c1 csi": ("\x9b2J", r"\x9b2J"),
    "delete": ("a\x7fb", r"a\x7fb"),
    "null": ("a\x00b", r"a\x00b"),
    "bell and backspace": ("\x07\x08", r"\x07\x08"),
    "right-to-left override": ("a\u202eb", r"a\u202eb"),
    "isolate": ("\u2066a\u2069", r"\u2066a\u2069"),
    "arabic letter mark": ("\u061c", r"\u061c"),
    "zero width": ("a\u200bb\u200dc\ufeff", r"a\u200bb\u200dc\ufeff"),
    "line separator": ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
    "next line": ("a\x85b", r"a\x85b"),
    "lone surrogate": ("a\ud800b", r"a\ud800b"),
    "tag character": ("\U000e0041", r"\U000e0041"),
    "non-character": ("\ufffe", r"\ufffe"),
    "hangul filler": ("\u3164", r"\u3164"),
    "carriage return": ("50%\r100%", r"50%\r100%"),
    "markup": ("[b]x[/INST] [", "[b]x[/INST] ["),
    "flag": ("🇩🇪", ":DE:"),
    "skin tone": ("👍🏽", r"👍\U0001f3fd"),
    "emoji selector": ("❤\ufe0f", "❤"),
    "two selectors": ("❤\ufe0f\ufe0e", r"❤\ufe0f\ufe0e"),
    "rare selector": ("a\ufe00\U000e0100", r"a\ufe00\U000e0100"),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_hostile_character_shows_as_its_number(name):
    text, shown = PAYLOADS[name]
    assert clean_line(text) == shown
    assert clean_block(text) == shown


def test_every_control_format_and_separator_of_unicode_is_replaced():
    through = [
        hex(number)
        for number in range(0x110000)
        if unicodedata.category(chr(number)) in FORBIDDEN and chr(number) in clean_line(f"a{chr(number)}b")
    ]
    assert through == []


def test_ordinary_text_of_any_script_is_left_alone():
    for text in ("plain", "naïve café", "日本語テキスト", "한국어", "עברית", "हिन्दी", "ไทยที่", "emoji 🎉✓", "a\u00a0b"):
        assert clean_line(text) == text
        assert clean_block(text) == text


def test_a_line_shows_its_newlines_and_a_block_keeps_them():
    assert clean_line("a\nb\r\nc") == r"a\nb\r\nc"
    assert clean_block("a\nb\r\nc") == "a\nb\nc"


def test_tabs_become_spaces_and_line_up_in_a_block():
    assert clean_line("a\tb") == "a    b"
    assert clean_block("ab\tc\n\td") == "ab  c\n    d"


def test_a_stack_of_marks_is_capped_and_counted():
    assert clean_line("a" + "\u0301" * 100) == "a" + "\u0301" * MAX_MARKS + rf"\+{100 - MAX_MARKS}"


def test_a_mark_with_nothing_to_sit_on_does_not_touch_the_cell_before():
    assert clean_line("\u0301x") == r"\u0301x"
    assert clean_block("a\n\u0301x\n\u0302") == "a\n\\u0301x\n\\u0302"
    assert clean_block("a\n中") == "a\n中"


def test_a_limit_cuts_and_says_so():
    assert clean_line("abcdef", limit=6) == "abcdef"
    assert clean_line("abcdefg", limit=6) == "abc..."
    assert clean_line("abcdefg", limit=2) == "ab"
    assert clean_line("\x1b" * 9, limit=8) == r"\x1b\..."


def test_a_limit_looks_only_at_the_head_of_a_huge_text():
    class Counting(str):
        asked: int = 0

        def __getitem__(self, key):
            Counting.asked = key.stop
            return str.__getitem__(self, key)

    text = Counting("x" * 1_000_000)
    assert clean_line(text, limit=10) == "xxxxxxx..."
    assert Counting.asked < 200


HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\x1b\x00\x07\x9b\u202e\u2066\u200b\u200d\ufe0f\ufe0e\u0301\u0302\t\r\n\u2028\u3164 ae中🇩🇪👍🏽"
        ),
        st.characters(categories=["Cc", "Cf", "Cs", "Mn", "Me", "Zl", "Zp", "Sk"]),
    )
)


@given(HOSTILE)
def test_no_forbidden_character_survives(text):
    assert not {unicodedata.category(character) for character in clean_line(text)} & FORBIDDEN
    block = clean_block(text).replace("\n", "")
    assert not {unicodedata.category(character) for character in block} & FORBIDDEN


@given(HOSTILE, st.integers(0, 40))
def test_cleaning_twice_changes_nothing(text, limit):
    assert clean_line(clean_line(text)) == clean_line(text)
    assert clean_block(clean_block(text)) == clean_block(text)
    cut = clean_line(text, limit)
    assert len(cut) <= limit
    assert clean_line(cut, limit) == cut


@given(HOSTILE)
def test_a_clean_line_is_as_wide_as_its_characters_together(text):
    line = clean_line(text)
    assert cell_len(line) == sum(cell_len(character) for character in line)
    assert line.splitlines() in ([line], [])


@given(HOSTILE)
def test_a_block_is_its_lines_cleaned_one_by_one(text):
    text = text.replace("\r\n", "\n").replace("\t", " ")
    assert clean_block(text).split("\n") == [clean_line(line) for line in text.split("\n")]
