"""What a runner that is killed in the middle of writing leaves behind."""

import asyncio
import subprocess
import sys
from pathlib import Path

from rollgrid.store.reader import LogReader
from rollgrid.store.rebuild import rebuild
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, derived_rows, ended, query, started

WRITER = """
import asyncio, sys
from pathlib import Path
from rollgrid.store.codec import encode
from rollgrid.store.lease import acquire
from rollgrid.store.writer import LogWriter
from support.log_events import RUN, created, ended, started

async def main():
    path = Path(sys.argv[1])
    writer = await LogWriter.open(path)
    await acquire(path, RUN)
    writer.append(created(n_tasks=1, k=10**6))
    attempt = 0
    while True:
        for _ in range(100):
            attempt += 1
            writer.append(started(attempt=attempt))
            writer.append(ended(attempt=attempt), encode({"content": "x" * 500}))
        await writer.flush()
        print(attempt, flush=True)
        # More is always on its way when the end comes.
        for _ in range(50):
            attempt += 1
            writer.append(started(attempt=attempt))
            await asyncio.sleep(0)

asyncio.run(main())
"""


def kill_in_the_middle(path: Path) -> int:
    """Run a writer until it has flushed a few times, kill -9 it; gives the last attempt that it said was flushed."""
    tests = Path(__file__).parents[2]
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=tests)
    assert child.stdout is not None
    flushed = 0
    try:
        for _ in range(3):
            flushed = int(child.stdout.readline())
    finally:
        child.kill()
        flushed = max([flushed, *(int(line) for line in child.stdout if line.endswith("\n"))])
        child.stdout.close()
        child.wait()
    return flushed


async def test_a_killed_writer_leaves_a_whole_log_with_everything_flushed(tmp_path: Path):
    path = tmp_path / "log.db"
    flushed = await asyncio.to_thread(kill_in_the_middle, path)

    reader = await LogReader.open(path)
    try:
        run = await reader.run(RUN)
        assert run is not None
        assert (run.alive, run.effective_state) == (False, "dead")
        kept = {row.attempt for row in await reader.attempts(RUN)}
        assert kept == set(range(1, max(kept) + 1)), "no gap"
        assert max(kept) >= flushed
        transcript = await reader.transcript(RUN, 0, flushed, 1)
        assert transcript is not None
        assert transcript["content"] == "x" * 500
    finally:
        await reader.aclose()
    assert query(path, "PRAGMA integrity_check") == [("ok",)]

    before = derived_rows(path)
    await rebuild(path)
    assert derived_rows(path) == before

    ((n_ended,),) = query(path, "SELECT n_ended FROM run")
    async with LogWriter.open_cm(path) as writer:
        writer.append(started(take=2))
        writer.append(ended(take=2))
    assert query(path, "SELECT n_ended FROM run") == [(n_ended + 1,)]


def test_a_log_of_a_killed_writer_can_be_opened_by_many_at_once(tmp_path: Path):
    path = tmp_path / "log.db"
    flushed = kill_in_the_middle(path)

    async def open_all() -> list[int]:
        readers = await asyncio.gather(*(LogReader.open(path) for _ in range(10)))
        counts = [len(await reader.attempts(RUN)) for reader in readers]
        for reader in readers:
            await reader.aclose()
        return counts

    counts = asyncio.run(open_all())
    assert len(set(counts)) == 1
    assert counts[0] >= flushed
