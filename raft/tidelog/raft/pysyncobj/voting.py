"""Terms and elections: replacements for the gaps in PySyncObj's own voting (decision 0031).

The library decides when the election timeout has passed, stands for election, votes and counts
votes. Added before that: pre-vote and leader stickiness (Raft thesis, 9.6 and 4.2.3), rejoining
with a new disk, and counting each vote once. This class also owns the engine's shared state.

It is named `SyncObj` on purpose, as are its two subclasses: Python mangles `self.__x` with the name
of the enclosing class, so that these methods use and override the library's private ones by their
own names. Names with two underscores are the library's, names with one are ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import pysyncobj.syncobj as library
from pysyncobj.journal import Journal
from pysyncobj.node import Node

from tidelog.core.env import Random
from tidelog.raft import rules
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import DurableLog, Snapshots
from tidelog.raft.outbox import Outbox
from tidelog.raft.peer_processes import PeerProcesses
from tidelog.raft.pysyncobj.codec import decode
from tidelog.raft.pysyncobj.installed import check_library, library_config
from tidelog.raft.pysyncobj.journal import LogJournal
from tidelog.raft.pysyncobj.outbox import LibraryTransport
from tidelog.raft.pysyncobj.reads import ReadRounds
from tidelog.raft.pysyncobj.snapshot_sender import SnapshotSender
from tidelog.raft.raft_log import RaftLog
from tidelog.raft.rejoiner import Rejoiner
from tidelog.v1.raft_pb2 import RaftMessage

NEVER_S = float("-inf")


class SyncObj(library.SyncObj):  # type: ignore[misc]  # the library has no types
    """Terms, votes and the state shared by the rest of the engine."""

    # State of the library that is read or written here.
    __connectedNodes: set[Node]
    __lastResponseTime: dict[Node, float]
    __newAppendEntriesTime: float
    __noopIDx: int | None
    __raftCommitIndex: int
    __raftCurrentTerm: int
    __raftElectionDeadline: float
    __raftLastApplied: int
    __raftLeader: Node | None
    __raftMatchIndex: dict[Node, int]
    __raftNextIndex: dict[Node, int]
    __raftState: int
    __votedForNodeId: int | None

    def __init__(
        self,
        voters: Sequence[int],
        *,
        log: DurableLog,
        snapshots: Snapshots,
        random: Random,
        config: RaftConfig,
    ) -> None:
        """`voters` includes this node's id. Raises `InvariantError` for another PySyncObj."""
        check_library()
        self._log = log
        self._random = random
        self._config = config
        self._now_s = 0.0
        self._is_new = True
        self._peers = {voter: Node(voter) for voter in sorted(voters) if voter != log.node_id}
        self._outbox = Outbox(log, cluster_id=config.cluster_id)
        self._local = RaftLog(log, snapshots, config)
        self._rejoiner = Rejoiner(
            [*self._peers], log=log, local=self._local, outbox=self._outbox, random=random
        )
        self._processes = PeerProcesses(
            self._peers,
            node_id=log.node_id,
            cluster_id=config.cluster_id,
            rejoiner=self._rejoiner,
            on_new=self._on_new_process,
        )
        self._reads = ReadRounds(self._peers)
        self._sender = SnapshotSender(
            snapshots,
            chunk_bytes=config.snapshot_chunk_bytes,
            patience_s=config.election_timeout_max_ms / 1000,
        )
        self._sent_news = (0, 0, 0)
        self._resend_due_s = NEVER_S
        self._rejoin_due_s = NEVER_S
        self._leader_heard_s = NEVER_S
        self._pre_vote_due_s = NEVER_S
        self._pre_vote_terms: dict[int, int] = {}
        self._vote_terms: dict[int, int] = {}
        self._has_answered: set[int] = set()
        self._bind_ports()
        journal = LogJournal(
            log, cluster_id=config.cluster_id, commit_index=self._local.commit_index
        )
        super().__init__(
            Node(log.node_id),
            self._peers.values(),
            library_config(config, journal),
            transport=LibraryTransport(self._outbox, self._reads),
            nodeClass=Node,
        )
        self.__raftLastApplied = self._local.commit_index

    # Ports

    def _bind_ports(self) -> None:
        """Point the library's module names at this node's ports; several nodes share a process."""
        library.monotonicTime = self._now
        library.random = self._random
        library.createJournal = _given

    def _now(self) -> float:
        return self._now_s

    @property
    def _interval_s(self) -> float:
        return self._config.heartbeat_interval_ms / 1000

    # Elections

    def _on_request_vote(self, node: Node, message: RaftMessage) -> None:
        if self._hears_leader():
            return
        if message.term > self.__raftCurrentTerm and not self._climb_to(message.term):
            return
        if (self.__raftCurrentTerm, self.__votedForNodeId) == (message.term, node.id):
            self._outbox.promise(
                node.id
            ).vote_granted.SetInParent()  # the library grants it only once
        elif self._rejoiner.takes_part():
            self.__onMessageReceived(node, decode(message))

    def _on_vote_granted(self, node: Node, message: RaftMessage) -> None:
        """Pass a vote on to be counted, once per voter and term."""
        if self._vote_terms.get(node.id) != message.term:
            self._vote_terms[node.id] = message.term
            self.__onMessageReceived(node, decode(message))

    def _hears_leader(self) -> bool:
        silent_s = 0.0 if self._isLeader() else self._now_s - self._leader_heard_s
        return rules.hears_leader(silent_s, self._config.election_timeout_min_ms / 1000)

    def __connectedToAnyone(self) -> bool:  # noqa: N802
        """Decide whether to stand; the tick asks when the election timeout has passed."""
        if not self._rejoiner.takes_part():
            self._put_off_election()
            return False
        term = self.__raftCurrentTerm
        granted = 1 + sum(asked == term for asked in self._pre_vote_terms.values())
        if granted > (len(self._peers) + 1) // 2:
            self._pre_vote_terms.clear()
            return True
        self.__raftLeader = None
        if self._now_s >= self._pre_vote_due_s:
            self._pre_vote_due_s = self._now_s + self._interval_s
            for peer_id in self._peers:
                body = self._outbox.promise(peer_id).pre_vote
                body.last_log_term, body.last_log_index = self._local.last_entry
        return False

    def _on_pre_vote(self, node: Node, message: RaftMessage) -> None:
        """Answer whether this node would vote for the sender in the sender's term + 1."""
        body = message.pre_vote
        theirs = body.last_log_term, body.last_log_index
        reply = self._outbox.promise(node.id).pre_vote_reply
        reply.asked_term = message.term
        reply.is_granted = (
            self._rejoiner.takes_part()
            and not rules.is_stale(message.term, self.__raftCurrentTerm)
            and rules.is_up_to_date(theirs, self._local.last_entry)
            and not self._hears_leader()
        )

    def _on_pre_vote_reply(self, node: Node, message: RaftMessage) -> None:
        if message.term > self.__raftCurrentTerm:
            self._climb_to(message.term)  # else a longer log in a lower term waits forever
        elif message.pre_vote_reply.is_granted:
            self._pre_vote_terms[node.id] = message.pre_vote_reply.asked_term

    def _follow(self, leader: Node) -> None:
        self.__raftLeader = leader
        self.__setState(library._RAFT_STATE.FOLLOWER)  # noqa: SLF001
        self._put_off_election()
        self._leader_heard_s = self._now_s
        self._pre_vote_terms.clear()

    def _climb_to(self, term: int) -> bool:
        """Enter the term as a follower; False: only a term on the way to it."""
        self.__setCurrentTerm(rules.climbed_term(term, self.__raftCurrentTerm), None)
        self.__setState(library._RAFT_STATE.FOLLOWER)  # noqa: SLF001
        self.__raftLeader = None
        return bool(self.__raftCurrentTerm == term)

    def _put_off_election(self) -> None:
        self.__raftElectionDeadline = self._now_s + self.__generateRaftTimeout()

    # Rejoining

    def _ask_to_rejoin(self) -> None:
        if self._now_s >= self._rejoin_due_s and not self._rejoiner.has_all_answers():
            self._rejoin_due_s = self._now_s + self._interval_s
            self._rejoiner.ask()

    def _reread_term(self) -> None:
        """Take over a term that the rejoin stored."""
        self.__raftCurrentTerm = self._log.term
        self.__votedForNodeId = self._log.voted_for


def _given(journal: Journal) -> Journal:
    return journal
