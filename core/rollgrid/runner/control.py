"""Commands that other processes put into the log, carried out on the engine."""

from typing import Any, cast

from rollgrid.runner.engine import Engine
from rollgrid.runner.steering import AUTO
from rollgrid.store.rows import CommandRow


def carry_out(engine: Engine, command: CommandRow) -> tuple[bool, str]:
    """Do what the command says; returns whether it was accepted, and the answer in words.

    Known commands: `pause`, `resume`, `cancel` (`{"drop": true}` also cancels what is in flight), `concurrency`
    (`{"limit": 8}` or `"auto"`), `retry` (`{"signature": "..."}` or `{"task": 0, "attempt": 1}`), `more` (`{"n": 2}`
    further attempts of every task, or of `"tasks": [0, 3]`).
    """
    if not isinstance(cast("Any", command.args), dict):
        return False, "the arguments of a command are an object"
    refusal = _try(engine, command)
    if refusal is not None:
        return False, refusal
    answer = _ANSWERS.get(command.command) or _told(engine, command)
    if command.command in ("retry", "more") and engine.steering.state == "paused":
        answer += "; the run is paused, and goes on when it is resumed"
    return True, answer


_ANSWERS = {
    "pause": "paused: nothing more starts, what is in flight finishes",
    "resume": "running again",
    "cancel": "stopping: what is in flight may finish",
    "retry": "scheduled again",
}


def _told(engine: Engine, command: CommandRow) -> str:
    """What was done, where that is not the same every time."""
    if command.command == "more":
        n, tasks = command.args["n"], command.args.get("tasks")
        whose = f"{len(set(tasks))} {'task' if len(set(tasks)) == 1 else 'tasks'}" if tasks else "every task"
        return f"{n} more {'attempt' if n == 1 else 'attempts'} of {whose}, {engine.ledger.targets.total} in all"
    asked = command.args.get("limit")
    if asked == AUTO:
        return f"finds out how many at once pass, from {engine.concurrency} on"
    capped = f", which is all that its model takes (asked for {asked})" if asked != engine.concurrency else ""
    return f"at most {engine.concurrency} at once from now on{capped}"


def _try(engine: Engine, command: CommandRow) -> str | None:
    author, args = command.author, command.args
    match command.command:
        case "pause":
            return engine.steering.pause(author)
        case "resume":
            return engine.steering.resume(author)
        case "cancel":
            if args.get("drop") and engine.steering.state == "stopping":
                engine.drop_flights()
                return None
            refusal = engine.steering.stop("interrupted", author=author, reason=f"cancelled by {author}")
            if refusal is None and args.get("drop"):
                engine.drop_flights()
            return refusal
        case "concurrency":
            limit = args.get("limit")
            if limit != AUTO and (not isinstance(limit, int) or isinstance(limit, bool)):
                return f"concurrency needs a whole number or `{AUTO}` as `limit`"
            return engine.steering.set_concurrency(limit, author, "asked for")
        case "retry":
            return _retry(engine, author, args)
        case "more":
            return _more(engine, author, args)
        case _:
            return f"this runner knows no command `{command.command}`"


def _more(engine: Engine, author: str, args: dict[str, Any]) -> str | None:
    n, tasks = args.get("n"), args.get("tasks")
    if tasks is None:
        return engine.steering.more(None, n, author) if isinstance(n, int) else "more needs a whole number as `n`"
    chosen = cast("list[Any]", tasks) if isinstance(tasks, list) else []
    if not isinstance(n, int) or not chosen or not all(type(one) is int for one in chosen):
        return "more needs a whole number as `n`, and positions of tasks as `tasks`"
    return engine.steering.more(sorted(set(chosen)), n, author)


def _retry(engine: Engine, author: str, args: dict[str, Any]) -> str | None:
    signature, task, attempt = args.get("signature"), args.get("task"), args.get("attempt")
    if isinstance(signature, str):
        return engine.steering.retry(author, signature=signature)
    if isinstance(task, int) and isinstance(attempt, int):
        key = (task, attempt)
        going_on = engine.steering.state != "stopping"
        if going_on and any((slot.task, slot.attempt) == key for slot in engine.flights):
            return "this attempt is running"
        if going_on and key in engine.ledger.schedule:
            return "this attempt is to be run anyway"
        refusal = engine.steering.retry(author, key=key)
        targets = engine.ledger.targets
        if refusal is not None and going_on and 0 <= task < len(targets) and 1 <= attempt <= targets[task]:
            return f"{refusal}; it may be of an earlier one: ask for a further attempt of the task instead"
        return refusal
    return "retry needs a `signature`, or a `task` and an `attempt`"
