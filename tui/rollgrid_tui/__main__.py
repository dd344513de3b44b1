"""`python -m rollgrid_tui` is the command `rollgrid`."""

from rollgrid_tui.cli import main

if __name__ == "__main__":
    main()
