"""How many attempts each task of a run wants. Pure: no clock, no I/O."""

from collections.abc import Iterator, Mapping, Sequence


class Targets:
    """`k` is what a task wants when nothing else was said of it; each task may want more or fewer."""

    def __init__(self, k: int, each: Sequence[int]) -> None:
        self.k = k
        self._each = list(each)
        self.total = sum(self._each)
        """The attempts that the finished run has."""

    def __len__(self) -> int:
        return len(self._each)

    def __iter__(self) -> Iterator[int]:
        return iter(self._each)

    def __getitem__(self, task: int) -> int:
        return self._each[task]

    def change(self, wanted: Mapping[int, int], k: int | None = None) -> dict[int, int]:
        """Take these numbers of attempts as what these tasks want; gives those that were others before."""
        changed = {task: n for task, n in wanted.items() if self._each[task] != n}
        for task, n in changed.items():
            self.total += n - self._each[task]
            self._each[task] = n
        self.k = self.k if k is None else k
        return changed


def more_of(targets: Sequence[int], k: int, n: int, tasks: Sequence[int] | None) -> tuple[dict[int, int], int]:
    """What `n` more attempts of these tasks (None: of all) come to, with the run's `k` then."""
    if tasks is None:
        return {task: wanted + n for task, wanted in enumerate(targets)}, k + n
    return {task: targets[task] + n for task in tasks}, k


MOST_MORE = 1000
"""More attempts of a task than this are not asked for at once: it would be a slip of the finger."""


def refuse_more(n: object) -> str | None:
    """Why this is no number of attempts to ask for, or None."""
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MOST_MORE:
        return f"the number of further attempts must be 1 to {MOST_MORE}"
    return None
