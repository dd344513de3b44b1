"""What people asked of a run, in words: who, when, what, and what the runner said."""

import time
from collections.abc import Callable, Sequence
from typing import cast

from rollgrid.store.rows import CommandRow
from rollgrid.text import clean_line

NAMED = 3
"""Tasks that are named one by one."""

NameOf = Callable[[int], str | None]
"""The id of a task by its position, None where there is none."""


def asked(row: CommandRow, name_of: NameOf) -> str:
    """The command with what it is about: `pause`, `concurrency 8`, `retry t3 2`, `more 2 of t1, t4`. Clean."""
    args = dict(row.args)
    words = [_line(row.command, 20)]
    if row.command == "more":
        tasks = args.get("tasks")
        words.append(_line(str(args.get("n")), 10))
        words.append(
            f"of {_tasks(cast('list[object]', tasks), name_of)}" if isinstance(tasks, list) else "of every task"
        )
    else:
        if isinstance(args.get("task"), int):
            args["task"] = name_of(args["task"]) or args["task"]
        words += [_line(str(value), 40) for value in args.values() if value is not True]
    return " ".join(words)


def _tasks(tasks: Sequence[object], name_of: NameOf) -> str:
    names = [name_of(task) or str(task) for task in tasks[:NAMED] if isinstance(task, int)]
    more = f" and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
    return ", ".join(_line(name, 30) for name in names) + more


def answer_line(row: CommandRow, name_of: NameOf) -> str:
    """One line of the history, with the time of day at which it was asked."""
    refused = "refused: " if row.accepted is False else ""
    answer = "not answered yet" if row.accepted is None else _line(row.answer or "done", 200)
    when = time.strftime("%H:%M:%S", time.localtime(row.at))
    return f"{when}  {_line(row.author, 40)}  {asked(row, name_of)}: {refused}{answer}"


def _line(text: str, limit: int) -> str:
    return clean_line(" ".join(text[: 4 * limit].split()), limit)
