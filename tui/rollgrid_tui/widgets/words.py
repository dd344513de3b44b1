"""Pieces of styled text that several screens show. Every text from outside is cleaned here."""

from collections.abc import Sequence

from textual.content import Content

from rollgrid.analysis.agreement import Agreement
from rollgrid.store.rows import AttemptRow, RunRow
from rollgrid.text import clean_line
from rollgrid_tui.glyphs import Glyphs
from rollgrid_tui.state import show
from rollgrid_tui.state.attempt_view import outcome
from rollgrid_tui.state.figures import Cell, cell_of
from rollgrid_tui.state.run_view import Header

SIMULATED = Content.assemble((" SIMULATED ", "bold"), "  made-up answers: these figures say nothing about any model")

STATE_STYLES = {
    "running": "$accent",
    "paused": "$warn",
    "stopping": "$warn",
    "interrupted": "$warn",
    "stopped": "$bad",
    "dead": "$bad",
    "finished": "$muted",
}


def one_line(text: str, limit: int = 400) -> str:
    """Hostile text as one clean line, without the line breaks that a summary has no use for."""
    return clean_line(" ".join(text[: 2 * limit].split()), limit)


def plain(text: str, style: str = "") -> Content:
    return Content.styled(text, style) if style else Content(text)


def join(parts: Sequence[Content], gap: str = "   ") -> Content:
    return Content(gap).join(part for part in parts if part.plain)


def state_word(run: RunRow) -> Content:
    state = run.effective_state
    words = state
    if state == "stopped" and run.stopped_early:
        words = f"stopped: {clean_line(run.stopped_early, 40)}"
    elif state == "dead":
        words = "runner is gone"
    return plain(words, STATE_STYLES.get(state, "$muted"))


def title(run: RunRow) -> Content:
    name = plain(one_line(run.env_name, 60), "bold")
    return join([name, plain(one_line(run.model, 60), "$muted"), plain(f"k {run.k_text}", "$muted")], "  ")


def interval_text(header: Header) -> str:
    if header.interval is None:
        return ""
    return f"{header.interval.low * 100:.0f}-{header.interval.high * 100:.0f}%"


def progress_line(header: Header, glyphs: Glyphs, width: int) -> Content:
    """Progress, rate and the rest, as much as `width` has room for; what matters most comes first."""
    figures = header.figures
    share = figures.n_ended / header.n_planned if header.n_planned else 0.0
    done, rest = glyphs.progress(share, 20 if width >= 100 else 12)
    bar = Content.assemble((done, "$accent"), (rest, "$faint"), f" {figures.n_ended}/{header.n_planned}")
    parts = [bar]
    if figures.rate is not None:
        parts.append(
            Content.assemble(
                (show.rate(figures.rate), "bold"),
                " passed ",
                (f"{interval_text(header)} n={figures.n_scored}", "$muted"),
            )
        )
    if header.settled is not None:
        n_settled, n_tasks = header.settled
        word = f" of {n_tasks} settled"
        parts.append(Content.assemble((f"{glyphs.settled} {n_settled}", "$accent"), (word, "$muted")))
    if header.n_learning:
        parts.append(Content.assemble((str(header.n_learning), "$accent"), (" learning", "$muted")))
    if figures.n_unscored:
        parts.append(Content.assemble((str(figures.n_unscored), "$cell-error"), (" unscored", "$muted")))
    if header.throughput is not None:
        eta = f"  eta {show.clock(header.eta)}" if header.eta else ""
        parts.append(plain(f"{show.per_second(header.throughput)}{eta}", "$muted"))
    if figures.known_cost is not None:
        parts.append(plain(show.cost(figures.known_cost), "$muted"))
    elif figures.tokens:
        parts.append(plain(f"{show.count(figures.tokens)} tokens", "$muted"))
    if header.state in {"running", "paused", "stopping"}:
        parts.append(plain(f"{header.concurrency} at once", "$muted"))
    if figures.retries:
        parts.append(plain(f"{figures.retries} retries", "$muted"))
    return _as_many_as_fit(parts, width)


def _as_many_as_fit(parts: Sequence[Content], width: int) -> Content:
    kept: list[Content] = []
    used = 0
    for part in parts:
        if used + part.cell_length + 3 > width and kept:
            break
        kept.append(part)
        used += part.cell_length + 3
    return join(kept)


def cell_word(row: AttemptRow | None, glyphs: Glyphs, *, live: bool) -> Content:
    """Glyph and word of an attempt's state, with the score where it has one."""
    cell = cell_of(row, live=live)
    text = cell.value
    if row is None:
        text = "not started"
    elif cell in {Cell.running, Cell.retrying}:
        text = one_line(outcome(row, live=live), 60)
    elif row.value is not None:
        text = f"{cell.value} {row.value:.2f}"
    return plain(f"{glyphs.cells[cell]} {text}", f"$cell-{cell.value}")


def attempt_figures(row: AttemptRow | None) -> Content:
    if row is None:
        return Content("")
    parts = [show.seconds(row.duration_seconds)] if row.duration_seconds is not None else []
    if row.input_tokens or row.output_tokens:
        parts.append(f"{show.count(row.input_tokens)} in, {show.count(row.output_tokens)} out")
    if row.cost is not None:
        parts.append(show.cost(row.cost))
    if row.retries:
        parts.append(f"{row.retries} {'retry' if row.retries == 1 else 'retries'}")
    return plain("  ".join(parts), "$muted")


def agreement_line(figures: Agreement, keys: tuple[str, str], width: int) -> Content:
    """How far people and scorer agree, as much as `width` has room for. `keys` agree and disagree."""
    if figures.rate is None or figures.interval is None:
        return plain(f"no score is judged yet: {keys[0]} agrees, {keys[1]} disagrees", "$muted")
    low, high = figures.interval
    parts = [
        Content.assemble(
            ("agreement ", "$muted"),
            (show.rate(figures.rate), "bold"),
            (f" {low * 100:.0f}-{high * 100:.0f}% n={figures.n}", "$muted"),
        )
    ]
    against = figures.n - figures.n_agree
    if against:
        parts.append(plain(f"{against} disagree", "$warn"))
    if figures.caution is not None:
        parts.append(plain(figures.caution, "$muted"))
    elif figures.kappa is not None:
        low, high = figures.kappa.interval
        parts.append(
            Content.assemble(
                ("kappa ", "$muted"), (f"{figures.kappa.value:.2f}", "bold"), (f" {low:.2f} to {high:.2f}", "$muted")
            )
        )
    if len(figures.authors) > 1:
        parts.append(plain(f"{len(figures.authors)} people", "$muted"))
    return _as_many_as_fit(parts, width)


def storm_line(run: RunRow, glyphs: Glyphs) -> Content:
    what = one_line(run.storm or "", 160)
    return Content.assemble((f" {glyphs.storm} ERROR STORM ", "bold"), f"  {what}")
