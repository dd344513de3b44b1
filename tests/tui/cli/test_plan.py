"""`rollgrid plan` and `rollgrid run --until decided` as a shell sees them."""

import json

import pytest

from support.cli import Shell

ENVIRONMENT = """\
import random
from rollgrid import CodeScorer, Environment, Task

RATES = {"sure": 1.0, "half": 0.5, "never": 0.0}

class Drawn:
    async def arun(self, input, context):
        right = random.Random(context.seed).random() < RATES[input]
        context.output.metrics.input_tokens, context.output.metrics.output_tokens = 100, 20
        return "yes" if right else "no"

    def prompt_fields(self):
        return {}

    def policy(self):
        return {"id": "drawn"}

    def copy_for_attempt(self):
        return self

def is_yes(run, expected):
    return run.content == expected

env = Environment(
    name="drawn", agent=Drawn(), scorer=CodeScorer(is_yes), tasks=[Task(name, "yes", id=name) for name in RATES]
)
"""


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "drawn.py").write_text(ENVIRONMENT)
    shell = Shell(tmp_path)
    yield shell
    shell.clear_away()


def test_a_run_until_decided_says_what_it_settled_wherever_one_looks(shell):
    done = shell.run("run", "drawn.py", "--until", "decided", "--seed", "a", "--headless", "--json")
    assert done.returncode == 0, done.stderr
    assert "settled: 3 of 3 tasks" in done.stdout
    assert "3 of 3 tasks settled" in done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert {name: one["claim"] for name, one in facts["settled"].items()} == {
        "sure": "saturated",
        "half": "learning",
        "never": "hopeless",
    }
    # The frozen keys stay what they are.
    assert "settled" not in facts["summary"]
    assert set(facts["summary"]["tasks"][0]) == {"id", "pass_rate", "mean_value", "n_unscored", "learning_zone"}

    shown = shell.run("show", "last")
    assert "settled: 3 of 3 tasks (1 saturated, 1 learning, 1 hopeless)" in shown.stdout
    one = shell.run("show", "last", "sure")
    assert "settled: saturated: passes more than 80 % of the time; 15 of 15 when it was decided" in one.stdout
    told = json.loads(shell.run("show", "last", "--json").stdout)
    assert told["tasks"][0]["settled"]["n_scored"] == 15
    plan = json.loads(shell.run("plan", "last", "--json").stdout)
    assert (plan["n_settled"], plan["n_open"]) == (3, 0)


def test_a_plan_prices_what_is_open_and_a_baseline_asks_for_changes(shell):
    done = shell.run("run", "drawn.py", "-k", "8", "--seed", "a", "--headless")
    assert done.returncode == 0, done.stderr
    assert "settled" not in shell.run("show", "last").stdout
    plan = json.loads(shell.run("plan", "last", "--json").stdout)
    task = next(one for one in plan["tasks"] if one["id"] == "sure")
    assert task["claim"] is None
    assert task["expected"]["tokens"] == pytest.approx(120 * task["expected"]["attempts"])
    assert "the rest takes about" in shell.run("plan", "last").stdout

    shell.run("baseline", "save", "last", "b.json")
    asked = ("plan", "last", "--baseline", "b.json", "--delta", "0.3", "--horizon", "20", "--json")
    against = json.loads(shell.run(*asked).stdout)
    assert (against["question"], against["delta"]) == ("change", 0.3)
    again = shell.run("run", "drawn.py", "--until", "decided", "--baseline", "b.json", "--max-k", "20", "--headless")
    assert again.returncode == 0, again.stderr
    assert "baseline" in again.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("run", "drawn.py", "--max-k", "9", "--headless"), "--max-k means nothing without --until"),
        (("run", "drawn.py", "--until", "decided", "-k", "9", "--headless"), "and so does -k"),
        (("run", "drawn.py", "--until", "decided", "--delta", "0.1", "--headless"), "there is none"),
        (("run", "drawn.py", "--until", "bored", "--headless"), "decided"),
        (("run", "drawn.py", "--until", "decided", "--max-k", "0", "--headless"), "--max-k"),
        (("plan", "nothing"), "there is no log"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(shell, args, says):
    done = shell.run(*args)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_usual_number_of_attempts_in_the_surroundings_stands_in_the_way_of_nothing(shell):
    shell.variables["ROLLGRID_K"] = "3"
    done = shell.run("run", "drawn.py", "--until", "decided", "--max-k", "5", "--headless")
    assert done.returncode == 0, done.stderr


def test_a_baseline_of_another_environment_is_refused_before_anything_runs(shell):
    (shell.folder / "other.py").write_text(ENVIRONMENT.replace('"sure"', '"certain"'))
    shell.run("run", "other.py", "-k", "1", "--headless")
    shell.run("baseline", "save", "last", "b.json")
    done = shell.run("run", "drawn.py", "--until", "decided", "--baseline", "b.json", "--headless")
    assert done.returncode == 2
    assert "another environment" in done.stderr
    assert len(json.loads(shell.run("runs", "--json").stdout)["runs"]) == 1


def test_max_k_means_nothing_for_a_run_of_a_fixed_number(shell):
    shell.run("run", "drawn.py", "-k", "1", "--headless")
    done = shell.run("resume", "last", "--max-k", "9", "--headless")
    assert done.returncode == 2
    assert "was not started with --until decided" in done.stderr


def test_a_run_that_is_killed_again_and_again_settles_what_it_would_have_settled(shell):
    """The runner dies without a word at moments that it does not choose; nothing is decided twice, or differently."""
    slow = ENVIRONMENT.replace('return "yes"', 'await asyncio.sleep(0.05)\n        return "yes"')
    slow = slow.replace("import random", "import asyncio, random").replace('"half": 0.5', '"half": 0.7, "most": 0.85')
    (shell.folder / "drawn.py").write_text(slow)
    started = ("run", "drawn.py", "--until", "decided", "--max-k", "40", "--seed", "s", "--headless")
    assert shell.run(*started, "--log", "whole.db").returncode == 0
    whole = json.loads(shell.run("show", "last", "--json", "--log", "whole.db").stdout)

    for n_ended, args in ((6, started), (20, ("resume", "last", "--headless")), (34, ("resume", "last", "--headless"))):
        child = shell.start(*args)
        shell.wait_for_run(lambda run, least=n_ended: run["n_ended"] >= least)
        child.kill()
        child.wait()
    assert shell.run("resume", "last", "--headless").returncode == 0
    told = json.loads(shell.run("show", "last", "--json").stdout)
    assert {one["id"]: one["settled"] for one in told["tasks"]} == {one["id"]: one["settled"] for one in whole["tasks"]}
    assert told["state"] == "finished"
