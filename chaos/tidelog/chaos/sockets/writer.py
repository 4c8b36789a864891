"""`python -m tidelog.chaos.sockets.writer SETUP CALLS`: a writer of transactions in a process.

Writes its calls to the file CALLS, a line each as in a history, as they begin and end; the run
reads them. Ends what it has begun at SIGTERM, and then itself; fenced, it waits for that.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

from tidelog.chaos.sockets.routed_peers import RoutedTransport
from tidelog.chaos.sockets.writer_setup import WriterSetup
from tidelog.chaos.workloads.transaction_calls import producer_of_ours
from tidelog.chaos.workloads.transaction_writer import TransactionWriter
from tidelog.core.chance import SeededRandom
from tidelog.core.system import SystemClock, SystemRandom
from tidelog.history.history import Send, Transaction
from tidelog.history.history_lines import commit_begun_line, end_line, line_of


class FileBook:
    """`WriterBook` that is a file of lines; numbers are the writer's own. `close` it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)
        self._number = 0

    @property
    def now_s(self) -> float:
        """CLOCK_MONOTONIC, as of the whole run."""
        return time.monotonic()

    def next_number(self) -> int:
        """See `WriterBook`."""
        self._number += 1
        return self._number

    def begin(self, call: Send | Transaction) -> None:
        """See `WriterBook`."""
        self._file.write(f"{line_of(call)}\n")

    def begin_commit(self, call: Transaction) -> None:
        """See `WriterBook`."""
        self._file.write(f"{commit_begun_line(call.number, call.commit_begun_s or 0.0)}\n")

    def end(self, call: Send | Transaction) -> None:
        """See `WriterBook`."""
        self._file.write(f"{end_line(call)}\n")

    def note(self, what: str) -> None:
        """Into its log, which is kept when the run was not well."""
        sys.stdout.write(f"{self.now_s:.3f} {what}\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing follows."""
        self._file.close()


async def run(setup: WriterSetup, book: FileBook) -> None:
    """Until SIGTERM."""
    transport, is_over = RoutedTransport(setup.routes), asyncio.Event()
    ports = {"transport": transport, "clock": SystemClock(), "random": SystemRandom()}
    producer_of = producer_of_ours(setup.plan, bootstrap=setup.bootstrap, ports=ports)
    random = SeededRandom(SystemRandom().randrange(0, 1 << 32))
    writer = TransactionWriter(book, setup.plan, producer_of, random, is_alone=False)

    def end() -> None:
        writer.is_over = True
        is_over.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    try:
        await writer.run()
        await is_over.wait()
    finally:
        await transport.close()


def main() -> None:
    """See the module."""
    setup_path, calls_path = map(Path, sys.argv[1:])
    setup = WriterSetup.from_json(setup_path.read_text(encoding="utf-8"))
    with closing(FileBook(calls_path)) as book:
        asyncio.run(run(setup, book))


if __name__ == "__main__":
    main()
