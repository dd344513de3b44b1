from rollgrid.runner.plan import all_slots
from rollgrid.runner.schedule import Schedule, Slot


def drain(schedule: Schedule) -> list[tuple[int, int]]:
    out = []
    while (slot := schedule.next()) is not None:
        out.append((slot.task, slot.attempt))
    return out


def test_the_first_wave_samples_every_task():
    order = drain(Schedule(all_slots(3, 2)))
    assert order == [(0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)]


def test_task_order_still_samples_every_task_first():
    order = drain(Schedule(all_slots(2, 3), "task"))
    assert order == [(0, 1), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]


def test_an_attempt_that_is_run_again_takes_its_old_place():
    schedule = Schedule(all_slots(2, 2))
    schedule.next()
    schedule.add([Slot(0, 1, 2)])
    assert schedule.next() == Slot(0, 1, 2)
    assert len(schedule) == 3
    assert (1, 1) in schedule
    assert (0, 1) not in schedule


def test_attempts_that_are_not_wanted_any_more_are_taken_out_of_the_queue():
    schedule = Schedule(all_slots(2, 3))
    schedule.next()
    assert schedule.drop(0, above=2) == [Slot(0, 3, 1)]
    assert ((0, 3) in schedule, len(schedule)) == (False, 4)
    assert drain(schedule) == [(1, 1), (0, 2), (1, 2), (1, 3)]


def test_an_attempt_that_was_taken_out_and_put_back_runs_once():
    schedule = Schedule(all_slots(1, 2))
    dropped = schedule.drop(0, above=0)
    schedule.add(dropped)
    schedule.add(dropped)
    assert len(schedule) == 2
    assert drain(schedule) == [(0, 1), (0, 2)]
    assert len(schedule) == 0


def test_after_the_first_wave_the_most_urgent_task_comes_first():
    schedule = Schedule(all_slots(3, 3))
    schedule.prefer({0: 9.0, 1: 2.0, 2: 5.0}, 1)
    assert drain(schedule) == [(0, 1), (1, 1), (2, 1), (1, 2), (1, 3), (2, 2), (2, 3), (0, 2), (0, 3)]


def test_what_is_urgent_may_change_while_attempts_wait():
    schedule = Schedule(all_slots(2, 3))
    schedule.prefer({0: 1.0, 1: 2.0}, 1)
    assert [schedule.next() for _ in range(3)] == [Slot(0, 1, 1), Slot(1, 1, 1), Slot(0, 2, 1)]
    schedule.prefer({0: 7.0}, 1)
    schedule.add([Slot(1, 4, 1)])
    assert len(schedule) == 4
    assert drain(schedule) == [(1, 2), (1, 3), (1, 4), (0, 3)]
    assert len(schedule) == 0


def test_an_urgency_that_goes_back_and_forth_runs_no_attempt_twice():
    schedule = Schedule(all_slots(2, 3), "task")
    for value in (5.0, 1.0, 5.0, 1.0):
        schedule.prefer({0: value, 1: 3.0}, 4)
    assert drain(schedule) == [(0, 1), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
