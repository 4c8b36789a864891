"""PySyncObj's transport: its messages become messages of the step. Decides nothing."""

from __future__ import annotations

from pysyncobj.node import Node
from pysyncobj.transport import Transport

from tidelog.raft.outbox import Outbox
from tidelog.raft.pysyncobj.codec import Message, encode
from tidelog.raft.pysyncobj.reads import ReadRounds


class LibraryTransport(Transport):  # type: ignore[misc]  # the library has no types
    """Transport that sends nothing itself: `Outbox` keeps messages until the driver has synced."""

    def __init__(self, outbox: Outbox, reads: ReadRounds) -> None:
        super().__init__(None, None, None)
        self._outbox = outbox
        self._reads = reads

    def send(self, node: Node, message: Message) -> bool:
        """Put a message of the library into the outbox."""
        envelope = self._outbox.promise(node.id)
        encode(message, envelope)
        if envelope.HasField("append_entries"):
            envelope.append_entries.round = self._reads.round
        return True
