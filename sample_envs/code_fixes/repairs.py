"""Repair a function. What the model writes is run in a process of its own, on inputs whose results stay here."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, Field

from rollgrid.agent import Agent, RunOutput
from rollgrid.environments import Environment, Task, run_rollouts
from rollgrid.models.openai import OpenAIResponses
from rollgrid.scorer import CodeScorer, Score

WALL_SECONDS = 10
LIMITS = {"cpu_seconds": 2, "memory_bytes": 512 * 1024 * 1024, "file_bytes": 0, "open_files": 32}

# Runs in the child. The limits are set before the model's code is compiled, and nothing can raise them again.
CHILD = """
import json, os, resource, sys
job = json.loads(sys.stdin.buffer.read())
limits = job["limits"]
for name, key in (("RLIMIT_CPU", "cpu_seconds"), ("RLIMIT_AS", "memory_bytes"), ("RLIMIT_FSIZE", "file_bytes"),
                  ("RLIMIT_NOFILE", "open_files")):
    try:
        resource.setrlimit(getattr(resource, name), (limits[key], limits[key]))
    except (ValueError, OSError):
        pass  # not every system has every limit
answer = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
space = {"__name__": "fix"}
try:
    exec(compile(job["code"], "fix.py", "exec"), space)
    results = [space[job["function"]](*arguments) for arguments in job["inputs"]]
    told = {"results": results}
    line = json.dumps(told)
except BaseException as error:
    line = json.dumps({"error": f"{type(error).__name__}: {error}"[:500]})
while line:
    line = line[os.write(answer, line.encode()[:65536]):] if line.isascii() else ""
"""


class Fix(BaseModel):
    code: str = Field(description="The whole corrected function as Python source, without prose")


def passes_the_cases(run: RunOutput, expected: dict[str, Any]) -> Score:
    """The share of cases that the repaired function gets right; all of them is a pass."""
    if run.content is None:
        return Score(0.0, False, reason=f"no code: {run.problem}")
    cases = expected["cases"]
    told = run_apart(run.content.code, expected["function"], [inputs for inputs, _ in cases])
    if "error" in told:
        return Score(0.0, False, reason=told["error"])
    results = told["results"]
    wrong = [inputs for (inputs, right), result in zip(cases, results, strict=True) if result != right]
    reason = f"wrong for {json.dumps(wrong[0])}" if wrong else "right for every case"
    return Score((len(cases) - len(wrong)) / len(cases), not wrong, reason=reason)


def run_apart(code: str, function: str, inputs: list[list[Any]]) -> dict[str, Any]:
    """`{"results": [...]}` or `{"error": text}` of calling `function`, as `code` defines it, once for each input."""
    job = json.dumps({"code": code, "function": function, "inputs": inputs, "limits": LIMITS}).encode()
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={},
            start_new_session=True,
        )
        try:
            out, _ = child.communicate(job, timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            return {"error": f"ran for more than {WALL_SECONDS} seconds"}
        finally:
            end_group(child)
    try:
        told: Any = json.loads(out)
    except ValueError:
        return {"error": f"ended without a result, exit code {child.returncode} (a limit, or it left on its own)"}
    match told:
        case {"error": str(error)}:
            return {"error": error}
        case {"results": [*results]} if len(results) == len(inputs):
            return {"results": results}
        case _:
            return {"error": "answered something else than results"}


def end_group(child: "subprocess.Popen[bytes]") -> None:
    """End the child with all that it started and that did not leave its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            stream.close()


def repair(id: str, code: str, complaint: str, function: str, cases: list[tuple[list[Any], Any]]) -> Task:
    return Task(
        id=id,
        input=f"{complaint}\n\n```python\n{code.strip()}\n```\n\nCorrect the function. Keep its name and parameters.",
        expected={"function": function, "cases": [[inputs, right] for inputs, right in cases]},
    )


env = Environment(
    name="code-fixes",
    agent=Agent(
        model=OpenAIResponses(id="gpt-5.5", reasoning_effort="low"),
        instructions="You repair Python functions. Use the standard library only.",
        output_schema=Fix,
    ),
    tasks=(
        repair(
            "off-by-one",
            "def last_words(text, n):\n    words = text.split()\n    return words[len(words) - n + 1:]\n",
            "The last word goes missing when one is asked for, and with n=0 there should be none.",
            "last_words",
            [(["a b c", 1], ["c"]), (["a b c", 2], ["b", "c"]), (["a b c", 0], []), (["a", 5], ["a"]), (["", 1], [])],
        ),
        repair(
            "half-open",
            "def overlaps(a, b):\n    return a[0] <= b[1] and b[0] <= a[1]\n",
            "Spans are [start, end): the end is not part of them. Spans that only touch must not overlap, and an empty "
            "span overlaps nothing.",
            "overlaps",
            [
                ([[1, 3], [2, 5]], True),
                ([[1, 3], [3, 5]], False),
                ([[3, 5], [1, 3]], False),
                ([[1, 9], [4, 5]], True),
                ([[1, 9], [4, 4]], False),
                ([[2, 2], [2, 2]], False),
            ],
        ),
        repair(
            "shared-default",
            "def collect(pairs, into={}):\n    for key, value in pairs:\n        into[key] = value\n    return into\n",
            "Results of earlier calls turn up in later ones, and a key that stands twice must keep all of its values, "
            "in a list.",
            "collect",
            [([[["a", 1]]], {"a": [1]}), ([[["b", 2], ["b", 3]]], {"b": [2, 3]}), ([[]], {})],
        ),
        repair(
            "rounding",
            "def split_evenly(cents, people):\n    share = round(cents / people)\n    return [share] * people\n",
            "The shares must add up to the sum. The first ones may be a cent larger than the last ones; large sums "
            "must be exact.",
            "split_evenly",
            [
                ([100, 3], [34, 33, 33]),
                ([5, 2], [3, 2]),
                ([0, 4], [0, 0, 0, 0]),
                ([90071992547409931, 2], [45035996273704966, 45035996273704965]),
            ],
        ),
    ),
    scorer=CodeScorer(passes_the_cases),
)

if __name__ == "__main__":
    result = run_rollouts(env, k=6)
    print(result)
    result.print_report()
