"""Whatever text comes, a widget draws rows of its width without a character that acts on a terminal."""

import asyncio
import importlib
import pkgutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.widget import Widget

from rollgrid_tui import theme, widgets
from rollgrid_tui.glyphs import UNICODE
from rollgrid_tui.state.attempt_view import attempt_blocks
from rollgrid_tui.state.run_view import Changes, RunView
from rollgrid_tui.state.runs_view import RunsView
from rollgrid_tui.state.side_by_side import compare_steps, outcome_text, steps_of
from rollgrid_tui.widgets.attempt_pane import AttemptPane
from rollgrid_tui.widgets.bar import Bar
from rollgrid_tui.widgets.filter_input import FilterInput
from rollgrid_tui.widgets.rollout_grid import RolloutGrid
from rollgrid_tui.widgets.runs_list import RunsList
from rollgrid_tui.widgets.side_by_side import SideBySideView
from rollgrid_tui.widgets.table import Column, Row, Table, cell
from rollgrid_tui.widgets.text_prompt import TextPrompt
from rollgrid_tui.widgets.transcript import TranscriptView
from rollgrid_tui.widgets.words import cell_word, one_line, state_word, storm_line, title
from support.fake_log import attempt_row, run_row, task_row, transcript
from support.hostile import PAYLOADS, forbidden

pieces = st.one_of(
    st.sampled_from(list(PAYLOADS.values())),
    st.text(st.characters(), max_size=40),
    st.text(st.sampled_from("ab \t\n\x1b[]\u0301\u200d\ufe0f漢🚀🇩\ud800"), max_size=30),
)
texts = st.lists(pieces, max_size=4).map("".join)
sizes = st.tuples(st.integers(1, 130), st.integers(1, 24))

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
messages = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "name", "tool_call_id", "tool_call_error", "reasoning"]), values
)
bodies = st.one_of(
    st.dictionaries(st.sampled_from([*transcript(), "problem", "reasoning", "limit"]), values),
    st.builds(lambda said, tools: transcript(messages=said, tools=tools), st.lists(messages, max_size=3), values),
)


class Bench(App[None]):
    """One widget, alone on the screen."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget
        self.register_theme(theme.DARK)
        self.theme = theme.DARK.name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(theme.DEFAULTS)

    def compose(self) -> ComposeResult:
        yield self.widget


def row_with(text: str, outcome: str):
    told = {"reason": text, "detail": text, "error": text, "error_type": text, "superseded": None, "stop_reason": text}
    return attempt_row(0, 1, outcome, **(told if outcome != "pass" else {"reason": text}))


def run_with(text: str):
    return run_row(
        env_name=text, model=text, author=text, storm=text, stopped_early=text, state="stopped", run_id=text, n_tasks=2
    )


def fill_grid(widget, text, body):
    tasks = [task_row(0, text, **{"split": text}), task_row(1, text * 3)]
    widget.view.apply(run_with(text), tasks, [row_with(text, "fail")])
    widget.empty_text = one_line(text)
    widget.show_changes(Changes(structure=True))


def fill_runs(widget, text, body):
    widget.view.apply([run_with(text), run_with(text)._replace(run_id="b")])
    widget.show_changes()


def fill_bar(widget, text, body):
    run = run_with(text)
    left = title(run) + storm_line(run, UNICODE) + cell_word(row_with(text, "retrying"), UNICODE, live=True)
    widget.show(left, state_word(run))


def fill_transcript(widget, text, body):
    widget.show(attempt_blocks(row_with(text, "error"), body, expected=body), "key", follow=True)


def fill_sides(widget, text, body):
    outcome = outcome_text(passed=False, value=0.0, reason=text, error=text, stop_reason=text)
    widget.show(compare_steps(steps_of(body, outcome), steps_of(transcript(text), outcome)), (one_line(text), "b"), 1)


def fill_table(widget, text, body):
    rows = [Row(n, (cell(one_line(text)), (("track", one_line(text, 8)), ("text", "x")), cell("3"))) for n in range(3)]
    widget.show(rows)


def fill_pane(widget, text, body):
    widget.show(task_row(0, text), 1, 4, row_with(text, "timeout"), body, text, live=True)


def fill_filter(widget, text, body):
    widget.open(text)


def fill_prompt(widget, text, body):
    widget.open(one_line(text), text, [text, text + "x"])


CASES = {
    RolloutGrid: (lambda: RolloutGrid(RunView(), UNICODE), fill_grid),
    RunsList: (lambda: RunsList(RunsView(lambda: 1_700_000_000.0), UNICODE), fill_runs),
    Bar: (Bar, fill_bar),
    TranscriptView: (TranscriptView, fill_transcript),
    SideBySideView: (SideBySideView, fill_sides),
    Table: (lambda: Table([Column("a", 5, grow=1), Column("b", 8), Column("c", 3, right=True, least=30)]), fill_table),
    AttemptPane: (lambda: AttemptPane(UNICODE), fill_pane),
    FilterInput: (FilterInput, fill_filter),
    TextPrompt: (lambda: TextPrompt(most=80), fill_prompt),
}


def test_every_widget_is_looked_at():
    modules = [
        importlib.import_module(f"rollgrid_tui.widgets.{one.name}") for one in pkgutil.iter_modules(widgets.__path__)
    ]
    found = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    ours = {one for one in found if issubclass(one, Widget) and one.__module__.startswith("rollgrid_tui.")}
    assert ours == set(CASES)


@pytest.mark.parametrize("kind", list(CASES), ids=lambda kind: kind.__name__)
def test_a_widget_draws_any_text_in_its_columns_and_nothing_that_acts(kind):
    make, fill = CASES[kind]

    @given(texts, bodies, sizes)
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def draws(text, body, size):
        asyncio.run(draw(make(), fill, text, body, size))

    draws()


async def draw(widget, fill, text, body, size):
    app = Bench(widget)
    async with app.run_test(size=size) as pilot:
        fill(widget, text, body)
        await pilot.pause()
        for strip in app.screen._compositor.render_strips():
            assert not forbidden(strip.text), f"{forbidden(strip.text)} in {strip.text!r}"
            assert strip.cell_length == size[0]
