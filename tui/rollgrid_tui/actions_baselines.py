"""What keys do in the baselines, the diff panes and where two environments cannot be compared."""

from rollgrid_tui.action import Action

BASELINES: tuple[Action, ...] = (
    Action(
        "baselines.set",
        "set",
        ("space", "B"),
        "set",
        "Show the differences to this file in the grid, live; once more takes them away",
        hint="set for the grid",
        command="rollgrid watch RUN --baseline FILE",
    ),
    Action("baselines.refresh", "refresh", ("R",), "look again", "Search the project for baseline files again"),
    Action("baselines.back", "back", ("escape", "backspace"), "back", "Back to where one came from", hint="back"),
    Action(
        "diff.switch_pane", "switch_pane", ("tab", "shift+tab"), "other pane", "Between tasks and attempts", hint="pane"
    ),
    Action(
        "diff.next_attempt",
        "step(1)",
        ("right_square_bracket", "l", "right"),
        "next attempts",
        "The next pair of attempts of this task",
        hint="next",
        command="rollgrid contrast RUN TASK ATTEMPT OTHER --baseline FILE",
    ),
    Action(
        "diff.previous_attempt",
        "step(-1)",
        ("left_square_bracket", "h", "left"),
        "previous attempts",
        "The pair of attempts before",
    ),
    Action("diff.next_task", "task(1)", ("right_curly_bracket", "J"), "next task", "The next task", hint="task"),
    Action("diff.previous_task", "task(-1)", ("left_curly_bracket", "K"), "previous task", "The task before"),
    Action(
        "diff.align",
        "align",
        ("o",),
        "align",
        "Pair attempts by outcome (passed then, failed now, first) or by number",
        hint="align",
    ),
    Action("diff.next", "difference(1)", ("n",), "next difference", "The next step that differs", hint="difference"),
    Action("diff.previous", "difference(-1)", ("N",), "previous difference", "The differing step before"),
    Action(
        "diff.back", "back", ("escape", "backspace"), "back", "Back to the tasks, then to the baselines", hint="back"
    ),
    Action(
        "mismatch.prompts",
        "prompts",
        ("p", "enter"),
        "compare prompts",
        "Prompts and rates side by side, without a verdict",
        hint="compare prompts",
        command="rollgrid diff A B --prompts",
    ),
    Action(
        "mismatch.parts",
        "parts",
        ("e",),
        "explain",
        "What differs, part by part",
        hint="explain",
        command="rollgrid diff A B --prompts",
    ),
    Action("mismatch.back", "back", ("escape", "backspace"), "back", "Back to the baselines", hint="back"),
)
