"""How the width of the grid is shared out, as plain arithmetic."""

from dataclasses import dataclass

GAP = 2
MIN_LABEL = 6
MAX_LABEL = 36

FIGURES: tuple[tuple[str, int], ...] = (
    ("pass", 5),
    ("rate", 4),
    ("zone", 10),
    ("interval", 12),
    ("time", 6),
    ("tokens", 6),
    ("cost", 8),
)
"""The columns behind the cells with their widths, in the order in which they show and are given room."""

ALWAYS = 2
"""The first so many figures are there at any width."""

DELTA = ("delta", 5)
"""The difference to a baseline; with one set it stands behind the rate, at any width."""


SETTLED = ("settled", 12)
"""What is settled of a task; in a run that samples until that is so it stands in place of the zone, at any width."""


def figure_columns(delta: bool, settled: bool = False) -> tuple[tuple[str, int], ...]:
    rest = tuple(one for one in FIGURES[ALWAYS:] if not settled or one[0] != "zone")
    return (*FIGURES[:ALWAYS], *((DELTA,) if delta else ()), *((SETTLED,) if settled else ()), *rest)


@dataclass(frozen=True, slots=True)
class GridLayout:
    """Widths in columns. `cells` is the window onto the attempts, `pitch` the columns that one attempt takes."""

    label: int
    pitch: int
    cells: int
    columns: int
    figures: tuple[tuple[str, int], ...]

    @property
    def visible(self) -> int:
        """Attempts that the window holds."""
        return self.cells // self.pitch

    @property
    def max_scroll(self) -> int:
        """The furthest that the cells scroll, in attempts."""
        return max(0, self.columns - self.visible)

    @property
    def cells_start(self) -> int:
        return self.label + GAP

    @property
    def figures_start(self) -> int:
        return self.cells_start + self.cells + (GAP - (self.pitch - 1))


def lay_out(width: int, columns: int, longest_label: int, delta: bool = False, settled: bool = False) -> GridLayout:
    """Share `width` among labels, `columns` attempts and figures.

    The cells come first, two columns each while that leaves room for pass, rate and zone, else one; what is left goes
    to further figures, then to long labels. When even single columns do not fit, the cells scroll.
    """
    longest_label = max(MIN_LABEL, min(longest_label, MAX_LABEL))
    label = min(longest_label, max(MIN_LABEL, width // 5))
    columns = max(1, columns)
    every, n_always = figure_columns(delta, settled), ALWAYS + delta + settled
    always = sum(size + GAP for _, size in every[:n_always])
    zone = every[n_always][1] + GAP
    room = width - label - GAP - always
    pitch = 2 if columns * 2 <= room - zone else 1
    want = columns * pitch
    # Cells that must scroll anyway leave the zone its place, where a usable window remains.
    scrolling = room - zone if room - zone >= 16 else max(room, pitch)
    cells = want if want <= room else scrolling
    used = 0
    figures = list(every[:n_always])
    for name, size in every[n_always:]:
        if used + size + GAP > room - cells:
            break
        figures.append((name, size))
        used += size + GAP
    label += max(0, min(longest_label - label, room - cells - used))
    return GridLayout(label, pitch, cells, columns, tuple(figures))


def natural_width(columns: int, longest_label: int, delta: bool = False, settled: bool = False) -> int:
    """The width at which everything shows: every figure, and two columns an attempt."""
    label = max(MIN_LABEL, min(longest_label, MAX_LABEL))
    return label + GAP + columns * 2 + sum(size + GAP for _, size in figure_columns(delta, settled)) + 2


def ruler(columns: int, first: int, visible: int, pitch: int) -> str:
    """Attempt numbers above the cells: 1 and every fifth, each over its own column."""
    marks = [" "] * (visible * pitch)
    for number in range(first + 1, min(columns, first + visible) + 1):
        if number != 1 and number % 5:
            continue
        text = str(number)
        place = (number - 1 - first) * pitch
        if place + len(text) <= len(marks) and not any(mark != " " for mark in marks[max(0, place - 1) : place]):
            marks[place : place + len(text)] = text
    return "".join(marks)


def with_cursor(marks: str, at: int, number: str) -> tuple[str, str, str]:
    """`marks` with the cursor's own number at `at`: what stands left of it, the number, what stands right.

    A mark that the number would touch gives way to it.
    """
    at = min(at, len(marks) - len(number))
    left, right = marks[:at], marks[at + len(number) :]
    if left and left[-1] != " ":
        left = left[: left.rfind(" ") + 1]
    if right and right[0] != " ":
        right = right[right.find(" ") :] if " " in right else ""
    return left.ljust(at), number, right.rjust(len(marks) - at - len(number))
