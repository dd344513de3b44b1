"""Baseline files of a project: finding, describing, matching."""

import json

import pytest

from rollgrid_tui import baselines
from rollgrid_tui.baselines import compare, counts_of, find_baselines, match
from rollgrid_tui.state.diff_view import lines_of, signed, summary
from support.fake_log import run_row
from support.results import result, task_result


def saved(path, **fields):
    path.parent.mkdir(parents=True, exist_ok=True)
    one = result(task_result("a", "++-"), task_result("b", "!"), **fields)
    one.save(path)
    return one


def test_files_are_found_below_the_project_with_their_figures(tmp_path):
    saved(tmp_path / "baselines" / "one.json", about={"model": "gpt", "created_at": 1000.0})
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / ".hidden").mkdir()
    saved(tmp_path / ".hidden" / "two.json")
    saved(tmp_path / "node_modules" / "three.json")
    found = find_baselines(tmp_path)
    (one,) = found.files
    assert found.complete
    assert (one.shown, one.env_name, one.model, one.k) == ("baselines/one.json", "arithmetic", "gpt", 3)
    assert (one.n_tasks, one.n_passed, one.n_scored, one.at) == (2, 2, 3, 1000.0)


def test_a_file_that_cannot_be_read_is_listed_with_why(tmp_path):
    (tmp_path / "bad.json").write_text('{"format_version": 1,')
    (tmp_path / "new.json").write_text('{"format_version": 7}')
    faults = {one.shown: one.fault for one in find_baselines(tmp_path).files}
    assert "cut off" in faults["bad.json"]
    assert "format_version 7" in faults["new.json"]


def test_number_and_size_of_what_is_read_are_bounded(tmp_path, monkeypatch):
    for number in range(4):
        (tmp_path / f"{number}.json").write_text(json.dumps({"format_version": 1, "x": "y" * 100}))
    monkeypatch.setattr(baselines, "MOST_FILES", 3)
    monkeypatch.setattr(baselines, "LARGEST", 50)
    found = find_baselines(tmp_path)
    assert len(found.files) == 3
    assert not found.complete
    assert all("too large" in (one.fault or "") for one in found.files)
    monkeypatch.setattr(baselines, "MOST_ENTRIES", 2)
    assert not find_baselines(tmp_path).complete


@pytest.mark.parametrize(
    ("file", "run", "word"),
    [
        ({}, {}, "same"),
        ({"env_fingerprint": "v1:bb"}, {}, "differs"),
        ({"env_fingerprint": None}, {"env_fingerprint": None}, "unknown"),
        ({"simulated": True}, {}, "simulated"),
        ({}, {"model_kind": "simulated"}, "real"),
        ({"fault": "broken"}, {}, ""),
    ],
)
def test_rates_may_be_compared_only_when_both_are_known_to_come_from_the_same_environment(tmp_path, file, run, word):
    one = baselines.BaselineFile(tmp_path, "x", 0.0, env_fingerprint="v1:aa")
    assert match(one._replace(**file), run_row(**run)) == word
    assert match(one, None) == ""


def test_what_regressed_comes_first_and_what_one_side_lacks_last():
    old = {"kept": (8, 8), "lost": (8, 8), "won": (0, 8), "gone": (1, 2), "unscored": (1, 2)}
    new = {"kept": (8, 8), "lost": (0, 8), "won": (8, 8), "new": (1, 1), "unscored": (0, 0)}
    lines = lines_of(compare(old, new, env_name="e", policy_changed=True))
    assert [(line.id, line.verdict) for line in lines[:3]] == [
        ("lost", "regressed"),
        ("kept", "within noise"),
        ("won", "improved"),
    ]
    assert {(line.id, line.verdict) for line in lines[3:]} == {
        (name, "not comparable") for name in ("unscored", "new", "gone")
    }
    words = {line.id: line.words for line in lines}
    assert [words[name] for name in ("gone", "new", "unscored")] == ["only baseline", "only this run", "not scored"]


def test_the_whole_in_one_line():
    one = compare({"a": (8, 8)}, {"a": (4, 8)}, env_name="e", policy_changed=True)
    assert summary(one).startswith("100% -> 50%   -50 points (")
    assert "1 task on both sides   policy changed" in summary(one)
    none = compare({"a": (0, 0)}, {"a": (0, 0)}, env_name="e", policy_changed=False)
    assert summary(none) == "nothing is scored on both sides yet"
    assert [signed(delta) for delta in (None, 0.0, 0.001, -0.5, 0.25)] == ["-", "0", "0", "-50", "+25"]


def test_counts_are_by_task():
    assert counts_of(result(task_result("a", "++-"), task_result("b", "!"))) == {"a": (2, 3), "b": (0, 0)}
