"""`python -m tidelog.chaos.sockets.member SETUP CALLS`: a member of a group in its own process.

Writes its calls to the file CALLS, a line each as in a history, at the moment they are made; the
run reads them. Leaves the group and ends at SIGTERM.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

from tidelog.chaos.sockets.member_setup import MemberSetup
from tidelog.chaos.sockets.routed_peers import RoutedTransport
from tidelog.chaos.workloads.group_member import GroupMember
from tidelog.chaos.workloads.member_consumer import consumer_of_ours
from tidelog.core.system import SystemClock, SystemRandom
from tidelog.history.history import Assignment, Commit, Poll
from tidelog.history.history_lines import end_line, line_of


class FileBook:
    """`MemberBook` that is a file of lines; numbers are the member's own. `close` it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)
        self._number = 0

    @property
    def now_s(self) -> float:
        """CLOCK_MONOTONIC, as of the whole run."""
        return time.monotonic()

    def next_number(self) -> int:
        """See `MemberBook`."""
        self._number += 1
        return self._number

    def begin(self, commit: Commit) -> None:
        """See `MemberBook`."""
        self._file.write(f"{line_of(commit)}\n")

    def end(self, commit: Commit) -> None:
        """See `MemberBook`."""
        self._file.write(f"{end_line(commit)}\n")

    def add(self, call: Poll | Assignment) -> None:
        """See `MemberBook`."""
        self._file.write(f"{line_of(call)}\n")

    def note(self, what: str) -> None:
        """Into its log, which is kept when the run was not well."""
        sys.stdout.write(f"{self.now_s:.3f} {what}\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing follows."""
        self._file.close()


async def run(setup: MemberSetup, book: FileBook) -> None:
    """Until SIGTERM."""
    transport = RoutedTransport(setup.routes)
    ports = {"transport": transport, "clock": SystemClock(), "random": SystemRandom()}
    consumer_of = consumer_of_ours(setup.plan, bootstrap=setup.bootstrap, ports=ports)
    member = GroupMember(book, setup.plan, consumer_of)

    def end() -> None:
        member.is_over = True

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    try:
        await member.run()
    finally:
        await transport.close()


def main() -> None:
    """See the module."""
    setup_path, calls_path = map(Path, sys.argv[1:])
    setup = MemberSetup.from_json(setup_path.read_text(encoding="utf-8"))
    with closing(FileBook(calls_path)) as book:
        asyncio.run(run(setup, book))


if __name__ == "__main__":
    main()
