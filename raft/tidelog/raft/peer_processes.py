"""Filter of messages by process: only each voter's newest one of this cluster is heard. Pure.

Owns the known incarnation of each voter, and compares it before any other field of a message. Used
by both engines.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidelog.net import own_cluster
from tidelog.raft import rules
from tidelog.raft.rejoiner import Rejoiner
from tidelog.v1.raft_pb2 import RaftMessage


class PeerProcesses:
    """Incarnations of the other voters; `on_new` is called when a peer's process was replaced."""

    def __init__(
        self,
        peers: Iterable[int],
        *,
        node_id: int,
        cluster_id: str,
        rejoiner: Rejoiner,
        on_new: Callable[[int], None],
    ) -> None:
        self._incarnations = dict.fromkeys(peers, 0)
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._rejoiner = rejoiner
        self._on_new = on_new

    def is_heard(self, message: RaftMessage) -> bool:
        """Check the cluster, then the sender's incarnation; answer a superseded sender."""
        peer_id = message.sender_id
        known = self._incarnations.get(peer_id)
        if not own_cluster.is_of_this_cluster(message.cluster_id, self._cluster_id):
            return False
        if known is None or message.receiver_id != self._node_id:
            return False
        if rules.is_superseded(message.incarnation, known):
            if message.HasField(
                "rejoin_reply"
            ):  # the only message that two mutually muted voters must hear
                self._rejoiner.outgrow(message.rejoin_reply)
            else:
                self._rejoiner.answer(message, known_incarnation=known)
            return False
        if message.incarnation > known:
            self._incarnations[peer_id] = rules.climbed_incarnation(message.incarnation, known)
            if known:
                self._on_new(peer_id)
        # Heard only once climbed to its incarnation. Superseded ones are rejected above, by the
        # rule.
        return bool(message.incarnation <= self._incarnations[peer_id])
