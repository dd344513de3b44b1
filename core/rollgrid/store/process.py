"""Who a process is, so that another one can tell whether it still lives. Linux tells most; elsewhere less is known."""

import os
import socket
from functools import cache
from pathlib import Path

_PROC = Path("/proc")


@cache
def host() -> str:
    return socket.gethostname()


@cache
def boot_id() -> str:
    """One value from boot to boot of this machine; empty where it is not known."""
    return _read(_PROC / "sys/kernel/random/boot_id").strip()


@cache
def pid_space() -> str:
    """The pid namespace. In another one (another container, say) the same number names another process."""
    try:
        return os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return ""


def start_time(pid: int) -> str:
    """When the process was started, in ticks since boot; empty where it is not known or there is no such process.

    Two processes of one machine that had the same pid differ in it.
    """
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""


def is_running(pid: int) -> bool:
    """Whether a process with this pid exists and is no zombie."""
    fields = _stat(pid)
    if fields:
        return fields[0] not in ("Z", "X", "x")
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; the name before it may hold spaces and brackets."""
    return _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
