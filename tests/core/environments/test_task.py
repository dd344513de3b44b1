"""Tasks and the files they come from."""

import json

import pytest

from rollgrid.environments import Task


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(text.encode(encoding))
    return path


def refusal(tmp_path, text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - each test looks at the message
        Task.from_jsonl(write(tmp_path, text))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_tasks_are_compared_by_identity():
    one, other = Task("a", 1, "x"), Task("a", 1, "x")
    assert one != other
    assert len({one, other}) == 2


def test_a_task_cannot_be_changed():
    with pytest.raises(AttributeError):
        setattr(Task("a"), "input", "b")  # noqa: B010 - the type checker knows that it fails


@pytest.mark.parametrize(
    "wrong", [{"input": 1}, {"input": None}, {"input": "a", "id": 7}, {"input": "a", "metadata": 1}]
)
def test_fields_of_another_type_are_refused(wrong):
    with pytest.raises(TypeError):
        Task(**wrong)


def test_all_four_keys_are_read(tmp_path):
    row = {"input": "2+2", "expected": {"value": 4}, "id": "sum", "metadata": {"split": "smoke"}}
    (task,) = Task.from_jsonl(write(tmp_path, json.dumps(row)))
    assert (task.input, task.expected, task.id, task.metadata) == ("2+2", {"value": 4}, "sum", {"split": "smoke"})


def test_only_input_is_required(tmp_path):
    (task,) = Task.from_jsonl(write(tmp_path, '{"input": "2+2"}\n'))
    assert (task.expected, task.id, dict(task.metadata)) == (None, None, {})


async def test_the_async_twin_reads_the_same(tmp_path):
    path = write(tmp_path, '{"input": "a"}\n{"input": "b"}\n')
    assert [task.input for task in await Task.afrom_jsonl(path)] == ["a", "b"]


def test_blank_lines_are_skipped_and_still_counted(tmp_path):
    assert len(Task.from_jsonl(write(tmp_path, '\n{"input": "a"}\r\n  \t\n\n{"input": "b"}'))) == 2
    assert "line 4" in refusal(tmp_path, '\n{"input": "a"}\n\n{"input": 1}\n')


def test_a_byte_order_mark_is_accepted(tmp_path):
    (task,) = Task.from_jsonl(write(tmp_path, '{"input": "a"}', "utf-8-sig"))
    assert task.input == "a"


@pytest.mark.parametrize("character", ["\u0085", "\u2028", "\u2029", "\x0b", "\x0c"])
def test_line_separators_inside_a_string_are_data(tmp_path, character):
    text = json.dumps({"input": f"a{character}b"}, ensure_ascii=character in "\x0b\x0c")
    (task,) = Task.from_jsonl(write(tmp_path, text))
    assert task.input == f"a{character}b"


def test_nul_and_lone_surrogates_are_data(tmp_path):
    (task,) = Task.from_jsonl(write(tmp_path, '{"input": "a\\u0000b\\ud800c"}'))
    assert task.input == "a\x00b\ud800c"


def test_an_unknown_key_names_the_line_and_the_key(tmp_path):
    message = refusal(tmp_path, '{"input": "a"}\n{"input": "b", "expected_output": "c"}\n')
    assert "line 2" in message
    assert "'expected_output'" in message


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"input": "a"', "not valid JSON"),
        ("['a']", "not valid JSON"),
        ('"a"', "a string"),
        ("[1]", "an array"),
        ("null", "null"),
        ("{}", "'input' is missing"),
        ('{"expected": 1}', "'input' is missing"),
        ('{"input": 5}', "'input' must be a string"),
        ('{"input": null}', "'input' must be a string"),
        ('{"input": "a", "id": 5}', "'id' must be a string"),
        ('{"input": "a", "metadata": ["x"]}', "'metadata' must be an object"),
        ('{"input": "a", "metadata": null}', "'metadata' must be an object"),
        ('{"input": "a", "input": "b"}', "'input' stands twice"),
        ('{"input": "a", "expected": NaN}', "NaN"),
        pytest.param('{"input": "a", "expected": ' + "[" * 100_000 + "}", "JSON", id="nested without end"),
        pytest.param('{"input": "a", "expected": ' + "9" * 5000 + "}", "not usable JSON", id="5000 digits"),
        ("\u0085", "not valid JSON"),
    ],
)
def test_every_other_line_is_refused_with_its_number(tmp_path, line, told):
    message = refusal(tmp_path, f'{{"input": "fine"}}\n{line}\n')
    assert "line 2" in message
    assert told in message


def test_text_that_is_no_utf8_names_its_line(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b'{"input": "a"}\n{"input": "\xff"}\n')
    with pytest.raises(ValueError, match="line 2: not UTF-8 text"):
        Task.from_jsonl(path)


def test_ten_thousand_tasks_are_read(tmp_path):
    path = write(tmp_path, "".join(f'{{"input": "{n}", "id": "task {n}"}}\n' for n in range(10_000)))
    tasks = Task.from_jsonl(path)
    assert (len(tasks), tasks[-1].id) == (10_000, "task 9999")
