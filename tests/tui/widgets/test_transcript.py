"""The transcript widget."""

from textual.app import App, ComposeResult

from rollgrid_tui.state.attempt_view import Block, Kind
from rollgrid_tui.widgets.transcript import TranscriptView
from support.dash import resize


class Reading(App[None]):
    def compose(self) -> ComposeResult:
        yield TranscriptView()


def shown(view):
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


async def test_lines_are_drawn_with_their_indent_and_headings_with_their_note():
    app = Reading()
    async with app.run_test(size=(40, 8)):
        view = app.query_one(TranscriptView)
        view.show([Block(Kind.heading, "tool call", "lookup"), Block(Kind.code, '{\n  "a": 1\n}', indent=2)], "a")
        assert shown(view)[:4] == ["tool call  lookup", "  {", '    "a": 1', "  }"]


async def test_scrolling_reaches_the_end_and_comes_back():
    app = Reading()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        view.show([Block(Kind.text, "\n".join(str(n) for n in range(100)))], "a")
        await pilot.press("G")
        assert shown(view)[-1] == "99"
        await pilot.press("g")
        assert shown(view)[0] == "0"
        await pilot.press("pagedown", "j")
        assert shown(view)[0] == "9"


async def test_a_text_that_grows_keeps_the_place_or_follows_its_end():
    app = Reading()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        lines = [str(n) for n in range(50)]
        view.show([Block(Kind.text, "\n".join(lines))], "a", follow=True)
        await pilot.pause()
        assert shown(view)[-1] == "49"
        lines.append("50")
        view.show([Block(Kind.text, "\n".join(lines))], "a", follow=True)
        await pilot.pause()
        assert shown(view)[-1] == "50"
        await pilot.press("g")
        lines.append("51")
        view.show([Block(Kind.text, "\n".join(lines))], "a", follow=True)
        await pilot.pause()
        assert shown(view)[0] == "0"


async def test_another_text_begins_at_its_beginning():
    app = Reading()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        view.show([Block(Kind.text, "\n".join(str(n) for n in range(50)))], "a")
        await pilot.press("G")
        view.show([Block(Kind.text, "\n".join(f"b{n}" for n in range(50)))], "b")
        await pilot.pause()
        assert shown(view)[0] == "b0"


async def test_a_narrower_window_wraps_anew():
    app = Reading()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(TranscriptView)
        view.show([Block(Kind.text, "the quick brown fox jumps over")], "a")
        assert shown(view)[0] == "the quick brown fox jumps over"
        await resize(pilot, 20, 10)
        assert shown(view)[:2] == ["the quick brown fox", "jumps over"]


async def test_ten_megabytes_are_opened_paged_and_left_without_laying_them_out():
    app = Reading()
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        view.show([Block(Kind.text, "x" * 10_000_000)], "a")
        await pilot.press("pagedown", "pagedown", "G", "pageup")
        await pilot.pause()
        assert view.text_layout is not None
        assert view.text_layout.chunks_made < 30
        assert set(shown(view)[0]) == {"x"}


async def test_sections_are_a_key_apart():
    app = Reading()
    async with app.run_test(size=(40, 6)) as pilot:
        view = app.query_one(TranscriptView)
        view.focus()
        body = Block(Kind.text, "\n".join("abcdefgh"))
        view.show([block for n in range(4) for block in (Block(Kind.heading, f"part {n}"), body)], "a")
        await pilot.press("right_parenthesis", "right_parenthesis")
        assert shown(view)[0] == "part 2"
        await pilot.press("left_parenthesis")
        assert shown(view)[0] == "part 1"


async def test_a_search_goes_to_the_places_in_turn_and_round_the_end():
    app = Reading()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(TranscriptView)
        view.show([Block(Kind.text, "\n".join(f"line {n}" for n in range(100)))], "a")
        view.search("line 5")
        await pilot.pause()
        assert view.found is not None
        assert (view.hit, len(view.found.places)) == (0, 11)
        for _ in range(10):
            assert view.next_match(1)
        await pilot.pause()
        assert "line 59" in shown(view)
        assert view.next_match(1)
        await pilot.pause()
        assert (view.hit, "line 5" in shown(view)) == (0, True)
        view.search("nowhere")
        assert not view.next_match(1)
        view.search("")
        assert view.found is None


async def test_a_search_stays_when_the_text_becomes_another_and_hostile_words_do_no_harm():
    app = Reading()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(TranscriptView)
        view.show([Block(Kind.text, "one two \x1b[31m three")], "a")
        view.search("\x1b[")
        await pilot.pause()
        assert view.hit == 0
        assert "\x1b" not in "".join(shown(view))
        view.search("two")
        view.show([Block(Kind.text, "two and two")], "b")
        assert view.found is not None
        assert (len(view.found.places), view.hit) == (2, None)
