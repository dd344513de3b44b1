"""The command `rollgrid`. Each command lives in a module of its own that is imported when the command is called."""

from rollgrid_tui.cli.root import main

__all__ = ["main"]
