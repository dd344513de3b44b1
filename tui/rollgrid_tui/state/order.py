"""Which rows of the grid show, and in which order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rollgrid.store.rows import TaskRow
from rollgrid_tui.state.figures import FAILURES, IN_FLIGHT, Cell, Figures, Zone


class Sort(StrEnum):
    """`position` is the order of the environment; the others put first what one would look at first."""

    position = "position"
    zone = "zone"
    rate = "rate"
    delta = "delta"
    errors = "errors"
    cost = "cost"
    latency = "latency"

    def next(self, *, with_delta: bool = False) -> "Sort":
        members = [sort for sort in Sort if with_delta or sort is not Sort.delta]
        if self not in members:
            return Sort.position
        return members[(members.index(self) + 1) % len(members)]


ZONE_ORDER = {zone: rank for rank, zone in enumerate(Zone)}

Key = Callable[[int, Figures], tuple[float, ...]]


def sort_key(sort: Sort, delta: Callable[[int], float | None] = lambda task: None) -> Key:
    """Smallest first; ties keep the environment's order. `delta` tells a task's difference to the baseline."""
    if sort is Sort.delta:
        # What was lost most stands first, what cannot be compared last.
        return lambda index, figures: (2.0 if (lost := delta(index)) is None else lost, index)
    return SORT_KEYS[sort]


def _by_position(index: int, figures: Figures) -> tuple[float, ...]:
    return (index,)


def _by_zone(index: int, figures: Figures) -> tuple[float, ...]:
    # Within the learning zone a coin flip comes first: it has most to teach.
    rate = figures.rate
    return (ZONE_ORDER[figures.zone], 0.0 if rate is None else abs(rate - 0.5), index)


def _by_rate(index: int, figures: Figures) -> tuple[float, ...]:
    return (2.0 if figures.rate is None else figures.rate, index)


def _by_errors(index: int, figures: Figures) -> tuple[float, ...]:
    return (-figures.n_errors, index)


def _by_cost(index: int, figures: Figures) -> tuple[float, ...]:
    # Where no price is known, tokens are what it costs.
    return (-(figures.known_cost or 0.0), -figures.tokens, index)


def _by_latency(index: int, figures: Figures) -> tuple[float, ...]:
    return (-(figures.latency or 0.0), index)


SORT_KEYS: dict[Sort, Key] = {
    Sort.position: _by_position,
    Sort.zone: _by_zone,
    Sort.rate: _by_rate,
    Sort.errors: _by_errors,
    Sort.cost: _by_cost,
    Sort.latency: _by_latency,
}


IS_GROUPS: dict[str, frozenset[Cell]] = {
    **{cell.value: frozenset({cell}) for cell in Cell},
    "fail": frozenset({Cell.failed, Cell.partial}),
    "error": frozenset({Cell.error, Cell.timeout}),
    "running": IN_FLIGHT,
    "failure": FAILURES,
}

FLIPPED = "flipped"
"""What `is:` takes besides cells: a task with an attempt that another scoring judges otherwise than the run did."""

VALUES: dict[str, Sequence[str]] = {"is": (*IS_GROUPS, FLIPPED), "zone": tuple(Zone)}

Predicate = Callable[[TaskRow, Figures, Sequence[Cell], bool], bool]


@dataclass(frozen=True, slots=True)
class Filter:
    """Terms that must all hold: text in the id or metadata, `key:value` of metadata, `zone:` and `is:`; `-` negates.

    `problem` says in one line what is wrong with it; a filter with a problem shows every row.
    """

    text: str = ""
    terms: tuple[Predicate, ...] = ()
    problem: str | None = None
    live: bool = False
    """Whether what it shows depends on results, so that it must be looked at again as they come."""

    @classmethod
    def parse(cls, text: str) -> "Filter":
        terms: list[Predicate] = []
        live = False
        for word in text.split():
            negated = word.startswith("-") and len(word) > 1
            word_ = word[1:] if negated else word
            key, colon, value = word_.partition(":")
            if colon and key in VALUES:
                # A filter works while it is typed, so the beginning of a value stands for all that begin so.
                meant = [value] if value in VALUES[key] else [each for each in VALUES[key] if each.startswith(value)]
                if not meant:
                    return cls(text.strip(), (), f"{key}: takes {', '.join(VALUES[key])}")
                term = _is(meant) if key == "is" else _zone(meant)
                live = True
            elif colon and key and value:
                term = _metadata(key, value.casefold(), word_.casefold())
            else:
                term = _text(word_.casefold())
            terms.append(_not(term) if negated else term)
        return cls(text.strip(), tuple(terms), None, live)

    def matches(self, task: TaskRow, figures: Figures, cells: Sequence[Cell], flipped: bool = False) -> bool:
        return all(term(task, figures, cells, flipped) for term in self.terms)


def _is(names: Sequence[str]) -> Predicate:
    group = frozenset[Cell]().union(*(IS_GROUPS[name] for name in names if name != FLIPPED))
    by_flips = FLIPPED in names
    return lambda task, figures, cells, flipped: (by_flips and flipped) or any(cell in group for cell in cells)


def _zone(names: Sequence[str]) -> Predicate:
    return lambda task, figures, cells, flipped: figures.zone.value in names


def _metadata(key: str, value: str, word: str) -> Predicate:
    # An id may hold a colon itself, so the whole word in the id counts too.
    return lambda task, figures, cells, flipped: (
        (key in task.metadata and str(task.metadata[key]).casefold() == value) or word in task.id.casefold()
    )


def _text(word: str) -> Predicate:
    return lambda task, figures, cells, flipped: (
        word in task.id.casefold() or any(word in str(value).casefold() for value in task.metadata.values())
    )


def _not(term: Predicate) -> Predicate:
    return lambda task, figures, cells, flipped: not term(task, figures, cells, flipped)


def next_failure(
    order: Sequence[int], place: int, attempt: int, step: int, cells: Callable[[int], Sequence[Cell]]
) -> tuple[int, int] | None:
    """The failure after (step 1) or before (-1) this place and attempt in reading order, around the end if need be."""
    count = len(order)
    for distance in range(count + 1) if count else ():
        index = order[(place + step * distance) % count]
        found = [n for n, cell in enumerate(cells(index), start=1) if cell in FAILURES]
        if distance == 0:
            found = [n for n in found if (n > attempt if step > 0 else n < attempt)]
        elif distance == count:
            found = [n for n in found if (n <= attempt if step > 0 else n >= attempt)]
        if found:
            return index, found[0 if step > 0 else -1]
    return None
