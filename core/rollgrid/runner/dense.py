"""A small number for each attempt of a large run, in a few bytes. Pure."""

from array import array
from collections.abc import Iterator, Mapping

Key = tuple[int, int]


class PerAttempt:
    """As a dict from (task, attempt) to a number above 0, which takes two bytes an attempt instead of some hundred."""

    def __init__(self, numbers: Mapping[Key, int] | None = None) -> None:
        self._of_task: dict[int, array[int]] = {}
        for (task, attempt), number in (numbers or {}).items():
            self.put(task, attempt, number)

    def get(self, task: int, attempt: int) -> int:
        """0 where there is none."""
        of_task = self._of_task.get(task)
        return of_task[attempt] if of_task is not None and attempt < len(of_task) else 0

    def put(self, task: int, attempt: int, number: int) -> None:
        """0 takes it out."""
        of_task = self._of_task.get(task)
        if of_task is None:
            of_task = self._of_task[task] = array("H")
        if attempt >= len(of_task):
            of_task.frombytes(bytes(of_task.itemsize * (attempt + 1 - len(of_task))))
        of_task[attempt] = number

    def of_task(self, task: int) -> Iterator[tuple[int, int]]:
        """(attempt, number) of the attempts of a task that are in it."""
        return ((attempt, number) for attempt, number in enumerate(self._of_task.get(task, ())) if number)
