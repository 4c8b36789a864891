"""PySyncObj behind the engine port: one step in, one `Ready` out.

Owns the order of a step and its effects. See the package for the library's decisions and the
replaced parts; see `voting.py` for the name of the class.
"""

from __future__ import annotations

from collections.abc import Sequence

import pysyncobj.syncobj as library
from pysyncobj.node import Node

from tidelog.raft.engine import Leadership, Ready
from tidelog.raft.pysyncobj import replication
from tidelog.raft.pysyncobj.voting import NEVER_S
from tidelog.raft.replicated_log import PeerStatus
from tidelog.v1.raft_pb2 import RaftMessage

_PAST_DUE_S = 0.001  # the library acts only after a deadline, not at it
_ROLES = {
    library._RAFT_STATE.FOLLOWER: "follower",  # noqa: SLF001
    library._RAFT_STATE.CANDIDATE: "candidate",  # noqa: SLF001
    library._RAFT_STATE.LEADER: "leader",  # noqa: SLF001
}


class SyncObj(replication.SyncObj):
    """Raft state of one voter; `step` is the only way in (see `engine.Engine`)."""

    steps_while_syncing = False

    def step(
        self,
        *,
        now_s: float,
        connected: Sequence[int],
        received: Sequence[RaftMessage],
        proposals: Sequence[bytes | None],
        reads: Sequence[int],
    ) -> Ready:
        """Step as in `engine.Engine`. The library counts this node's log as durable: it must be."""
        self._now_s = now_s
        self._bind_ports()
        if self._is_new:
            self._is_new = False
            self._put_off_election()
        self._note_connections({self._peers[peer_id] for peer_id in connected})
        for message in received:
            self._receive(message)
        self._ask_to_rejoin()
        self.doTick(0.0)
        self._local.commit_as_leader(self.__raftCommitIndex)
        appended = self._append(proposals)
        self._ask_reads(reads)
        self._send_news()
        return self._ready(appended)

    def peers(self, now_s: float) -> tuple[PeerStatus, ...]:
        """See `engine.Engine`."""
        if not self._isLeader():
            return ()
        return tuple(
            PeerStatus(
                node_id=peer_id,
                match_index=self.__raftMatchIndex[node],
                last_contact_ms=(
                    round((now_s - self.__lastResponseTime[node]) * 1000)
                    if peer_id in self._has_answered
                    else None
                ),
            )
            for peer_id, node in sorted(self._peers.items())
        )

    def last_contact_ms(self, now_s: float) -> int | None:
        """See `engine.Engine`."""
        heard_s = self._leader_heard_s
        if self._isLeader():
            heard_s = sorted([now_s, *self.__lastResponseTime.values()])[
                -(len(self._peers) // 2 + 1)
            ]
        return None if heard_s == NEVER_S else round((now_s - heard_s) * 1000)

    @property
    def waits_for(self) -> list[int]:
        """See `engine.Engine`."""
        return self._rejoiner.waits_for

    @property
    def is_sending_snapshot(self) -> bool:
        """See `engine.Engine`."""
        return self._isLeader() and self._sender.is_sending

    # Inputs

    def _note_connections(self, connected: set[Node]) -> None:
        lost = self.__connectedNodes - connected
        if connected - self.__connectedNodes:
            self._resend_due_s = NEVER_S
        self.__connectedNodes = connected
        if self._isLeader():
            for node in lost:  # messages in flight are lost
                self.__raftNextIndex[node] = self.__raftMatchIndex[node] + 1
                self._sender.cancel(node.id)
        elif self.__raftLeader in lost:
            # A stopping process closes its connections: ask the other voters if they miss it, too.
            self._leader_heard_s = NEVER_S
            soon_s = self._now_s + self._random.random() * self._interval_s
            self.__raftElectionDeadline = min(self.__raftElectionDeadline, soon_s)

    def _receive(self, message: RaftMessage) -> None:
        node = self._peers.get(message.sender_id)
        if node is None or not self._processes.is_heard(message):
            return
        if message.HasField("rejoin"):
            self._rejoiner.answer(message)
        elif message.HasField("rejoin_reply"):
            self._rejoiner.on_reply(message)
            self._reread_term()
        elif self._rejoiner.may_follow():
            self._on_message(node, message)

    def _on_message(self, node: Node, message: RaftMessage) -> None:
        match message.WhichOneof("body"):
            case "append_entries" | "install_snapshot":
                self._on_leader(node, message)
            case "append_entries_reply" | "install_snapshot_reply":
                self._on_follower(node, message)
            case "request_vote":
                self._on_request_vote(node, message)
            case "vote_granted":
                self._on_vote_granted(node, message)
            case "pre_vote":
                self._on_pre_vote(node, message)
            case "pre_vote_reply":
                self._on_pre_vote_reply(node, message)

    def _append(self, proposals: Sequence[bytes | None]) -> list[int]:
        if not self._isLeader():
            return []
        return [self._local.append(proposal) for proposal in proposals]

    def _ask_reads(self, read_ids: Sequence[int]) -> None:
        if self._isLeader():
            self._reads.ask(read_ids)

    # Outputs

    def _ready(self, appended: list[int]) -> Ready:
        leader, commit_index = self.__raftLeader, self._local.commit_index
        own_term_index = self.__noopIDx if self._isLeader() else None
        reads = []
        if own_term_index is not None:
            reads = list(self._reads.take_confirmed(own_term_index, commit_index))
        return Ready(
            leadership=Leadership(
                role="rejoining" if self._rejoiner.is_rejoining else _ROLES[self.__raftState],
                term=self.__raftCurrentTerm,
                leader_id=None if leader is None else leader.id,
                own_term_index=own_term_index,
            ),
            commit_index=commit_index,
            messages=self._outbox.take_promises(),
            restored=self._local.take_restored(),
            committed=self._local.newly_committed(),
            appended=appended,
            reads=reads,
            next_step_in_s=0.0 if self._local.has_more else self._next_step_in_s(),
        )

    def _next_step_in_s(self) -> float:
        if self._isLeader():
            due_s = self.__newAppendEntriesTime
            if any(map(self._lacks_entries, self.__connectedNodes)):
                due_s = min(due_s, self._resend_due_s)
        else:
            due_s = max(self.__raftElectionDeadline, self._pre_vote_due_s)
            if self._rejoiner.waits_for:
                due_s = min(due_s, self._rejoin_due_s)
        return max(0.0, due_s - self._now_s) + _PAST_DUE_S
