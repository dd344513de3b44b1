"""What moved between two runs, and why two runs cannot be compared."""

import json

import pytest

from rollgrid.environments import EnvironmentRunResult, MismatchError, compare_prompts
from rollgrid.environments.fingerprint import PARTS
from support.results import result, task_result


def rows(current, baseline):
    return {row["id"]: row for row in current.diff(baseline).rows}


def test_each_task_has_both_counts_both_rates_and_the_delta():
    row = rows(result(task_result("a", "+++-")), result(task_result("a", "+---")))["a"]
    assert row == {
        "id": "a",
        "baseline": "1/4",
        "current": "3/4",
        "baseline_pass_rate": 0.25,
        "current_pass_rate": 0.75,
        "delta": 0.5,
        "status": "improved",
    }


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [("+-", "++", "improved"), ("++", "+-", "regressed"), ("+-", "-+", ""), ("+--", "++----", ""), ("++++", "+", "")],
)
def test_the_status_follows_the_counts(before, after, status):
    diff = result(task_result("a", after)).diff(result(task_result("a", before)))
    assert diff.rows[0]["status"] == status
    assert (diff.improved, diff.regressed) == (
        ("a",) if status == "improved" else (),
        ("a",) if status == "regressed" else (),
    )


def test_rates_that_differ_only_by_rounding_are_equal():
    # 7/10 + 7/10 against 14/20: no float may turn this into a regression.
    row = rows(result(task_result("a", "+" * 14 + "-" * 6)), result(task_result("a", "+" * 7 + "-" * 3)))["a"]
    assert (row["delta"], row["status"]) == (0.0, "")


def test_unscored_attempts_are_in_no_rate_and_nothing_scored_has_no_delta():
    row = rows(result(task_result("a", "+!")), result(task_result("a", "++")))["a"]
    assert (row["current"], row["delta"], row["status"]) == ("1/1", 0.0, "")
    row = rows(result(task_result("a", "!t")), result(task_result("a", "++")))["a"]
    assert (row["current"], row["current_pass_rate"], row["delta"], row["status"]) == ("0/0", None, None, "")


def test_tasks_of_one_side_are_listed_and_not_dropped():
    diff = result(task_result("a", "+"), task_result("b", "+")).diff(
        result(task_result("b", "+"), task_result("c", "-"))
    )
    assert [row["id"] for row in diff.rows] == ["b"]
    assert (diff.unmatched_current, diff.unmatched_baseline) == (("a",), ("c",))
    assert "only in current, not compared: a" in str(diff)
    assert "only in baseline, not compared: c" in str(diff)


@pytest.mark.parametrize(("policy", "changed"), [("pp", False), ("qq", True), (None, True)])
def test_a_changed_or_unknown_policy_is_told(policy, changed):
    diff = result(task_result("a", "+"), policy_fingerprint=policy).diff(result(task_result("a", "+")))
    assert diff.policy_changed is changed
    assert ("policy changed" if changed else "same policy") in str(diff)


def test_two_unknown_policies_are_not_the_same():
    assert result(policy_fingerprint=None).diff(result(policy_fingerprint=None)).policy_changed


def test_the_dict_is_json():
    diff = result(task_result("a", "+"), task_result("b", "!")).diff(
        result(task_result("a", "-"), task_result("b", "+"))
    )
    told = json.loads(json.dumps(diff.to_dict()))
    assert list(told) == [
        "env_name",
        "policy_changed",
        "rows",
        "improved",
        "regressed",
        "unmatched_current",
        "unmatched_baseline",
    ]
    assert told["improved"] == ["a"]


def test_the_text_has_a_line_for_each_task_and_no_escapes():
    hostile = "x\x1b[31m\u202e[bold]"
    diff = result(task_result(hostile, "+-"), task_result("b", "!")).diff(
        result(task_result(hostile, "--"), task_result("b", "+"))
    )
    text = str(diff)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]" in text
    first, second = text.split("\n")[1:3]
    assert "0/2 -> 1/2" in first
    assert "+0.50  improved" in first
    assert second.rstrip().endswith("-")


def mismatch(current, baseline):
    with pytest.raises(MismatchError) as caught:
        current.diff(baseline)
    assert "\n" not in str(caught.value)
    return caught.value


def test_other_environments_are_not_compared_and_both_fingerprints_are_named():
    error = mismatch(result(env_fingerprint="rgenv1:aa"), result(env_fingerprint="envfp2:bb"))
    assert "current='rgenv1:aa'" in str(error)
    assert "baseline='envfp2:bb'" in str(error)
    assert "compare_prompts" in str(error)


@pytest.mark.parametrize("fingerprints", [(None, "x"), ("x", None), (None, None)])
def test_no_fingerprint_matches_nothing(fingerprints):
    current, baseline = (result(env_fingerprint=one) for one in fingerprints)
    assert "matches nothing" in str(mismatch(current, baseline))


def test_the_account_says_part_by_part_what_differs():
    parts = {part: "same" for part in PARTS}
    current = result(env_fingerprint="a", fingerprint_parts=parts | {"scorer": "x", "prompt": "x"})
    baseline = result(env_fingerprint="b", fingerprint_parts=parts | {"scorer": "y", "prompt": "y"})
    error = mismatch(current, baseline)
    assert {part for part, told in error.parts.items() if told == "differs"} == {"scorer", "prompt"}
    assert {part for part, told in error.parts.items() if told == "same"} == set(PARTS) - {"scorer", "prompt"}
    assert "different: scorer, prompt" in str(error)


def test_the_account_survives_a_file(tmp_path):
    parts = {part: "same" for part in PARTS}
    result(env_fingerprint="b", fingerprint_parts=parts | {"limits": "y"}).save(tmp_path / "b.json")
    baseline = EnvironmentRunResult.load(tmp_path / "b.json")
    error = mismatch(result(env_fingerprint="a", fingerprint_parts=parts), baseline)
    assert [part for part, told in error.parts.items() if told == "differs"] == ["limits"]


def test_tasks_that_differ_are_named_even_when_no_parts_were_recorded():
    current = result(
        task_result("a", "+", input="new"),
        task_result("b", "+", expected=[1, 2]),
        task_result("c", "+"),
        env_fingerprint="x",
    )
    baseline = result(
        task_result("a", "+", input="old"),
        task_result("b", "+", expected=(1, 3)),
        task_result("d", "+"),
        env_fingerprint="y",
    )
    error = mismatch(current, baseline)
    assert error.parts["tasks"] == "differs"
    assert error.parts["scorer"] == "unknown"
    for told in ("input changed a", "expected changed b", "only in current c", "only in baseline d"):
        assert told in str(error)


def test_an_expected_tuple_that_became_a_list_in_a_file_is_no_difference():
    current = result(task_result("a", "+", expected={"rows": ((1, 2),)}), env_fingerprint="x")
    baseline = result(task_result("a", "+", expected={"rows": [[1, 2]]}), env_fingerprint="y")
    assert mismatch(current, baseline).parts["tasks"] == "unknown"


@pytest.mark.parametrize("baseline", ["baseline.json", None, {"env_fingerprint": "rgenv1:x"}])
def test_what_is_no_result_is_refused_and_a_file_is_told_how_to_be_read(baseline):
    current = result(task_result("a", "+"))
    for compared in (lambda: current.diff(baseline), lambda: compare_prompts(current, baseline)):
        with pytest.raises(TypeError, match=r"EnvironmentRunResult\.load\(path\)"):
            compared()
