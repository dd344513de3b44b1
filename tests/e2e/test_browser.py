"""The report in a real browser, where there is one: it opens from the disk and shows its figures and plots."""

import shutil
import subprocess
from pathlib import Path

import pytest

from rollgrid.analysis import GateRules, decide
from rollgrid.analysis.html import html_page
from support.results import result, task_result

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(BROWSER is None, reason="needs chromium or google-chrome")]

SCORING = {"number": 2, "scorer": "CodeScorer(f)", "author": "<script>document.title='ran'</script>", "at": 1.7e9}


def test_the_report_opens_from_the_disk_in_a_browser(tmp_path: Path) -> None:
    assert BROWSER is not None
    before = result(*(task_result(f"t{n}", "++++++++") for n in range(3)))
    hostile = task_result('"><img src=x onerror="document.title=1">', "++------")
    now = result(*(task_result(f"t{n}", "+++-----") for n in range(3)), hostile, about={"scoring": SCORING})
    decision = decide(now, GateRules(), before)
    page = tmp_path / "report.html"
    page.write_text(html_page(decision.statistics, decision.comparison, decision, {}), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    told = subprocess.run(
        [BROWSER, *options, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "<h2>Rules</h2>" in told.stdout
    assert told.stdout.count("<svg") >= 2
    assert "scores of scoring 2 by CodeScorer(f)" in told.stdout
    # What was hostile is text, and the title is still the page's own.
    assert "<title>arithmetic" in told.stdout or "passed</title>" in told.stdout
    assert "<img" not in told.stdout
    assert "Refused to" not in told.stderr
