from rollgrid.agent import Agent
from rollgrid.environments.environment import Environment
from rollgrid.environments.task import Task
from rollgrid.models.local import LocalModel
from rollgrid.runner.prepare import prepare_run
from support.models import ScriptedModel, text_reply
from support.runs import EqualScorer


def order_with(model):
    return prepare_run(Environment("env", (Task("q"),), EqualScorer(), Agent(model=model)), k=1).order


def test_the_embedded_models_attempts_of_one_task_run_close_together_while_its_prompt_is_cached():
    assert order_with(LocalModel()) == "task"


def test_other_models_sample_every_task_before_any_task_twice():
    assert order_with(ScriptedModel(text_reply("ok"))) == "breadth"
