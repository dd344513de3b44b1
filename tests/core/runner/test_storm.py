from rollgrid.runner.schedule import Slot
from rollgrid.runner.storm import Failure, StormWatch


def fail(name: str, error_type: str = "E") -> Failure:
    return Failure(signature=f"{error_type}: {name}", error_type=error_type, sample=name)


def feed(watch: StormWatch, failures):
    for index, failure in enumerate(failures):
        storm = watch.observe(Slot(index, 1, 1), failure)
        if storm is not None:
            return index + 1, storm
    return None


def test_a_storm_is_called_when_the_whole_window_failed_alike():
    count, storm = feed(StormWatch(6), [fail("401")] * 10)
    assert count == 6
    assert storm.signature == "E: 401"
    assert [slot.task for slot in storm.slots] == list(range(6))


def test_the_window_is_never_smaller_than_four():
    count, _ = feed(StormWatch(1), [fail("401")] * 10)
    assert count == 4


def test_one_early_pass_does_not_hide_an_outage():
    count, _ = feed(StormWatch(4), [None, *[fail("503")] * 9])
    assert count == 5


def test_a_score_in_between_breaks_the_streak():
    assert feed(StormWatch(4), [fail("x"), fail("x"), fail("x"), None] * 5) is None


def test_different_errors_are_no_storm_when_there_are_several_tasks():
    assert feed(StormWatch(4), [fail("a"), fail("b")] * 10) is None


def test_in_a_run_of_one_task_the_first_window_need_only_share_the_type():
    count, _ = feed(StormWatch(4, single_task=True), [fail(name) for name in "abcdefgh"])
    assert count == 4


def test_after_a_pass_a_run_of_one_task_needs_one_signature_too():
    assert feed(StormWatch(4, single_task=True), [None, *[fail(name) for name in "abcdefgh"]]) is None


def test_a_reset_starts_the_count_again():
    watch = StormWatch(4)
    feed(watch, [fail("x")] * 3)
    watch.reset()
    assert feed(watch, [fail("x")] * 3) is None
