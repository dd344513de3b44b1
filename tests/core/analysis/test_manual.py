"""The worked examples of the manual give what the manual says."""

import doctest

from support.sources import ROOT


def test_the_examples_of_the_page_on_statistics():
    found = doctest.testfile(str(ROOT / "docs" / "statistics.md"), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > 15
