"""The one registry of everything that a key can do. Bindings, help and command palette are made from it.

Plain data, without textual: the documentation and the shell may read it too.
"""

from collections.abc import Iterator, Mapping

from rollgrid_tui.action import Action
from rollgrid_tui.actions_baselines import BASELINES
from rollgrid_tui.actions_review import REVIEW

__all__ = ["ACTIONS", "BY_ID", "SCOPES", "Action", "in_scope"]


SCOPES: Mapping[str, str] = {
    "runs": "Runs",
    "history": "History",
    "run": "Run",
    "grid": "Grid",
    "attempt": "Attempt",
    "transcript": "Transcript",
    "contrast": "Contrast",
    "baselines": "Baselines",
    "diff": "Against a baseline",
    "mismatch": "Not comparable",
    "control": "Control of the run",
    "alerts": "Alerts",
    "review": "Review",
    "list": "List",
    "app": "Everywhere",
}

ACTIONS: tuple[Action, ...] = (
    Action("runs.up", "cursor(-1)", ("up", "k"), "up", "The run above"),
    Action("runs.down", "cursor(1)", ("down", "j"), "down", "The run below"),
    Action("runs.page_up", "page(-1)", ("pageup", "ctrl+u"), "page up", "A page up"),
    Action("runs.page_down", "page(1)", ("pagedown", "ctrl+d"), "page down", "A page down"),
    Action("runs.top", "edge(-1)", ("home", "g"), "top", "The first run"),
    Action("runs.bottom", "edge(1)", ("end", "G"), "bottom", "The last run"),
    Action(
        "runs.open", "open", ("enter", "l", "right"), "open", "Open this run", hint="open", command="rollgrid watch RUN"
    ),
    Action(
        "runs.history",
        "history",
        ("H",),
        "history",
        "The environment of this run over all its runs, and where its pass rate changed",
        hint="history",
        command="rollgrid history ENV",
    ),
    # -- history
    Action(
        "history.switch_pane",
        "switch_pane",
        ("tab", "shift+tab"),
        "other pane",
        "Between the tasks and the runs",
        hint="runs",
    ),
    Action("history.refresh", "refresh", ("R",), "look again", "Read the runs of the log again"),
    Action("history.back", "back", ("escape", "backspace"), "back", "Back to the tasks, then to the runs", hint="back"),
    # -- run
    Action(
        "run.filter",
        "filter",
        ("slash",),
        "filter",
        "Show only some tasks: text, split:validation, zone:learning, is:error",
        hint="filter",
    ),
    Action(
        "run.sort", "sort", ("s",), "sort", "Sort by position, zone, rate, delta, errors, cost or latency", hint="sort"
    ),
    Action("run.next_failure", "failure(1)", ("n",), "next failure", "The next failed attempt", hint="failure"),
    Action("run.previous_failure", "failure(-1)", ("N",), "previous failure", "The failed attempt before"),
    Action("run.pane", "pane", ("p",), "side pane", "Show or hide the attempt beside the grid", hint="pane"),
    Action(
        "run.scoring",
        "scoring",
        ("S",),
        "other scoring",
        "The run as a later scorer sees it, the newest first; is:flipped filters what it judges otherwise",
        command="rollgrid show RUN --scoring latest",
    ),
    Action(
        "run.switch_pane",
        "switch_pane",
        ("tab", "shift+tab"),
        "other pane",
        "Go to the other pane; opens it when it is hidden",
    ),
    Action(
        "run.retry",
        "retry",
        ("r",),
        "retry attempt",
        "Run this attempt once more",
        command="rollgrid retry RUN TASK ATTEMPT",
    ),
    Action("run.back", "back", ("escape", "backspace"), "back", "Back to the list of runs; first ends a filter"),
    # -- grid
    Action("grid.left", "move(0, -1)", ("left", "h"), "left", "The attempt before"),
    Action("grid.right", "move(0, 1)", ("right", "l"), "right", "The next attempt"),
    Action("grid.up", "move(-1, 0)", ("up", "k"), "up", "The task above"),
    Action("grid.down", "move(1, 0)", ("down", "j"), "down", "The task below"),
    Action("grid.page_up", "page(-1)", ("pageup", "ctrl+u"), "page up", "A page up"),
    Action("grid.page_down", "page(1)", ("pagedown", "ctrl+d"), "page down", "A page down"),
    Action("grid.top", "edge_row(-1)", ("g", "ctrl+home"), "top", "The first task"),
    Action("grid.bottom", "edge_row(1)", ("G", "ctrl+end"), "bottom", "The last task"),
    Action("grid.first_attempt", "edge_column(-1)", ("home", "0"), "first attempt", "The first attempt of this task"),
    Action(
        "grid.last_attempt", "edge_column(1)", ("end", "dollar_sign"), "last attempt", "The last attempt of this task"
    ),
    Action(
        "grid.open",
        "open",
        ("enter",),
        "open",
        "The whole transcript of this attempt",
        hint="open",
        command="rollgrid show RUN TASK ATTEMPT",
    ),
    # -- attempt
    Action(
        "attempt.next_attempt",
        "step(1)",
        ("right_square_bracket", "l", "right"),
        "next attempt",
        "The next attempt of this task",
        hint="next",
    ),
    Action(
        "attempt.previous_attempt",
        "step(-1)",
        ("left_square_bracket", "h", "left"),
        "previous attempt",
        "The attempt before",
    ),
    Action(
        "attempt.next_task",
        "task(1)",
        ("right_curly_bracket", "J"),
        "next task",
        "The same attempt of the next task",
        hint="task",
    ),
    Action(
        "attempt.previous_task",
        "task(-1)",
        ("left_curly_bracket", "K"),
        "previous task",
        "The same attempt of the task before",
    ),
    Action(
        "attempt.search",
        "search",
        ("slash",),
        "search",
        "Search the transcript; capitals count when one is typed",
        hint="search",
    ),
    Action(
        "attempt.next_failure",
        "failure(1)",
        ("n",),
        "next failure",
        "The next failed attempt; while a search stands, the next place",
        hint="failure",
    ),
    Action(
        "attempt.previous_failure",
        "failure(-1)",
        ("N",),
        "previous failure",
        "The failed attempt before; while a search stands, the place before",
    ),
    Action(
        "attempt.take",
        "take",
        ("t",),
        "other take",
        "An earlier take of this attempt, when it was run more than once",
        command="rollgrid show RUN TASK ATTEMPT --take N",
    ),
    Action(
        "attempt.copy_answer",
        "copy_answer",
        ("y",),
        "copy answer",
        "Copy the answer to the clipboard, over SSH too",
        hint="copy",
    ),
    Action(
        "attempt.retry",
        "retry",
        ("r",),
        "retry attempt",
        "Run this attempt once more",
        command="rollgrid retry RUN TASK ATTEMPT",
    ),
    Action(
        "attempt.contrast",
        "contrast",
        ("c",),
        "contrast",
        "This attempt beside one of the task with the opposite outcome",
        hint="contrast",
        command="rollgrid contrast RUN TASK ATTEMPT",
    ),
    Action(
        "attempt.back",
        "back",
        ("escape", "backspace"),
        "back",
        "Back to the grid; first ends a search",
        hint="back",
    ),
    # -- transcript
    Action("transcript.up", "scroll(-1)", ("up", "k"), "up", "A line up"),
    Action("transcript.down", "scroll(1)", ("down", "j"), "down", "A line down"),
    Action("transcript.page_up", "page(-1)", ("pageup", "ctrl+u"), "page up", "A page up"),
    Action("transcript.page_down", "page(1)", ("pagedown", "ctrl+d"), "page down", "A page down"),
    Action("transcript.top", "edge(-1)", ("home", "g"), "top", "The beginning"),
    Action("transcript.bottom", "edge(1)", ("end", "G"), "bottom", "The end"),
    Action(
        "transcript.next_section",
        "section(1)",
        ("right_parenthesis",),
        "next section",
        "The next message, tool call or verdict",
    ),
    Action("transcript.previous_section", "section(-1)", ("left_parenthesis",), "previous section", "The one before"),
    # -- contrast
    Action(
        "contrast.next", "difference(1)", ("n",), "next difference", "The next step that differs", hint="difference"
    ),
    Action("contrast.previous", "difference(-1)", ("N",), "previous difference", "The differing step before"),
    Action(
        "contrast.other",
        "other(1)",
        ("right_square_bracket", "l", "right"),
        "other attempt",
        "Compare with the next attempt of the opposite outcome",
        hint="other attempt",
        command="rollgrid contrast RUN TASK ATTEMPT OTHER",
    ),
    Action(
        "contrast.other_back",
        "other(-1)",
        ("left_square_bracket", "h", "left"),
        "attempt before",
        "With the one before",
    ),
    Action("contrast.back", "back", ("escape", "backspace"), "back", "Back to the attempt", hint="back"),
    # -- alerts
    Action(
        "alerts.retry",
        "retry",
        ("r",),
        "retry these",
        "Run every attempt of this error again",
        hint="retry these",
        command="rollgrid retry RUN --signature TEXT",
    ),
    Action(
        "alerts.switch_pane",
        "switch_pane",
        ("tab", "shift+tab"),
        "other pane",
        "Between the errors and what is said of one",
    ),
    Action("alerts.back", "back", ("escape", "backspace"), "back", "Back to where one came from", hint="back"),
    *REVIEW,
    # -- lists
    Action("list.open", "open", ("enter",), "open", "What this line stands for", hint="open"),
    Action("list.up", "cursor(-1)", ("up", "k"), "up", "The line above"),
    Action("list.down", "cursor(1)", ("down", "j"), "down", "The line below"),
    Action("list.page_up", "page(-1)", ("pageup", "ctrl+u"), "page up", "A page up"),
    Action("list.page_down", "page(1)", ("pagedown", "ctrl+d"), "page down", "A page down"),
    Action("list.top", "edge(-1)", ("home", "g"), "top", "The first line"),
    Action("list.bottom", "edge(1)", ("end", "G"), "bottom", "The last line"),
    *BASELINES,
    # -- control, wherever a run is shown
    Action(
        "control.pause_or_resume",
        "pause_or_resume",
        ("space",),
        "pause or resume",
        "Pause the run, or let it go on, also one without a runner; after a storm its attempts are run again",
        hint="pause",
        command="rollgrid pause RUN",
    ),
    Action(
        "control.cancel", "cancel", ("x",), "cancel", "Cancel the run; asks once more", command="rollgrid cancel RUN"
    ),
    Action(
        "control.more",
        "more",
        ("plus",),
        "more attempts",
        "One more attempt of this task; when the run is over, in a session of its own",
        command="rollgrid more RUN TASK",
    ),
    Action(
        "control.more_of_all",
        "more_of_all",
        ("asterisk",),
        "more of every task",
        "One more attempt of every task; asks once more",
        command="rollgrid more RUN",
    ),
    Action(
        "control.slower",
        "concurrency(-1)",
        ("less_than_sign",),
        "slower",
        "Fewer attempts at once",
        command="rollgrid concurrency RUN N",
    ),
    Action(
        "control.faster",
        "concurrency(1)",
        ("greater_than_sign",),
        "faster",
        "More attempts at once",
        command="rollgrid concurrency RUN N",
    ),
    Action(
        "control.auto",
        "concurrency(0)",
        ("A",),
        "find the pace",
        "Let the run find out how many at once pass",
        command="rollgrid concurrency RUN auto",
    ),
    Action(
        "control.alerts",
        "alerts",
        ("a",),
        "alerts",
        "Errors by cause, and what to do about them",
        hint="alerts",
        command="rollgrid errors RUN",
    ),
    Action(
        "control.review",
        "review",
        ("R",),
        "review",
        "Judge attempts from the keyboard, and see how far people and scorer agree",
        hint="review",
        command="rollgrid review RUN TASK ATTEMPT",
    ),
    # -- everywhere
    Action("app.help", "help", ("question_mark", "f1"), "help", "Every key of this screen", hint="help"),
    Action("app.commands", "command_palette", ("colon", "ctrl+p"), "commands", "Reach every action by its name"),
    Action(
        "app.baselines",
        "baselines",
        ("b",),
        "baselines",
        "The baseline files of the project, to compare a run with",
        command="rollgrid baseline list",
    ),
    Action("app.suspend", "suspend_process", ("ctrl+z",), "suspend", "Go to the shell; fg comes back"),
    Action("app.redraw", "redraw", ("ctrl+l",), "redraw", "Draw the screen anew, after something else wrote on it"),
    Action("app.theme", "next_theme", (), "theme", "Dark, light, or the terminal's own colours"),
    Action("app.quit", "leave", ("q", "ctrl+c", "ctrl+q"), "quit", "Quit the dashboard; a run goes on", hint="quit"),
)

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}


def in_scope(*scopes: str) -> Iterator[Action]:
    """The actions of these places, in the order in which help lists them."""
    return (action for action in ACTIONS if action.scope in scopes)
