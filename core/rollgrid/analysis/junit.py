"""A gate's decision as JUnit XML, the format that CI services show tests from."""

import io
from datetime import UTC, datetime
from xml.etree import ElementTree

from rollgrid.analysis.gate import Finding, GateDecision, Outcome
from rollgrid.analysis.text import counted, percent, range_of
from rollgrid.text import clean_block, clean_line

__all__ = ["junit_bytes"]

RULE_NAMES = {
    "complete": "the run is complete",
    "scored": "attempts were scored",
    "max_unscored": "few attempts are unscored",
    "min_pass_rate": "minimum pass rate",
    "min_lower_bound": "minimum pass rate, lower bound",
    "max_cost": "maximum cost",
    "max_drop": "maximum drop",
    "max_significant_drop": "no significant drop",
    "no_regressed_tasks": "no task regressed",
    "baseline": "baseline",
}


def junit_bytes(decision: GateDecision, *, at: float | None = None) -> bytes:
    """The decision as one `testsuites` document in UTF-8.

    Two suites: `gate` has a test for each rule about the run, `tasks` one for each task. A rule that was broken is a
    `failure`; what could not be judged (broken infrastructure, nothing scored) is an `error`, so that a service that
    tells the two apart does not report a regression. While the run as a whole is inconclusive no test is a failure.
    `at` is the time in seconds since the epoch that the suites are stamped with.
    """
    told = decision.statistics
    blind = decision.outcome is Outcome.inconclusive
    stamp = None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    env_name = f"SIMULATED {told.env_name}" if told.simulated else told.env_name
    root = ElementTree.Element("testsuites", name=_text(env_name))
    gate = _suite(root, f"{env_name} gate", stamp)
    for rule, found in _by_rule(decision).items():
        case = _case(gate, f"{env_name}.gate", RULE_NAMES.get(rule, rule), None)
        _outcome(case, rule, found, blind=blind)
    _count(gate)
    tasks = _suite(root, f"{env_name} tasks", stamp)
    own = {task.id: [one for one in decision.findings if one.task == task.id] for task in told.tasks}
    for task in told.tasks:
        latency = task.effort.latency
        case = _case(tasks, f"{env_name}.tasks", task.id, None if latency is None else latency.total)
        found = own[task.id]
        if not task.n_scored and not any(one.outcome is not Outcome.passed for one in found):
            found = [Finding("scored", Outcome.inconclusive, f"{task.id}: no attempt was scored", task.id)]
        _outcome(case, "task", found, blind=blind)
        line = f"passed {task.n_passed} of {counted(task.n_scored, 'scored attempt')}, {task.n_unscored} unscored, "
        ElementTree.SubElement(case, "system-out").text = _text(
            f"{line}pass rate {percent(task.pass_rate)}, interval {range_of(task.interval)}"
        )
    _count(tasks)
    suites = (gate, tasks)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    ElementTree.indent(root)
    out = io.BytesIO()
    ElementTree.ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)
    return out.getvalue() + b"\n"


def _by_rule(decision: GateDecision) -> dict[str, list[Finding]]:
    """Findings about the run, by rule; those about single tasks are tests of their own."""
    found: dict[str, list[Finding]] = {}
    for one in decision.findings:
        if one.task is None:
            found.setdefault(one.rule, []).append(one)
    return found


def _suite(root: ElementTree.Element, name: str, stamp: str | None) -> ElementTree.Element:
    suite = ElementTree.SubElement(root, "testsuite", name=_text(name))
    if stamp is not None:
        suite.set("timestamp", stamp)
    return suite


def _case(suite: ElementTree.Element, group: str, name: str, took: float | None) -> ElementTree.Element:
    time = "0" if took is None else f"{took:.3f}"
    return ElementTree.SubElement(suite, "testcase", classname=_text(group), name=_text(name), time=time)


def _outcome(case: ElementTree.Element, kind: str, found: list[Finding], *, blind: bool) -> None:
    """At most one of `failure` and `error`, with every message of its kind."""
    failed = [one.message for one in found if one.outcome is Outcome.failed]
    unclear = [one.message for one in found if one.outcome is Outcome.inconclusive]
    if failed and not blind:
        node = ElementTree.SubElement(case, "failure", message=_text(failed[0]), type=kind)
        node.text = clean_block("\n".join(failed))
    elif unclear:
        node = ElementTree.SubElement(case, "error", message=_text(unclear[0]), type=kind)
        node.text = clean_block("\n".join(unclear))
    elif failed:
        ElementTree.SubElement(case, "skipped", message=_text(f"the run is inconclusive; {failed[0]}"))
    elif found:
        ElementTree.SubElement(case, "system-out").text = clean_block("\n".join(one.message for one in found))


def _count(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in suite.findall('testcase')):.3f}")


def _text(text: str) -> str:
    """Text that XML can hold: what it forbids (most controls, lone surrogates) shows as a visible stand-in."""
    return clean_line(text)
