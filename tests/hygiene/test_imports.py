"""What may not be imported, looked up in a fresh process."""

import json
import subprocess
import sys

import pytest

HEAVY = ("openai", "textual", "scipy", "numpy")


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running `code`."""
    script = f"import json, sys\n{code}\nsys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.rsplit("\n", 1)[1]))


def command_line(*args: str) -> str:
    return (
        "try:\n"
        "    from rollgrid_tui.cli import main\n"
        f"    main({list(args)!r})\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
    )


def test_importing_the_library_loads_no_client_and_no_dashboard() -> None:
    assert not modules_after("import rollgrid") & {*HEAVY, "pydantic", "rollgrid_tui", "click", "rich"}


@pytest.mark.parametrize(
    "args",
    [("--help",), ("--version",), ("run", "--help"), ("model", "--help"), ("runs", "--help"), ("simulate", "--help")],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(args: tuple[str, ...]) -> None:
    assert not modules_after(command_line(*args)) & {*HEAVY, "pydantic", "aiosqlite", "asyncio", "rich"}


def test_completion_loads_nothing_heavy() -> None:
    code = (
        "import os\n"
        "os.environ.update(_ROLLGRID_COMPLETE='bash_complete', COMP_WORDS='rollgrid mo', COMP_CWORD='1')\n"
        + command_line()
    )
    assert not modules_after(code) & {*HEAVY, "pydantic"}


def test_every_module_of_the_core_stays_clear_of_the_dashboard() -> None:
    code = (
        "import importlib, pkgutil, rollgrid\n"
        "for module in pkgutil.walk_packages(rollgrid.__path__, 'rollgrid.'):\n"
        "    if not module.name.endswith('__main__') and 'pytest' not in module.name:\n"
        "        importlib.import_module(module.name)\n"
    )
    assert not modules_after(code) & {"textual", "rich", "click", "rollgrid_tui"}


def test_the_dashboards_state_is_plain_python() -> None:
    code = (
        "import importlib, pkgutil, rollgrid_tui.state as state\n"
        "for module in pkgutil.walk_packages(state.__path__, 'rollgrid_tui.state.'):\n"
        "    importlib.import_module(module.name)\n"
    )
    assert not modules_after(code) & {"textual", "rich", "openai"}


@pytest.mark.parametrize("name", ["rollgrid_tui.cli.runs", "rollgrid.store.reader", "rollgrid.store.commands"])
def test_reading_the_log_needs_no_client(name: str) -> None:
    assert not modules_after(f"import {name}") & {"openai", "textual", "scipy"}


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import rollgrid", 90),
        (command_line("--help"), 160),
        ("import rollgrid_tui.app, rollgrid_tui.dashboard, rollgrid.store.reader, rollgrid.store.commands", 540),
    ],
    ids=["import rollgrid", "rollgrid --help", "the dashboard"],
)
def test_a_start_loads_no_more_modules_than_it_needs(code: str, most: int) -> None:
    """The dashboard needs textual, which is two thirds of the count; what only later screens show comes with them."""
    assert len(modules_after(code)) <= most


def test_the_dashboard_starts_without_what_its_first_screens_do_not_show() -> None:
    loaded = modules_after("import rollgrid_tui.dashboard, rollgrid.store.reader, rollgrid.store.commands")
    assert not loaded & {"pydantic", "openai", "scipy", "numpy", "rollgrid.store.events"}
    assert {name for name in loaded if name.startswith("rollgrid_tui.screens.")} <= {
        f"rollgrid_tui.screens.{name}" for name in ("base", "run", "run_control", "run_scorings", "runs")
    }
