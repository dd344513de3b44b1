"""JUnit, Markdown and HTML of a decision: what other programs make of them, and hostile text in them."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt

from rollgrid.analysis import GateRules, decide
from rollgrid.analysis.html import html_page
from rollgrid.analysis.junit import junit_bytes
from rollgrid.analysis.markdown import ROWS, markdown_text
from support.results import attempt, result, task_result

HOSTILE = (
    "<script>alert(1)</script>\"'&|`@someone` #12 **b** [x](http://evil.example) https://evil.example www.evil.example"
    "\x1b[31m\x00\u202e\ud800\ufffe\n- item"
)

BEFORE = result(task_result("a", "+" * 8), task_result("b", "+" * 8), task_result("c", "++++----"))
AFTER = result(task_result("a", "-" * 8), task_result("b", "+" * 8), task_result("c", "+++++---"))


def decision(after=AFTER, before=BEFORE, **rules):
    return decide(after, GateRules(**({"min_pass_rate": 0.9} | rules)), before)


def hostile_decision():
    failing = [attempt("!", error=HOSTILE) for _ in range(8)]
    after = result(task_result(HOSTILE, "-" * 8), task_result("e", failing), env_name=HOSTILE, about={"model": HOSTILE})
    before = result(task_result(HOSTILE, "+" * 8), task_result("e", "+" * 8), env_name=HOSTILE)
    return after, decide(after, GateRules(max_unscored=1), before)


# -- JUnit ----------------------------------------------------------------------------------------------------------


def cases(made):
    """What a consumer of JUnit reads: (suite, name) to the kinds of its results."""
    return {
        (suite.name, case.name): [type(one) for one in case.result]
        for suite in JUnitXml.fromstring(junit_bytes(made))
        for case in suite
    }


def test_a_consumer_reads_rules_and_tasks():
    told = cases(decision())
    assert told["arithmetic gate", "minimum pass rate"] == [Failure]
    assert told["arithmetic tasks", "a"] == [Failure]
    assert told["arithmetic tasks", "b"] == []
    assert told["arithmetic gate", "few attempts are unscored"] == []


def test_the_totals_of_the_document_are_those_of_its_tests():
    read = JUnitXml.fromstring(junit_bytes(decision()))
    stated = (read.tests, read.failures, read.errors)
    read.update_statistics()
    assert stated == (read.tests, read.failures, read.errors) == (6, 2, 0)


def test_broken_infrastructure_is_an_error_and_no_failure():
    kinds = cases(decision(replace(AFTER, stopped_early="error-storm")))
    assert kinds["arithmetic gate", "the run is complete"] == [Error]
    assert not [one for found in kinds.values() for one in found if one is Failure]
    assert kinds["arithmetic tasks", "a"] == [Skipped]


def test_a_task_with_nothing_scored_is_an_error():
    after = result(task_result("a", "+" * 10), task_result("b", "!"), k=1)
    made = decide(after, GateRules(min_pass_rate=0.5))
    assert cases(made)["arithmetic tasks", "b"] == [Error]
    assert made.outcome.value == "passed"


def test_hostile_text_makes_no_broken_document():
    _, made = hostile_decision()
    told = cases(made)
    assert any("<script>" in name for _, name in told)
    text = junit_bytes(made).decode("utf-8")
    ElementTree.fromstring(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ufffe]", text)


def test_the_document_is_stamped_with_the_time_it_is_given():
    assert b'timestamp="1970-01-01T00:00:00"' in junit_bytes(decision(), at=0)


# -- Markdown -------------------------------------------------------------------------------------------------------


def tables(text):
    """The rows of every table that a renderer of GitHub's Markdown makes, as plain cells."""
    rows, row = [], None
    for token in MarkdownIt("gfm-like").parse(text):
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            rows.append(row)
            row = None
        elif token.type == "inline" and row is not None:
            row.append("".join(one.content for one in token.children or [] if one.type == "text"))
    return rows


def test_the_summary_has_the_outcome_the_rules_and_the_worst_task_first():
    text = markdown_text(decision())
    assert text.startswith("## arithmetic: gate FAILED\n")
    rows = tables(text)
    assert rows[1][:2] == ["min_pass_rate", "FAILED"]
    tasks = rows[[row[0] for row in rows].index("task") + 1 :]
    assert [row[0] for row in tasks] == ["a", "b", "c"]
    assert tasks[0][-1] == "regressed"


def test_without_a_baseline_the_tasks_are_listed_with_the_worst_first():
    rows = tables(markdown_text(decide(AFTER, GateRules(min_pass_rate=0.1))))
    assert [row[0] for row in rows[-3:]] == ["a", "c", "b"]


def test_a_large_run_is_cut_and_says_so():
    many = result(*(task_result(f"t{i}", "+") for i in range(ROWS + 20)))
    text = markdown_text(decide(many, GateRules(min_pass_rate=0.1)))
    assert "20 more tasks are not shown" in text
    assert len(tables(text)) < ROWS + 10


def test_hostile_text_in_the_summary_does_not_act():
    _, made = hostile_decision()
    text = markdown_text(made)
    page = MarkdownIt("gfm-like").render(text)
    assert "<script" not in page
    assert "<a " not in page
    assert "<code" not in page
    assert "@someone" not in page
    assert "#12" not in page
    assert {len(row) for row in tables(text)} == {3, 7}
    assert not re.search("[\x00\x1b\u202e]", text)


# -- HTML -----------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a browser would see: tags in order with their attributes, and the text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self._open = [], "", []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "line", "circle", "polyline"}:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page_of(made, errors=None):
    return Page(html_page(made.statistics, made.comparison, made, errors))


def test_the_page_holds_verdict_plots_and_figures():
    page = page_of(decision())
    assert "Gate failed." in page.text
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == 3
    for words in ("regressed", "[-100.0, -54.1]", "Pass rate of each task", "5/8"):
        assert words in page.text


def test_the_page_loads_nothing_and_runs_nothing():
    after, made = hostile_decision()
    page = page_of(made, after.errors())
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "base", "form", "a"}
    for _, attributes in page.tags:
        assert not {"src", "href", "onload", "onerror", "style"} & set(attributes)
    (policy,) = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy


def test_hostile_text_in_the_page_is_text():
    after, made = hostile_decision()
    text = html_page(made.statistics, made.comparison, made, after.errors())
    page = Page(text)
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\x00\x1b\u202e\ud800]", text)
    text.encode("utf-8")


def test_a_run_without_a_gate_or_a_scored_attempt_has_a_page_too():
    for made in (result(), result(task_result("a", "!!"))):
        Page(html_page(made.statistics(), errors=made.errors()))


def test_made_up_answers_are_called_that_in_every_report():
    about = {"model_kind": "simulated"}
    made = decide(replace(AFTER, about=about), GateRules(min_pass_rate=0.1), replace(BEFORE, about=about))
    assert "SIMULATED" in markdown_text(made)
    assert all("SIMULATED" in str(suite.name) for suite in JUnitXml.fromstring(junit_bytes(made)))
    assert "SIMULATED" in page_of(made).text
    assert "SIMULATED" in str(made)


@pytest.mark.parametrize("tasks", [1, 40])
def test_every_task_has_a_line_in_the_plot(tasks):
    made = result(*(task_result(f"t{i}", "+-") for i in range(tasks)))
    page = Page(html_page(made.statistics()))
    assert [tag for tag, _ in page.tags].count("g") == tasks
