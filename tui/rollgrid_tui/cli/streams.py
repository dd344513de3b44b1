"""Output when nobody may be left to read it: a closed terminal, a broken pipe. A run is worth more than its output."""

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

_GONE = {errno.EIO, errno.EPIPE, errno.ENXIO}


@contextmanager
def unless_gone(*numbers: int, whatever: bool = False) -> Generator[None]:
    """If the reader of these file descriptors is gone, drop what is written here and from now on lead them nowhere.

    `whatever`: do so for any other failure too, such as a full disk under a redirected stderr.
    """
    try:
        yield
    except OSError as error:
        if not whatever and error.errno not in _GONE:
            raise
        from rollgrid.runner.signals import silence

        silence(numbers)


@contextmanager
def prints_on_stderr() -> Generator[None]:
    """While this is open, whatever writes to stdout lands on stderr, also from C code and child processes."""
    with unless_gone(1):
        sys.stdout.flush()
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError):  # a stdout that is no file, as under a test's capture
        yield
        return
    saved = os.dup(number)
    os.dup2(2, number)
    try:
        yield
    finally:
        with unless_gone(number, whatever=True):
            sys.stdout.flush()
        os.dup2(saved, number)
        os.close(saved)
