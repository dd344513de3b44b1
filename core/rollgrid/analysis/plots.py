"""Plots as SVG, drawn by hand: a report is one file that needs no network and runs no script.

Colours are names of CSS variables, which the page defines for light and dark; shape tells sides apart as well.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from rollgrid.analysis.estimators import AtJ
from rollgrid.analysis.wilson import Interval
from rollgrid.text import clean_line

__all__ = ["Mark", "Row", "curves", "forest"]

_WIDE = 860
_LABEL = 230
_RIGHT = 150
_ROW = 22
_TOP = 30
_LABEL_LETTERS = 32


class Mark(NamedTuple):
    """A value with its interval. `colour` is a CSS variable; a `hollow` one is of the other side."""

    value: float
    interval: Interval | None
    colour: str
    hollow: bool = False


class Row(NamedTuple):
    """A line of a forest plot: a name, its marks, and words at the end."""

    name: str
    marks: Sequence[Mark]
    words: str


def forest(title: str, rows: Sequence[Row], low: float, high: float, unit: str) -> str:
    """A line for each row with values and intervals between `low` and `high`, which are shares shown in percent."""
    tall = _TOP + _ROW * len(rows) + 26
    left, right = _LABEL, _WIDE - _RIGHT

    def x(value: float) -> float:
        return left + (right - left) * (min(high, max(low, value)) - low) / (high - low)

    parts = [_opening(title, tall)]
    for step in range(5):
        value = low + (high - low) * step / 4
        parts.append(f'<line class="rule" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{_TOP - 6}" y2="{tall - 22}"/>')
        sign = "+" if low < 0 < value else ""
        label = f"{sign}{100 * value:.0f} {unit}"
        parts.append(f'<text class="axis" x="{x(value):.1f}" y="{tall - 8}" text-anchor="middle">{label}</text>')
    if low < 0 < high:
        parts.append(f'<line class="zero" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{_TOP - 6}" y2="{tall - 22}"/>')
    for number, row in enumerate(rows):
        y = _TOP + _ROW * number + 8
        name = escape(clean_line(row.name))
        short = escape(clean_line(row.name, _LABEL_LETTERS))
        parts.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{short}<title>{name}</title></text>')
        parts += [_mark(mark, x, y, len(row.marks), place) for place, mark in enumerate(row.marks)]
        parts.append(f'<text class="figure" x="{right + 12}" y="{y + 4}">{escape(clean_line(row.words))}</text>')
    return "".join([*parts, "</svg>"])


def _mark(mark: Mark, x: Callable[[float], float], y: float, of: int, place: int) -> str:
    at = y if of == 1 else y - 4 + 8 * place
    shape: list[str] = []
    if mark.interval is not None:
        a, b = x(mark.interval.low), x(mark.interval.high)
        shape.append(f'<line x1="{a:.1f}" x2="{b:.1f}" y1="{at:.1f}" y2="{at:.1f}" stroke="var({mark.colour})"/>')
    fill = "var(--page)" if mark.hollow else f"var({mark.colour})"
    shape.append(f'<circle cx="{x(mark.value):.1f}" cy="{at:.1f}" r="4" fill="{fill}" stroke="var({mark.colour})"/>')
    return f'<g class="mark">{"".join(shape)}</g>'


def curves(points: Sequence[AtJ]) -> str:
    """pass@j and pass^j against j."""
    wide, tall, left, bottom = 460, 240, 46, 34
    most = max(one.j for one in points)

    def x(j: int) -> float:
        return left + (wide - left - 76) * (0.5 if most == 1 else (j - 1) / (most - 1))

    def y(share: float) -> float:
        return 16 + (tall - bottom - 16) * (1 - share)

    parts = [_opening("pass@j and pass^j", tall, wide)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line class="rule" x1="{left}" x2="{wide - 70}" y1="{y(share):.1f}" y2="{y(share):.1f}"/>')
        parts.append(f'<text class="axis" x="{left - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for j in sorted({1, *(one.j for one in points if one.j & (one.j - 1) == 0), most}):
        parts.append(f'<text class="axis" x="{x(j):.1f}" y="{tall - 14}" text-anchor="middle">{j}</text>')
    parts.append(f'<text class="axis" x="{wide - 56}" y="{tall - 14}">attempts j</text>')
    series = (
        ("pass@j", "--good", "", [one.pass_at for one in points]),
        ("pass^j", "--other", "5 3", [one.pass_hat for one in points]),
    )
    for name, colour, dash, values in series:
        path = " ".join(f"{x(one.j):.1f},{y(value):.1f}" for one, value in zip(points, values, strict=True))
        parts.append(f'<polyline points="{path}" fill="none" stroke="var({colour})" stroke-dasharray="{dash}"/>')
        last = points[-1]
        parts.append(f'<circle cx="{x(last.j):.1f}" cy="{y(values[-1]):.1f}" r="3.5" fill="var({colour})"/>')
        parts.append(f'<text class="figure" x="{x(last.j) + 9:.1f}" y="{y(values[-1]) + 4:.1f}">{name}</text>')
    return "".join([*parts, "</svg>"])


def _opening(title: str, tall: float, wide: float = _WIDE) -> str:
    name = escape(clean_line(title))
    size = f'viewBox="0 0 {wide:.0f} {tall:.0f}" width="{wide:.0f}" height="{tall:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" {size}><title>{name}</title>'
