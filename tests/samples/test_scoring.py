"""What the samples' own scorers and tools do."""

import json

import pytest

from rollgrid.agent import RunOutput, ToolExecution
from support.samples import FOLDER, REPAIRED, environments_of, module_of

REPAIRS = module_of(FOLDER / "code_fixes" / "repairs.py")
run_apart = REPAIRS["run_apart"]


@pytest.mark.parametrize("task", REPAIRS["env"].tasks, ids=lambda task: task.id)
async def test_the_broken_function_fails_and_a_right_repair_passes(task):
    scorer, fix = REPAIRS["env"].scorer, REPAIRS["Fix"]
    broken = task.input.split("```python\n")[1].split("```")[0]
    before = await scorer.ascore(RunOutput(content=fix(code=broken)), task.expected)
    after = await scorer.ascore(RunOutput(content=fix(code=REPAIRED[task.id])), task.expected)
    assert not before.passed
    assert before.value < 1
    assert (after.value, after.passed, after.reason) == (1.0, True, "right for every case")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def f(x):\n    return x + 1", {"results": [2, 3]}),
        ("def f(x):\n    print('hello', flush=True)\n    return x", {"results": [1, 2]}),
        ("def f(x):\n    raise ValueError('no')", "ValueError: no"),
        ("def g(x):\n    return x", "KeyError"),
        ("def f(x:\n", "SyntaxError"),
        ("def f(x):\n    return {1, 2}", "TypeError"),
        ("import sys\nsys.exit(0)", "SystemExit"),
        ("import os\nos._exit(0)", "without a result"),
        ("def f(x):\n    while True: pass", "without a result"),
        ("def f(x):\n    return len(bytearray(2 ** 31))", "MemoryError"),
        ("open('left.txt', 'w').write('x' * 100)", "Error"),
        ("import os\ndef f(x):\n    return dict(os.environ).get('OPENAI_API_KEY')", {"results": [None, None]}),
        ("import os\nos.write(1, b'forged')\nos._exit(0)", "without a result"),
        ("def f(x):\n    return 'x' * 10_000_000", None),
        ("def f(x):\n    return '\\ud800\\u2028'", {"results": ["\ud800\u2028"] * 2}),
    ],
)
def test_whatever_the_code_does_is_a_result_or_an_error(code, said, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    told = run_apart(code, "f", [[1], [2]])
    if isinstance(said, dict):
        assert told == said
    elif said is None:
        assert [len(one) for one in told["results"]] == [10_000_000] * 2
    else:
        assert said in told["error"]


def test_code_that_only_sleeps_is_ended(monkeypatch):
    monkeypatch.setitem(run_apart.__globals__, "WALL_SECONDS", 1)
    told = run_apart("import time\ndef f(x):\n    time.sleep(3600)", "f", [[1]])
    assert told == {"error": "ran for more than 1 seconds"}


def test_right_answers_are_not_handed_to_the_code():
    """The child gets the inputs only: reading all that it was given does not tell what would pass."""
    told = run_apart("import __main__\ndef f(x):\n    return sorted(__main__.job)", "f", [[1]])
    assert told == {"results": [["code", "function", "inputs", "limits"]]}


def test_the_environments_fingerprint_sees_the_child_program(monkeypatch):
    env = REPAIRS["env"]
    before = env.env_fingerprint()
    monkeypatch.setitem(run_apart.__globals__, "CHILD", "print('[]')")
    assert env.env_fingerprint() != before


async def test_an_invoice_is_scored_field_by_field():
    module = module_of(FOLDER / "structured_extraction" / "invoices.py")
    task = next(task for task in module["env"].tasks if task.id == "plain")
    invoice = module["Invoice"].model_validate(task.expected)
    right = await module["env"].scorer.ascore(RunOutput(content=invoice), task.expected)
    assert (right.value, right.passed) == (1.0, True)
    invoice.lines.reverse()
    invoice.vendor = "  harbour paper LTD. "
    assert (await module["env"].scorer.ascore(RunOutput(content=invoice), task.expected)).passed
    invoice.total_cents += 1
    close = await module["env"].scorer.ascore(RunOutput(content=invoice), task.expected)
    assert (round(close.value, 3), close.passed, close.reason) == (0.833, False, "wrong: total_cents")
    nothing = await module["env"].scorer.ascore(RunOutput(problem="refusal"), task.expected)
    assert (nothing.value, nothing.reason) == (0.0, "no invoice: refusal")


@pytest.mark.parametrize("name", ["basic", "per_task"])
async def test_the_calls_that_a_task_asks_for_pass(name):
    (env,) = environments_of(FOLDER / "tool_reliability" / f"{name}.py").values()
    tools = module_of(FOLDER / "tool_reliability" / "shop_tools.py")
    for task in env.tasks:
        calls = task.expected if name == "per_task" else getattr(env.scorer, "arguments")  # noqa: B009
        done = [
            ToolExecution(tool, dict(arguments), result=tools[tool](**arguments)) for tool, arguments in calls.items()
        ]
        score = await env.scorer.ascore(RunOutput(content="Done.", tools=done), task.expected)
        assert score.passed, (task.id, score.reason)
        wrong = [*done, ToolExecution("close_account", {"customer": "somebody"}, result="closed")]
        if task.id != "goodbye":
            assert not (await env.scorer.ascore(RunOutput(content="Done.", tools=wrong), task.expected)).passed


def test_answers_to_the_tasks_are_json():
    for task in REPAIRS["env"].tasks:
        json.dumps(task.expected)
