"""The expected values of the samples, worked out from the words of their tasks."""

import re
from datetime import date

import pytest

from support.samples import FOLDER, SAMPLES, environments_of

NUMBER = r"(\d+)"


def chained(a, b, factor, modulus):
    product = a * b
    return factor * sum(int(digit) for digit in str(product)) - product % modulus


def recurrence(rounds):
    value = 271828
    for n in range(1, rounds + 1):
        value = (value**2 + 97 * n + 31) % 10000019
    return value


def numbers_in(text):
    return [int(number) for number in re.findall(NUMBER, text)]


def worked_out(task):
    """The answer to a task that is about numbers, None for others."""
    text = task.input
    if found := re.fullmatch(
        rf"Let P be {NUMBER} times {NUMBER} .* What is {NUMBER} \* S - \(P mod {NUMBER}\)\?", text
    ):
        return chained(*map(int, found.groups()))
    if "Work out two numbers" in text:
        numbers = numbers_in(text)
        return chained(*numbers[:4]) + chained(*numbers[4:])
    if re.match(rf"Multiply {NUMBER} by {NUMBER}\.", text):
        return chained(*numbers_in(text))
    if found := re.search(r"What is a_(\d+)\?", text):
        assert "a_0 = 271828" in text
        assert "(a_(n-1)^2 + 97*n + 31) mod 10000019" in text
        return recurrence(int(found[1]))
    if found := re.fullmatch(rf"(?:How much|What) is {NUMBER} times {NUMBER}\?", text):
        return int(found[1]) * int(found[2])
    if found := re.match(r"How many days lie between (\S+) and (\S+),", text):
        return (date.fromisoformat(found[2]) - date.fromisoformat(found[1])).days
    return OTHERS[text]() if text in OTHERS else None


OTHERS = {
    "What is the ISO week number of 2027-01-01?": lambda: date(2027, 1, 1).isocalendar().week,
    "What is MCMXLIV as a number?": lambda: 1000 + (1000 - 100) + (50 - 10) + (5 - 1),
    "What is 1011010 in base 2?": lambda: int("1011010", 2),
    "How many seconds are 2 hours, 3 minutes and 4 seconds?": lambda: 2 * 3600 + 3 * 60 + 4,
    "What is 0x3F2 as a decimal number?": lambda: int("3F2", 16),
    "How many of the letters a, e, i, o and u are in 'the unequal heirloom'?": lambda: sum(
        letter in "aeiou" for letter in "the unequal heirloom"
    ),
    "How many digits does 7 to the power of 40 have?": lambda: len(str(7**40)),
    "How many prime numbers lie between 200 and 300?": lambda: sum(
        all(n % d for d in range(2, n)) for n in range(201, 300)
    ),
}


def numeric_tasks():
    found = {}
    for name in SAMPLES:
        for env in environments_of(FOLDER / name).values():
            found.update({f"{name}:{task.id}": task for task in env.tasks if isinstance(task.expected, int)})
    return found


TASKS = numeric_tasks()


@pytest.mark.parametrize("name", TASKS)
def test_the_expected_number_is_right(name):
    assert worked_out(TASKS[name]) == TASKS[name].expected


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (20944939, chained(2718281828459045, 1618033988749895, 131071, 65521)),
        (76998482, chained(2236067977499789, 2449489742783178, 524287, 99991)),
        (16568751, chained(1414213562373095, 1732050807568877, 99991, 32749)),
        (16756170, chained(3141592653589793, 2718281828459045, 104729, 65537)),
        (16731173, chained(3141592653589793, 1414213562373095, 104729, 65537)),
        (9838934, chained(9999999967, 9999999973, 104729, 7919)),
        (37676112, 20944939 + 16731173),
        (6856135, recurrence(8)),
        (7826798, recurrence(9)),
        (542370, recurrence(10)),
    ],
)
def test_the_known_results_are_right_and_stand_in_a_sample(expected, value):
    assert value == expected
    assert expected in {task.expected for task in TASKS.values()}


def test_the_invoices_add_up():
    (env,) = environments_of(FOLDER / "structured_extraction" / "invoices.py").values()
    totals = {
        task.id: sum(line["quantity"] * line["unit_price_cents"] for line in task.expected["lines"])
        for task in env.tasks
    }
    totals["discount-and-tax"] = totals["discount-and-tax"] * 90 // 100 * 120 // 100
    assert totals == {task.id: task.expected["total_cents"] for task in env.tasks}
