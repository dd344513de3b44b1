"""The manual's page about the server says what the server does."""

import re
from pathlib import Path
from typing import Any

from rollgrid.testing import describe, parse_spec
from rollgrid.testing.backend import Backend
from rollgrid.testing.spec import FAULTS, Spec

PAGE = (Path(__file__).parents[3] / "docs" / "simulate.md").read_text(encoding="utf-8")


def test_the_table_of_keys_is_that_of_the_program():
    section = PAGE.partition("## Keys")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| (\S+) \| (.+) \|$", section, flags=re.MULTILINE) == describe()
    assert [key for key, _, _ in describe() if key in FAULTS] == list(FAULTS)


def test_every_spec_on_the_page_can_be_read():
    specs = re.findall(r"--spec ([a-z0-9]\S+)", PAGE)
    specs += [name.replace("+", ",") for name in re.findall(r"--model m\+(\S+)", PAGE)]
    specs += re.findall(r"8099/(\S+=\S+)/v1", PAGE) + re.findall(r'SimulatedServer\("(\S+?)"', PAGE)
    assert len(specs) > 10
    for spec in specs:
        parse_spec(spec)


def test_every_figure_of_the_stats_is_named():
    stats = Backend(Spec(), None, 0, lambda: 0.0).stats()
    assert [name for name in stats if f"`{name}`" not in PAGE] == []


async def test_the_example_works():
    example = PAGE.partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(example, names)
    await names["test_my_agent_survives_rate_limits"]()
