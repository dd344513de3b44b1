"""The review queue, without a screen."""

from rollgrid_tui.state.review_book import Mark, ReviewBook
from rollgrid_tui.state.review_view import Item, ReviewView, Which, shuffled
from rollgrid_tui.state.run_view import RunView
from support.fake_log import attempt_row, review_row, run_row, task_row


def queue(*rows, reviews=(), n_tasks=2, **run):
    view = RunView()
    run = {"state": "finished", "alive": False, "k": 4, "n_tasks": n_tasks} | run
    view.apply(run_row(**run), [task_row(i, split="ab"[i % 2]) for i in range(n_tasks)], rows)
    view.apply_reviews(reviews)
    return ReviewView(view, "ada")


def test_only_what_ended_and_counts_is_in_a_queue():
    state = queue(
        attempt_row(0, 1, "running"),
        attempt_row(0, 2, "superseded"),
        attempt_row(0, 3, "cancelled"),
        attempt_row(0, 4, "timeout"),
        attempt_row(1, 1, "partial"),
        attempt_row(1, 2, "error", superseded="retry"),
        attempt_row(1, 2, "fail", take=2),
    )
    assert state.items() == [Item(1, 1, 1), Item(1, 2, 2)]
    state.which = Which.every
    assert state.items() == [Item(0, 3, 1), Item(0, 4, 1), Item(1, 1, 1), Item(1, 2, 2)]


def test_the_queue_of_disagreements_holds_them_against_the_score_that_shows():
    rows = [attempt_row(0, 1, "fail"), attempt_row(0, 2), attempt_row(1, 1, "fail", take=2)]
    reviews = [
        review_row(0, 1, verdict="disagree", passed=True, seq=1),
        review_row(0, 2, verdict="agree", passed=True, seq=2),
        review_row(1, 1, take=1, verdict="disagree", passed=True, seq=3),
    ]
    state = queue(*rows, reviews=reviews)
    state.which = Which.disagreements
    assert state.items() == [Item(0, 1, 1)], "a review of an older take says nothing of the one that counts"
    later = queue(attempt_row(0, 1), attempt_row(0, 2, "fail"), reviews=reviews)
    later.which = Which.disagreements
    assert later.items() == [Item(0, 2, 1)], "by a later scoring it is the other way round"
    assert later.view.reviews.mark(attempt_row(0, 1)) is Mark.agree


def test_the_filter_is_about_each_attempt():
    state = queue(attempt_row(0, 1, "error"), attempt_row(0, 2), attempt_row(1, 1, "error"))
    state.which = Which.every
    state.set_filter("split:a is:error")
    assert state.items() == [Item(0, 1, 1)]


def test_next_open_goes_around_the_end_and_ends_when_all_are_judged():
    rows = [attempt_row(0, n, "fail") for n in range(1, 5)]
    reviews = [review_row(0, n, author="ada", verdict="agree", passed=False, seq=n) for n in (1, 3)]
    state = queue(*rows, reviews=reviews)
    items = state.items()
    assert state.next_open(items, Item(0, 4, 1)) == Item(0, 2, 1)
    assert state.next_open(items, Item(0, 2, 1)) == Item(0, 4, 1)
    state.view.apply_reviews(
        [review_row(0, n, author="ada", verdict="agree", passed=False, seq=n + 10) for n in (2, 4)]
    )
    assert state.next_open(items, Item(0, 2, 1)) is None


def test_a_label_alone_leaves_an_attempt_open():
    state = queue(attempt_row(0, 1, "fail"), reviews=[review_row(0, 1, author="ada", label="odd", passed=None)])
    assert state.is_open(Item(0, 1, 1))


def test_the_blind_order_is_random_and_an_attempt_that_ends_later_moves_no_other():
    cells = [(task, attempt) for task in range(40) for attempt in range(1, 9)]
    order = sorted(cells, key=shuffled("r4k9tz"))
    assert order == sorted(reversed(cells), key=shuffled("r4k9tz"))
    assert order != sorted(cells, key=shuffled("other"))
    # Of the first half of the order, every task and every attempt number has about its share.
    half = order[: len(order) // 2]
    assert all(1 <= sum(task == one for task, _ in half) <= 7 for one in range(40))
    assert all(10 <= sum(attempt == one for _, attempt in half) <= 30 for one in range(1, 9))
    fewer = [cell for cell in order if cell != (7, 3)]
    assert sorted((cell for cell in cells if cell != (7, 3)), key=shuffled("r4k9tz")) == fewer


def test_a_large_queue_is_cut_and_counted(monkeypatch):
    monkeypatch.setattr("rollgrid_tui.state.review_view.QUEUE_MOST", 3)
    state = queue(*(attempt_row(0, n, "fail") for n in range(1, 5)))
    assert (len(state.items()), state.n_matching) == (3, 4)


def test_figures_are_made_anew_only_when_something_changed():
    state = queue(attempt_row(0, 1, "fail"), reviews=[review_row(0, 1, verdict="agree", passed=False)])
    before = state.agreement()
    assert (before.n, before.rate) == (1, 1.0)
    assert state.agreement() is before
    state.view.apply_reviews([review_row(0, 1, verdict="disagree", passed=True, author="cem", seq=5)])
    assert state.agreement().rate == 0.5


def test_the_labels_in_use_are_offered_the_most_frequent_first():
    book = ReviewBook()
    book.apply(review_row(0, n, label=label, seq=n) for n, label in enumerate(("b", "a", "a", "c"), 1))
    assert book.labels() == ["a", "b", "c"]
    assert book.apply([review_row(0, 1, label=None, seq=9)]) == {0}
    assert book.labels() == ["a", "c"]
