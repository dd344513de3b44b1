"""The pages say what is there: commands exist, links lead somewhere, settings are the ones that are read."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import click
import pytest

from rollgrid.config import Config
from rollgrid_tui.cli.root import COMMANDS, cli
from support.sources import ROOT, name_of, tracked_files

PAGES = [path for path in tracked_files() if path.suffix == ".md"]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing: list[str] = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            missing.append(target)
    assert not missing


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+\s+(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def command_lines() -> list[tuple[str, str]]:
    """Every `rollgrid ...` of a page, in a shell block or between backticks."""
    found: list[tuple[str, str]] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for language, block in FENCE.findall(text):
            if language in {"sh", "bash", "console", "shell"}:
                lines = (line.strip().removeprefix("$ ") for line in block.splitlines())
                found += [(name_of(page), line) for line in lines if line.startswith("rollgrid ")]
        found += [(name_of(page), line) for line in re.findall(r"(?<!`)`(rollgrid [^`\n]+)`", FENCE.sub("", text))]
    return found


@pytest.mark.parametrize(("page", "line"), command_lines(), ids=lambda value: str(value))
def test_every_command_of_the_pages_exists(page: str, line: str) -> None:
    words = shlex.split(line.split("#")[0].replace("[", " ").replace("]", " "))[1:]
    context = click.Context(cli, info_name="rollgrid")
    command: click.Command = cli
    for word in words:
        if isinstance(command, click.Group):
            if word.startswith("-"):
                assert word.split("=")[0] in options(command), f"{page}: {line}"
                continue
            if word.isupper():
                return  # a placeholder for any command
            found = command.get_command(context, word.rstrip(",.;:"))
            assert found is not None, f"{page}: {line}"
            command = found
        elif word.startswith("-") and word != "-":
            assert word.split("=")[0] in options(command), f"{page}: {line}: no option {word}"


def options(command: click.Command) -> set[str]:
    names = {"-h", "--help"}
    for parameter in command.params:
        names.update(parameter.opts, parameter.secondary_opts)
    return names


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_with_an_example(name: str) -> None:
    command = cli.get_command(click.Context(cli, info_name="rollgrid"), name)
    assert command is not None
    commands = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for each in commands:
        assert each.help, each.name
        assert "Example: rollgrid" in (each.epilog or ""), f"{name} {each.name} has no example in its help"
        assert f"rollgrid {name}" in page
        for parameter in each.params:
            long = next((opt for opt in parameter.opts if opt.startswith("--")), None)
            assert long is None or f"`{long}" in page or f" {long}" in page, f"docs/commands.md lacks {long} of {name}"


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for field in fields(Config):
        assert field.name == "source" or f"`{field.name}`" in page


def test_the_readme_names_the_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / page).read_text(encoding="utf-8")))
        assert named <= targets
        assert {"test"} <= named
