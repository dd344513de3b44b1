"""Wiring an environment, and choosing its tasks."""

import dataclasses
from functools import partial

import pytest

from rollgrid.agent import Agent
from rollgrid.environments import Environment, Task
from rollgrid.environments.environment import all_tasks, resolve_tasks
from rollgrid.scorer import CodeScorer
from support.canned import CannedModel


def equal(run, expected):
    return run.content == expected


async def upper(input):
    return input.upper()


def environment(*tasks, **fields):
    return Environment(**({"name": "e", "tasks": tasks, "scorer": CodeScorer(equal), "agent": upper} | fields))


def test_the_wiring_is_frozen_and_the_task_list_is_a_tuple():
    env = environment(tasks=[Task("a")])
    assert isinstance(env.tasks, tuple)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(env, "name", "other")  # noqa: B010 - the type checker knows that it fails


def test_tasks_may_come_from_a_generator():
    assert [task.input for task in environment(tasks=(Task(text) for text in "ab")).tasks] == ["a", "b"]


def test_the_time_limit_is_two_minutes_unless_said():
    assert environment(Task("a")).timeout_seconds == 120


class Answering:
    async def arun(self, input):
        return input


class Callable:
    async def __call__(self, input):
        return input


@pytest.mark.parametrize(
    "agent",
    [
        Agent(model=CannedModel()),
        lambda: Agent(model=CannedModel()),
        Answering(),
        Answering,
        Callable(),
        upper,
        lambda: upper,
    ],
    ids=["agent", "factory", "protocol", "class", "async callable", "async function", "factory of a function"],
)
def test_everything_that_can_be_an_agent_is_accepted(agent):
    assert environment(Task("a"), agent=agent).agent is agent


class Team:
    pass


async def no_input():
    return "x"


async def in_pieces(question):
    yield question


class InPieces:
    async def __call__(self, question):
        yield question


@pytest.mark.parametrize(
    ("agent", "named"),
    [
        (Team(), "Team"),
        ("gpt-5", "str"),
        (None, "None"),
        (42, "int"),
        (lambda question: question, "'question'"),
        (no_input, "no_input"),
        (partial(no_input), "no_input"),
        (in_pieces, "async generator in_pieces"),
        (InPieces(), "async generator InPieces"),
    ],
)
def test_anything_else_is_refused_at_once_and_its_type_is_named(agent, named):
    with pytest.raises(TypeError, match=named):
        environment(Task("a"), agent=agent)


def test_a_bare_function_as_scorer_is_told_what_to_do():
    with pytest.raises(TypeError, match=r"CodeScorer\(fn\)"):
        environment(Task("a"), scorer=equal)
    with pytest.raises(TypeError, match="the class CodeScorer"):
        environment(Task("a"), scorer=CodeScorer)


@pytest.mark.parametrize("tasks", ["abc", None, Task("a"), ["a"], [Task("a"), {"input": "b"}]])
def test_what_is_no_task_is_refused(tasks):
    with pytest.raises(TypeError, match="Task"):
        environment(tasks=tasks)


@pytest.mark.parametrize(("seconds", "error"), [(0, ValueError), (-1, ValueError), (float("nan"), ValueError)])
def test_a_time_limit_that_is_none_is_refused(seconds, error):
    with pytest.raises(error, match="timeout_seconds"):
        environment(Task("a"), timeout_seconds=seconds)


@pytest.mark.parametrize("seconds", ["60", None, True])
def test_a_time_limit_of_another_type_is_refused(seconds):
    with pytest.raises(TypeError, match="timeout_seconds"):
        environment(Task("a"), timeout_seconds=seconds)


def test_a_declared_duplicate_id_is_refused_when_the_environment_is_made():
    with pytest.raises(ValueError, match="duplicate task id 'x'"):
        environment(Task("a", id="x"), Task("b", id="x"))


def test_missing_ids_are_given_by_position():
    env = environment(Task("a"), Task("b", id="named"), Task("c"))
    assert [task.id for task in all_tasks(env)] == ["t1", "named", "t3"]


def test_a_declared_id_that_collides_with_a_positional_one_is_refused_at_run_start():
    env = environment(Task("a", id="t2"), Task("b"))
    with pytest.raises(ValueError, match="'t2'"):
        resolve_tasks(env)


def test_selected_tasks_keep_the_ids_of_their_place():
    env = environment(Task("a"), Task("b"), Task("c"))
    assert [task.id for task in resolve_tasks(env, [env.tasks[2], env.tasks[0]])] == ["t3", "t1"]


def test_a_rebuilt_equal_task_is_not_a_selection():
    env = environment(Task("a", id="x"))
    with pytest.raises(ValueError, match="rebuilt"):
        resolve_tasks(env, [Task("a", id="x")])


def test_a_task_cannot_be_selected_twice():
    env = environment(Task("a"))
    with pytest.raises(ValueError, match="twice"):
        resolve_tasks(env, [env.tasks[0], env.tasks[0]])


def test_nothing_to_run_is_an_error():
    env = environment(Task("a"))
    with pytest.raises(ValueError, match="empty"):
        resolve_tasks(env, [])
    with pytest.raises(ValueError, match="empty"):
        resolve_tasks(environment())


@pytest.mark.parametrize("id", ["two words", "a/b", "[bold]x[/bold]", "🎉", "x" * 300, "naïve\u202e"])
def test_any_text_is_an_id(id):
    assert [task.id for task in all_tasks(environment(Task("a", id=id)))] == [id]
