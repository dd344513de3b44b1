"""`rollgrid gate`, `diff` and `compare` on files: exit codes, reports, and where rules come from."""

import json
import os
import re
from pathlib import Path

import click
import pytest
from junitparser import JUnitXml

from rollgrid_tui.cli import root
from rollgrid_tui.cli.common import Settings
from support.results import result, task_result
from support.sources import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with runs as files; nothing of the user's settings reaches it."""
    for name in [name for name in os.environ if name.startswith("ROLLGRID_")]:
        monkeypatch.delenv(name)
    (tmp_path / "rollgrid.toml").touch()
    monkeypatch.chdir(tmp_path)
    good = [task_result(f"t{i}", "+" * 8) for i in range(8)]
    half = [task_result(f"t{i}", "++++----") for i in range(8)]
    result(*good, about={"model": "large"}).save("good.json")
    result(*half, about={"model": "small"}).save("half.json")
    result(*half[:7], task_result("t7", "!!!!!!!!")).save("blind.json")
    result(*half, stopped_early="error-storm").save("storm.json")
    result(*half, env_fingerprint="rgenv1:other").save("other.json")
    result(*half, about={"model_kind": "simulated"}).save("simulated.json")
    return tmp_path


def call(*args: str) -> int:
    return root.run_cli(args, Settings())


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("good.json", "--min-pass-rate", "0.9"), 0),
        (("half.json", "--min-pass-rate", "0.9"), 1),
        (("half.json", "--baseline", "good.json"), 1),
        (("good.json", "--baseline", "half.json"), 0),
        (("half.json", "--baseline", "good.json", "--max-drop", "0.5"), 0),
        (("half.json", "--task-floor", "t1=0.6"), 1),
        (("half.json", "--task-floor", "t1=0.5", "--task-floor", "t2=0.5"), 0),
        (("half.json", "--min-lower-bound", "0.35"), 0),
        (("half.json", "--min-lower-bound", "0.35", "--confidence", "0.999"), 1),
        (("storm.json", "--min-pass-rate", "0.9"), 3),
        (("blind.json", "--min-pass-rate", "0.9"), 3),
        (("blind.json", "--min-pass-rate", "0.9", "--max-unscored", "0.2"), 1),
        (("half.json", "--max-cost", "1"), 3),
    ],
)
def test_the_exit_code_is_the_decision(folder: Path, args: tuple[str, ...], code: int) -> None:
    assert call("gate", *args) == code


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("half.json",), "no rule"),
        (("half.json", "--max-drop", "0.1"), "no baseline"),
        (("half.json", "--min-pass-rate", "80"), "80"),
        (("half.json", "--task-floor", "t1"), "ID=RATE"),
        (("half.json", "--task-floor", "t1=high"), "ID=RATE"),
        (("half.json", "--task-floor", "t99=0.5"), "t99"),
        (("half.json", "--baseline", "other.json"), "not from the same environment"),
        (("half.json", "--baseline", "simulated.json"), "simulated"),
        (("half.json", "--baseline", "missing.json"), "missing.json"),
        (("missing.json", "--min-pass-rate", "0.5"), "missing.json"),
        (("half.json", "--min-pass-rate", "0.5", "--junit", "good.json/x.xml"), "cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_code_two(folder: Path, capsys, args: tuple[str, ...], words: str) -> None:
    assert call("gate", *args) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    (line,) = seen.err.splitlines()
    assert words in line


def test_the_reports_are_written_whole_and_into_new_folders(folder: Path) -> None:
    reports = ("--junit", "out/gate.xml", "--markdown", "out/gate.md", "--html", "out/gate.html")
    assert call("gate", "half.json", "--baseline", "good.json", *reports) == 1
    assert JUnitXml.fromfile("out/gate.xml").failures == 9
    assert Path("out/gate.md").read_text().startswith("## arithmetic: gate FAILED")
    assert Path("out/gate.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in Path("out").iterdir()) == ["gate.html", "gate.md", "gate.xml"]


def test_json_is_one_object(folder: Path, capsys) -> None:
    assert call("gate", "half.json", "--baseline", "good.json", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["exit_code"], told["comparison"]["verdict"]) == ("failed", 1, "regressed")


def test_rules_of_the_configuration_hold_and_flags_beat_them(folder: Path, capsys) -> None:
    (folder / "rollgrid.toml").write_text("[gate]\nmin_pass_rate = 0.9\ntask_floors = { t1 = 0.6 }\n")
    assert call("gate", "half.json", "--json") == 1
    failed = [one["rule"] for one in json.loads(capsys.readouterr().out)["findings"] if one["outcome"] == "failed"]
    assert failed == ["min_pass_rate", "task_floors"]
    assert call("gate", "half.json", "--min-pass-rate", "0.5", "--task-floor", "t1=0.5") == 0


def test_rules_can_stand_in_pyproject(folder: Path) -> None:
    (folder / "rollgrid.toml").unlink()
    (folder / "pyproject.toml").write_text("[tool.rollgrid.gate]\nmin_pass_rate = 0.9\n")
    assert call("gate", "half.json") == 1


def test_an_unknown_rule_of_the_configuration_is_told(folder: Path, capsys) -> None:
    (folder / "rollgrid.toml").write_text("[gate]\nminimum = 0.9\n")
    assert call("gate", "half.json") == 2
    assert "unknown rule 'minimum'" in capsys.readouterr().err


def test_made_up_answers_are_called_that(folder: Path, capsys) -> None:
    call("gate", "simulated.json", "--min-pass-rate", "0.1")
    assert "SIMULATED" in capsys.readouterr().out
    call("diff", "simulated.json", "simulated.json")
    assert "SIMULATED" in capsys.readouterr().out


def test_diff_ends_with_one_only_for_more_than_chance(folder: Path, capsys) -> None:
    result(*(task_result(f"t{i}", "++++-----") for i in range(8))).save("a bit less.json")
    assert call("diff", "half.json", "a bit less.json", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["regressed"]) == 8
    assert (told["statistics"]["verdict"], told["statistics"]["regressed"]) == ("within noise", [])
    assert call("diff", "good.json", "half.json") == 1
    assert "regressed: 100.0 % -> 50.0 %" in capsys.readouterr().out


def test_compare_shows_a_column_for_each_run(folder: Path, capsys) -> None:
    assert call("compare", "good.json", "half.json", "blind.json", "--label", "x", "--label", "y", "--label", "z") == 0
    head = capsys.readouterr().out.splitlines()[1]
    assert head.split() == ["x", "y", "z"]
    assert call("compare", "good.json", "half.json", "--reference", "2", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["labels"], told["reference"]) == (["large", "small"], 1)


@pytest.mark.parametrize(
    "args", [("good.json",), ("good.json", "other.json"), ("good.json", "half.json", "--reference", "3")]
)
def test_what_cannot_be_compared_is_code_two(folder: Path, args: tuple[str, ...]) -> None:
    assert call("compare", *args) == 2


def test_the_report_can_be_exported_without_a_gate(folder: Path) -> None:
    assert call("export", "html", "half.json", "report.html", "--baseline", "good.json") == 0
    text = Path("report.html").read_text()
    assert "What moved" in text
    assert "Gate" not in text


def test_the_workflow_of_the_manual_calls_what_there_is() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    workflow = page.split("```yaml\n")[1].split("```")[0].replace("\\\n", " ")
    lines = re.findall(r"rollgrid (gate|run) ([^|\n]*)", workflow)
    assert {name for name, _ in lines} == {"gate", "run"}
    for name, words in lines:
        command = root.cli.get_command(click.Context(root.cli), name)
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words.split() if word.startswith("-")} <= known
