"""Words in a transcript, and the lines they stand in."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rollgrid_tui.state.attempt_view import Block, Kind
from rollgrid_tui.state.layout import Layout
from rollgrid_tui.state.search import MOST, Place, search


def test_words_are_found_as_they_stand_and_capitals_count_only_when_one_is_typed():
    blocks = [Block(Kind.heading, "Tool call"), Block(Kind.text, "a.b A.B\naxb")]
    assert search(blocks, "a.b").places == (Place(1, 0), Place(1, 4))
    assert search(blocks, "A.B").places == (Place(1, 4),)
    assert search(blocks, "tool").places == (Place(0, 0),)
    assert search(blocks, "(").places == ()


def test_more_places_than_one_goes_through_are_not_kept():
    found = search([Block(Kind.text, "a" * (MOST + 5))], "a")
    assert (len(found.places), found.complete) == (MOST, False)


WORDS = st.lists(st.text(st.sampled_from("ab日\u0301 \x1b\n"), max_size=30), max_size=8)


@given(WORDS, st.integers(8, 30), st.integers(0, 3))
def test_the_line_of_a_place_shows_it(words, width, indent):
    text = " zz ".join(words) + " zz"
    blocks = [Block(Kind.text, "before"), Block(Kind.text, text, indent=indent), Block(Kind.text, "after")]
    layout = Layout(blocks, width, cell_len)
    every = layout.lines(0, layout.height)[0]
    numbers = [layout.line_of(*place) for place in search(blocks, "zz").places]
    assert numbers == sorted(numbers)
    shown = [number for number, line in enumerate(every) for _ in range(line.text.count("zz"))]
    cut = sum(a.text.endswith("z") and b.text.startswith("z") for a, b in itertools.pairwise(every))
    if not cut:
        assert numbers == shown


def test_going_to_a_place_far_down_makes_only_what_is_around_it():
    blocks = [Block(Kind.text, f"message {n} " + "words " * 40) for n in range(40_000)]
    layout = Layout(blocks, 80, cell_len)
    assert layout.chunks_made == 0
    (place,) = search(blocks, "message 31234 ").places
    line = layout.line_of(*place)
    assert layout.lines(line, 1)[0][0].text.startswith("message 31234 ")
    assert layout.chunks_made < 200
