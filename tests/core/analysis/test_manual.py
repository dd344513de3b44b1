"""The worked examples of the manual give what the manual says."""

import doctest
import importlib

from support.sources import ROOT


def test_the_examples_of_the_page_on_statistics():
    found = doctest.testfile(str(ROOT / "docs" / "statistics.md"), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > 15


def test_the_examples_of_the_page_on_reviewing():
    found = doctest.testfile(str(ROOT / "docs" / "reviewing.md"), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted == 5


def test_the_interval_is_a_function_whoever_imported_its_module_before():
    analysis = importlib.import_module("rollgrid.analysis")
    importlib.import_module("rollgrid.analysis.wilson")
    assert analysis.wilson(1, 2).low > 0
