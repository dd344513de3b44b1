"""The fold of a run's rows, without a screen."""

from rollgrid_tui.state.figures import Cell, Zone
from rollgrid_tui.state.order import Sort
from rollgrid_tui.state.run_view import Changes, RunView
from support.fake_log import NOW, attempt_row, run_row, task_row


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def view_of(*attempts, clock=None, **run):
    view = RunView(clock or Clock())
    view.apply(run_row(**run), [task_row(0), task_row(1), task_row(2)], attempts)
    return view


def test_only_the_rows_that_changed_are_named():
    view = view_of()
    changes = view.apply(attempts=[attempt_row(1, 2)])
    assert changes == Changes(rows=frozenset({1}), header=True)


def test_a_row_that_says_nothing_new_changes_nothing():
    view = view_of(attempt_row(1, 2, "running"))
    version = view.version(1)
    assert not view.apply(view.run, attempts=[attempt_row(1, 2, "running", phase="tool", detail="lookup", seq=99)])
    assert view.version(1) == version
    row = view.attempt(1, 2)
    assert row is not None
    assert row.phase == "tool"


def test_tasks_and_columns_that_appear_change_the_structure():
    view = RunView(Clock())
    assert view.apply(run_row(n_tasks=1), [task_row(0)]).structure
    assert view.columns == 4
    assert view.apply(run_row(n_tasks=1, k=6), [task_row(0, k=6)]).structure
    assert list(view.cells(0)) == [Cell.pending] * 6


def test_tasks_may_want_different_numbers_of_attempts():
    view = view_of(attempt_row(0, 1), n_tasks=3)
    grown = run_row(n_tasks=3, n_planned=14, plan_seq=9)
    assert view.wants_tasks(grown)
    changes = view.apply(grown, [task_row(0), task_row(1, k=6), task_row(2)])
    assert (changes.structure, changes.rows, view.columns) == (True, frozenset({1}), 6)
    assert [len(view.cells(task)) for task in range(3)] == [4, 6, 4]
    header = view.header()
    assert header is not None
    assert header.n_planned == 14
    assert not view.wants_tasks(grown)
    view.apply(grown._replace(n_planned=6, plan_seq=10), [task_row(task, k=2) for task in range(3)])
    assert (view.columns, [len(view.cells(task)) for task in range(3)]) == (2, [2, 2, 2])


def test_the_newest_take_counts_and_older_ones_stay_to_be_seen():
    view = view_of(attempt_row(0, 1, "error", superseded="retry"), attempt_row(0, 1, "running", take=2))
    assert view.cells(0)[0] is Cell.running
    view.apply(attempts=[attempt_row(0, 1, "pass", take=2)])
    assert view.cells(0)[0] is Cell.passed
    assert [row.take for row in view.takes(0, 1)] == [1, 2]
    assert view.figures(0).n_ended == 1


def test_a_late_result_is_superseded_and_never_counts():
    view = view_of(attempt_row(0, 1, "timeout"), attempt_row(0, 1, "pass", take=2, superseded="late"))
    assert view.cells(0)[0] is Cell.timeout
    assert view.figures(0).n_scored == 0


def test_an_attempt_all_of_whose_takes_were_superseded_shows_so():
    view = view_of(attempt_row(0, 1, "error", superseded="storm"))
    assert view.cells(0)[0] is Cell.superseded


def test_totals_are_the_sum_of_the_rows():
    view = view_of(attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(1, 1, "error"))
    view.apply(attempts=[attempt_row(0, 1, "fail")])
    assert (view.totals.n_ended, view.totals.n_scored, view.totals.n_passed) == (3, 2, 0)


def test_when_the_runner_dies_its_running_cells_are_lost_and_the_state_says_so():
    view = view_of(attempt_row(0, 1, "running"))
    changes = view.apply(run_row(alive=False))
    assert changes.rows == {0}
    assert view.cells(0)[0] is Cell.cancelled
    header = view.header()
    assert header is not None
    assert header.state == "dead"
    assert header.throughput is None


def test_throughput_and_time_left_come_from_the_last_minute():
    clock = Clock()
    view = view_of(*(attempt_row(0, n, ended_at=NOW - n) for n in range(1, 4)), clock=clock, started_at=NOW - 6)
    header = view.header()
    assert header is not None
    assert header.throughput == 0.5
    assert header.eta == 18
    clock.now += 120
    header = view.header()
    assert header is not None
    assert header.throughput is None


def test_a_paused_run_has_no_time_left():
    view = view_of(attempt_row(0, 1), state="paused")
    header = view.header()
    assert header is not None
    assert header.eta is None


def test_elapsed_time_stands_still_once_the_run_has_ended():
    clock = Clock()
    view = view_of(clock=clock, state="finished", alive=False, started_at=NOW - 60, ended_at=NOW - 20)
    clock.now += 1000
    header = view.header()
    assert header is not None
    assert header.elapsed == 40


def test_the_header_counts_tasks_in_the_learning_zone():
    view = view_of(attempt_row(0, 1), attempt_row(0, 2, "fail"), attempt_row(1, 1))
    header = view.header()
    assert header is not None
    assert header.n_learning == 1
    assert view.figures(0).zone is Zone.learning


def test_sorts_put_first_what_one_would_look_at_first():
    view = view_of(
        attempt_row(0, 1, cost=0.1, duration_seconds=1.0),
        attempt_row(1, 1, "fail", cost=0.3, duration_seconds=9.0),
        attempt_row(1, 2, "error"),
        attempt_row(2, 1, cost=0.2, duration_seconds=5.0),
        attempt_row(2, 2, "fail", cost=0.2),
    )
    view.set_baseline({"task-1": (1, 4), "task-2": (2, 2)})
    orders = {}
    for sort in Sort:
        view.set_sort(sort)
        orders[sort.value] = view.order
    assert orders == {
        "position": [0, 1, 2],
        "zone": [2, 1, 0],
        "rate": [1, 2, 0],
        "delta": [1, 0, 2],
        "errors": [1, 0, 2],
        "cost": [2, 1, 0],
        "latency": [1, 2, 0],
    }


def test_a_live_sort_moves_rows_only_now_and_then():
    clock = Clock()
    view = view_of(attempt_row(0, 1), attempt_row(1, 1), clock=clock)
    view.set_sort(Sort.rate)
    view.apply(attempts=[attempt_row(1, 2, "fail")])
    assert not view.resort()
    clock.now += 3
    assert view.resort().structure
    assert view.order == [1, 0, 2]
    assert not view.resort()


def test_when_the_run_has_ended_its_order_is_final_at_once():
    view = view_of(attempt_row(0, 1), attempt_row(1, 1))
    view.set_sort(Sort.rate)
    view.apply(run_row(state="finished", alive=False), attempts=[attempt_row(1, 2, "fail")])
    assert view.resort().structure
    assert view.order == [1, 0, 2]


def test_time_changes_nothing_while_a_run_is_paused_or_over():
    assert view_of().ticking
    assert not view_of(state="paused").ticking
    assert not view_of(alive=False).ticking


def test_the_next_failure_is_found_in_reading_order_and_around_the_end():
    view = view_of(
        attempt_row(0, 3, "fail"), attempt_row(1, 1), attempt_row(2, 2, "error"), attempt_row(2, 4, "partial")
    )
    assert view.next_failure(0, 1) == (0, 3)
    assert view.next_failure(0, 3) == (2, 2)
    assert view.next_failure(2, 2) == (2, 4)
    assert view.next_failure(2, 4) == (0, 3)
    assert view.next_failure(0, 3, -1) == (2, 4)
    assert view.next_failure(2, 4, -1) == (2, 2)


def test_the_only_failure_is_its_own_next_and_none_is_none():
    assert view_of(attempt_row(1, 1, "timeout")).next_failure(1, 1) == (1, 1)
    assert view_of(attempt_row(1, 1)).next_failure(1, 1) is None


def test_next_failure_skips_what_the_filter_hides():
    view = view_of(attempt_row(0, 1, "fail"), attempt_row(2, 1, "fail"))
    view.set_filter("task-3")
    assert view.next_failure(0, 1) == (2, 1)
    assert view.place(0) is None


def test_the_difference_to_a_baseline_follows_the_results_and_can_be_taken_away():
    view = view_of(attempt_row(0, 1), attempt_row(1, 1))
    assert view.set_baseline({"task-1": (1, 4), "task-2": (0, 0)}).structure
    assert [view.delta(task) for task in range(3)] == [0.75, None, None]
    view.apply(attempts=[attempt_row(0, 2, "fail")])
    assert view.delta(0) == 0.25
    view.set_sort(Sort.delta)
    view.set_baseline({})
    assert not view.has_baseline
    assert view.sort is Sort.position
