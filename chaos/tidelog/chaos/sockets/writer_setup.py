"""Setup of a writer's process, one JSON file; and its calls, on their way into its book."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tidelog.chaos.sockets.child_setup import ChildSetup
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.group_members import ChildMember, LinesFile
from tidelog.chaos.workloads.plans import WriterPlan
from tidelog.chaos.workloads.transaction_calls import WriterBook
from tidelog.history.history import Send, Transaction
from tidelog.history.history_lines import CommitBegun, End, call_or_end_of


class WriterSetup(ChildSetup[WriterPlan]):
    """A writer of transactions, and its way to the brokers."""

    PLAN = WriterPlan


class WriterCalls(LinesFile):
    """The calls that a writer's process has written so far; it numbers them by itself."""

    def __init__(self, path: Path, book: WriterBook) -> None:
        super().__init__(path)
        self._book = book
        self._open: dict[int, Send | Transaction] = {}
        """Those that have not ended, by the number that the writer gave them."""
        self._numbers: dict[int | None, int] = {}
        """Numbers in the history of its transactions, by those that it gave them."""

    def _take(self, line: bytes) -> None:
        call = call_or_end_of(line)
        if isinstance(call, End):
            ended = {"outcome": call.outcome, "ended_s": call.ended_s, "reason": call.reason}
            begun = replace(self._open.pop(call.number), **ended)
            if isinstance(begun, Send):
                begun = replace(begun, offset=call.offset)
            self._book.end(begun)
        elif isinstance(call, CommitBegun):
            transaction = self._open[call.number]
            if isinstance(transaction, Transaction):
                transaction = replace(transaction, commit_begun_s=call.at_s)
                self._open[call.number] = transaction
                self._book.begin_commit(transaction)
        elif isinstance(call, (Send, Transaction)):
            begun = replace(call, number=self._book.next_number())
            if isinstance(call, Send):
                begun = replace(begun, transaction=self._numbers.get(call.transaction))
            else:
                self._numbers[call.number] = begun.number
            self._open[call.number] = begun
            self._book.begin(begun)


def writer_child(cluster: SocketCluster, setup: WriterSetup, book: WriterBook) -> ChildMember:
    """Start a writer's process."""
    name = setup.plan.name
    calls = WriterCalls(cluster.folder / f"{name}.calls", book)
    module = "tidelog.chaos.sockets.writer"
    return ChildMember(cluster, name, module=module, setup=setup.to_json(), calls=calls)
