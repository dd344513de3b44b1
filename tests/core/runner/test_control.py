import pytest

from rollgrid.runner.control import carry_out
from rollgrid.store.rows import CommandRow
from support.runs import ListSink, make_engine, make_plan


def command(name, **args):
    return CommandRow(1, "run", 0.0, "ada", name, args, None, None)


@pytest.fixture
def engine():
    return make_engine(make_plan(), ListSink())[0]


def test_commands_are_carried_out_and_answered_in_words(engine):
    assert carry_out(engine, command("pause")) == (True, "paused: nothing more starts, what is in flight finishes")
    assert engine.steering.state == "paused"
    assert carry_out(engine, command("resume")) == (True, "running again")
    assert engine.steering.state == "running"
    assert carry_out(engine, command("cancel"))[0]
    assert (engine.steering.state, engine.steering.stopped_early) == ("stopping", "interrupted")


def test_a_command_that_no_longer_applies_says_why(engine):
    assert carry_out(engine, command("resume")) == (False, "the run is running")
    engine.steering.stop("interrupted")
    assert carry_out(engine, command("pause")) == (False, "the run is stopping")
    assert carry_out(engine, command("retry", task=0, attempt=1)) == (False, "the run is stopping")


@pytest.mark.parametrize("limit", [None, "8", True, 0, -1])
def test_a_concurrency_that_makes_no_sense_is_refused(engine, limit):
    accepted, answer = carry_out(engine, command("concurrency", limit=limit))
    assert not accepted
    assert answer
    assert engine.concurrency == 4


def test_an_unknown_command_is_refused_by_name(engine):
    assert carry_out(engine, command("explode")) == (False, "this runner knows no command `explode`")
