"""What a runner does beside its attempts: keeps its lease, answers commands, and sees to it that the log takes all."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from rollgrid.errors import LogError
from rollgrid.runner.control import carry_out
from rollgrid.runner.engine import Engine
from rollgrid.runner.options import SessionOptions
from rollgrid.runner.rescue import write_rescue
from rollgrid.store.events import AttemptEnded, CommandAnswered, Notice
from rollgrid.store.lease import HEARTBEAT_SECONDS, Lease
from rollgrid.store.writer import LogWriter

PATIENCE_SECONDS = 3.0
"""A log that takes nothing for this long pauses the run: what cannot be kept is not worth paying for."""

_LOOK_SECONDS = 0.2


class Upkeep:
    """The caretaker of one session. `turn` is called a few times a second, `last_words` once, at the end.

    `answered` is the newest command that the log held when the session asked for the run: up to this one they were not
    meant for it. Clocks are not asked, which may be set back under a run.
    """

    def __init__(
        self,
        writer: LogWriter,
        lease: Lease,
        engine: Engine,
        options: SessionOptions,
        say: Callable[[str], None],
        answered: int,
    ) -> None:
        self.gave_up = False
        """The session ended although the log did not take everything."""
        self.missing = 0
        """Results that are not in the log then."""
        self.rescued: Path | None = None
        """The file that these were written to, None when there was no room for one."""
        self._writer = writer
        self._lease = lease
        self._engine = engine
        self.log = writer.path
        self._run_id = options.run_id
        self._patience = options.log_patience
        self._say = say
        self._last_command = 0
        self._answered = answered
        self._closing = False
        self._beat_at = time.monotonic()
        self._unreadable: str | None = None
        self._fault_since: float | None = None
        self._fault = ""
        self._told = False
        self._waits = False
        self._given_up = asyncio.Event()

    @property
    def fault(self) -> str | None:
        """What is wrong with the log now, in one line."""
        return self._writer.fault or self._unreadable

    async def turn(self) -> None:
        await self._answer_commands()
        self._watch_the_log()
        if not await self._heartbeat():
            self._engine.steering.stop("interrupted", reason="another runner has taken this run over")
            self._engine.drop_flights()

    async def last_words(self) -> None:
        """Return when the log has everything, or when there is no more waiting for it; then `gave_up` is set."""
        self._closing = True
        await self._answer_commands()
        await self._writer.flush()
        deadline = None if self._patience is None else time.monotonic() + self._patience
        while self._writer.fault is not None and not self._given_up.is_set():
            if not self._waits:
                self._waits = True
                await self._rescue()
                self._say(f"{self._writer.fault}; waiting for it with {self._results()}{self._where()}")
            if deadline is not None and time.monotonic() > deadline:
                break
            await self._heartbeat()
            await asyncio.sleep(_LOOK_SECONDS)
        self._tell_what_was_mended()
        if self._writer.fault is None:
            await self._unneeded()
            return
        await self._rescue()
        self.gave_up, self.missing = True, self._n_results()

    def interrupt(self, *, first: bool) -> bool:
        """A signal. True when it was meant for the waiting at the end."""
        if self._waits and first:
            self._say(f"waiting for the log with {self._results()}{self._where()}, press again to give up")
        elif self._waits:
            self.give_up()
        return self._waits

    def give_up(self) -> None:
        """Do not wait for the log any longer."""
        self._given_up.set()

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _heartbeat(self) -> bool:
        if time.monotonic() - self._beat_at < HEARTBEAT_SECONDS:
            return True
        self._beat_at = time.monotonic()
        return await self._lease.heartbeat()

    async def _answer_commands(self) -> None:
        """Commands from elsewhere. A log that cannot be read now holds none."""
        try:
            found = await self._writer.pending_commands(self._run_id, self._last_command)
        except (sqlite3.Error, ValueError) as error:  # ValueError: the writer is just connecting anew
            self._unreadable = f"the log cannot be read: {error}"
            return
        self._unreadable = None
        for command in found:
            self._last_command = command.command_id
            if self._closing:
                accepted, answer = False, "the run has just ended"
            elif command.command_id <= self._answered:
                accepted, answer = False, "it was meant for a runner that has ended"
            else:
                accepted, answer = carry_out(self._engine, command)
            self._writer.append(
                CommandAnswered(
                    run_id=self._run_id,
                    at=time.time(),
                    command_id=command.command_id,
                    command=command.command,
                    author=command.author,
                    accepted=accepted,
                    answer=answer,
                )
            )

    def _watch_the_log(self) -> None:
        self._tell_what_was_mended()
        steering, fault, now = self._engine.steering, self._writer.fault, time.monotonic()
        if fault is None:
            if self._told:
                self._told = False
                self._say("the log can be written again")
                seconds = now - (self._fault_since or now)
                self._notice(f"the log could not be written for {seconds:.0f} s: {self._fault}")
                steering.proceed()
            self._fault_since = None
            return
        self._fault = fault
        if self._fault_since is None:
            self._fault_since = now
        if now - self._fault_since < PATIENCE_SECONDS:
            return
        steering.suspend(fault)
        if not self._told:
            self._told = True
            self._say(f"{fault}; nothing more is started until it can be")

    def _tell_what_was_mended(self) -> None:
        while self._writer.mended:
            text = self._writer.mended.pop(0)
            self._say(text)
            self._notice(text)

    def _notice(self, text: str) -> None:
        self._writer.append(Notice(run_id=self._run_id, at=time.time(), level="warning", text=text))

    async def _rescue(self) -> None:
        unsaved = self._writer.unsaved
        if unsaved:
            self.rescued = await asyncio.to_thread(write_rescue, self.log, self._run_id, unsaved)

    async def _unneeded(self) -> None:
        """The log has all that the rescue file holds."""
        if self.rescued is not None:
            await asyncio.to_thread(self.rescued.unlink, missing_ok=True)
            self.rescued = None
        if self._waits:
            self._say("the log can be written again and has everything")

    def _n_results(self) -> int:
        return sum(isinstance(one.event, AttemptEnded) for one in self._writer.unsaved)

    def _results(self) -> str:
        n = self._n_results()
        return f"{n} result" if n == 1 else f"{n} results"

    def _where(self) -> str:
        return f" (kept in {self.rescued})" if self.rescued is not None else ""


def not_in_the_log(upkeep: Upkeep, run_id: str) -> LogError:
    """The last line of a session that gave up."""
    n = "1 result" if upkeep.missing == 1 else f"{upkeep.missing} results"
    what = f"the log of run {run_id} lacks the end of this session with {n}: {upkeep.fault}"
    if upkeep.rescued is None:
        return LogError(what, hint="there was no room to keep that elsewhere; a resume runs those attempts again")
    hint = f"it is kept in {upkeep.rescued}, and a resume takes it in"
    if upkeep.rescued.parent != upkeep.log.parent:
        hint += f" when it has been moved to {upkeep.log.parent}"
    return LogError(what, hint=hint)
