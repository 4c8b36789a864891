"""PySyncObj as the second Raft engine: the only file that knows it (decision 0010).

The class below is named `SyncObj` on purpose: Python mangles `self.__x` with the name of the class
it stands in, so that these methods use and override the library's private ones by their own names.
What has two underscores is the library's, what has one is ours.

The library decides elections, commits and what to send. Replaced, since they are not safe in
0.3.17: how entries are appended (only a contradiction truncates), how acknowledgements are counted
(the match index never falls, other terms do not count), when to stand for election (pre-vote) and
whom to vote for (a node that hears a leader does not), the journal (`wal.py`), compaction (off) and
the command queue (proposals are appended only while leading). Its sockets, threads, pickle and
files are never reached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from importlib import resources

import pysyncobj
import pysyncobj.syncobj as library
from pysyncobj.journal import Journal
from pysyncobj.node import Node
from pysyncobj.transport import Transport

from tidelog.log.env import Clock, Random
from tidelog.log.errors import InvariantError, StorageError, invariant
from tidelog.raft import rules
from tidelog.raft.codec import Message, decode, encode
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import NO_OP, REGULAR, WalEntry
from tidelog.raft.engine import ConfirmedRead, EngineEntry, Leadership, Ready
from tidelog.raft.log_origin import are_own, term_start
from tidelog.raft.replicated_log import PeerStatus
from tidelog.raft.wal import Wal
from tidelog.v1 import raft_pb2

KNOWN_VERSION = "0.3.17"
KNOWN_SHA256 = "e8bdf06797085d734df86e24ab4802fe87893dff77268565ec036f7ad4a1cfe4"
_NEVER_S = float("-inf")
_PAST_DUE_S = 0.001  # the library acts only after a deadline, not at it
_FIRST_INDEX = 1  # the entry every log begins with; equal on all nodes


def check_library() -> None:
    """Refuse any PySyncObj but the one whose private methods are overridden here."""
    source = resources.files(pysyncobj).joinpath("syncobj.py").read_bytes()
    found = library.VERSION, hashlib.sha256(source).hexdigest()
    if found != (KNOWN_VERSION, KNOWN_SHA256):
        raise InvariantError(
            f"PySyncObj {found[0]} (sha256 {found[1]} of syncobj.py) is not the reviewed "
            f"{KNOWN_VERSION}: install pysyncobj=={KNOWN_VERSION}"
        )


class SyncObj(library.SyncObj):  # type: ignore[misc]  # the library has no types
    """One voter's Raft state; `step` is the only way in (see `engine.Engine`)."""

    waits_for: Sequence[int] = ()
    has_snapshots = False
    steps_while_syncing = False
    is_sending_snapshot = False

    # The library's state that is read or written here.
    __connectedNodes: set[Node]
    __lastResponseTime: dict[Node, float]
    __newAppendEntriesTime: float
    __noopIDx: int | None
    __raftCommitIndex: int
    __raftCurrentTerm: int
    __raftElectionDeadline: float
    __raftLastApplied: int
    __raftLeader: Node | None
    __raftLog: Journal
    __raftMatchIndex: dict[Node, int]
    __raftNextIndex: dict[Node, int]

    def __init__(
        self, voters: list[int], wal: Wal, *, clock: Clock, random: Random, config: RaftConfig
    ) -> None:
        check_library()
        if wal.base_index:
            raise StorageError(
                f"the log of node {wal.node_id} begins with a snapshot, up to {wal.base_index}: "
                "the engine pysyncobj has none; choose the engine tidelog"
            )
        if wal.is_rejoining:
            wal.write_rejoined()  # it knows no better than to take part at once
        self._wal = wal
        self._clock = clock
        self._random = random
        self._config = config
        self._peers = {voter: Node(voter) for voter in voters if voter != wal.node_id}
        self._incarnations = dict.fromkeys(self._peers, 0)
        self._outbox = _Outbox(wal, cluster_id=config.cluster_id)
        self._committed: list[EngineEntry] = []
        self._told = (0, 0)
        self._resend_due_s = _NEVER_S
        self._reads: dict[int, list[int]] = {}  # by the index of the no-op that proves them
        self._leader_heard_s = _NEVER_S
        self._pre_vote_due_s = _NEVER_S
        self._pre_vote_terms: dict[int, int] = {}
        self._vote_terms: dict[int, int] = {}
        self._bind_ports()
        super().__init__(
            Node(wal.node_id),
            self._peers.values(),
            _library_config(config, _WalJournal(wal, cluster_id=config.cluster_id)),
            transport=self._outbox,
            nodeClass=Node,
        )

    def step(
        self,
        *,
        now_s: float,  # noqa: ARG002  # the library asks its clock
        connected: Sequence[int],
        received: Sequence[raft_pb2.RaftMessage],
        proposals: Sequence[bytes | None],
        reads: Sequence[int],
    ) -> Ready:
        """See `engine.Engine`. The library counts this node's log as durable: it must be.

        A read is proven by a no-op of its own.
        """
        self._bind_ports()
        self.__connectedNodes = {self._peers[peer] for peer in connected}
        for envelope in received:
            self._receive(envelope)
        self.doTick(0.0)
        appended = self._append([*proposals, *([None] if reads else [])])
        if appended and reads:
            self._reads[appended.pop()] = list(reads)
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
                last_contact_ms=round((now_s - self.__lastResponseTime[node]) * 1000),
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
        return None if heard_s == _NEVER_S else round((now_s - heard_s) * 1000)

    def _bind_ports(self) -> None:
        """Point the library's module names at this node's ports; several nodes share a process."""
        library.monotonicTime = self._clock.monotonic_s
        library.random = self._random
        library.createJournal = _given

    # What happened

    def _receive(self, envelope: raft_pb2.RaftMessage) -> None:
        if not rules.is_of_this_cluster(envelope.cluster_id, self._config.cluster_id):
            return
        peer = self._peers.get(envelope.sender_id)
        if peer is None or envelope.receiver_id != self._wal.node_id:
            return
        if envelope.incarnation < self._incarnations[peer.id]:
            return
        self._incarnations[peer.id] = envelope.incarnation
        message = decode(envelope)
        if message is not None:
            self.__onMessageReceived(peer, message)

    def __onMessageReceived(self, node: Node, message: Message) -> None:  # noqa: N802
        match message["type"]:
            case "append_entries":
                self._on_append(node, message)
            case "next_node_idx":
                self._on_append_reply(node, message)
            case "request_vote" if not self._hears_leader():
                super().__onMessageReceived(node, message)
            case "response_vote" if self._vote_terms.get(node.id) != message["term"]:
                self._vote_terms[node.id] = message["term"]
                super().__onMessageReceived(node, message)
            case "pre_vote":
                self._on_pre_vote(node, message)
            case "pre_vote_reply":
                self._on_pre_vote_reply(node, message)

    def _append(self, proposals: Iterable[bytes | None]) -> list[int]:
        if not self._isLeader():
            return []
        first_index = self.__getCurrentLogIndex() + 1
        for proposal in proposals:
            command = NO_OP if proposal is None else REGULAR + proposal
            self.__raftLog.add(command, self.__getCurrentLogIndex() + 1, self.__raftCurrentTerm)
        return list(range(first_index, self.__getCurrentLogIndex() + 1))

    # What to tell

    def _send_news(self) -> None:
        """Send what followers lack now instead of at the next heartbeat."""
        if not self._isLeader():
            return
        last_index = self.__getCurrentLogIndex()
        has_news = self._told != (last_index, self.__raftCommitIndex)
        is_behind = any(self.__raftNextIndex[node] <= last_index for node in self.__connectedNodes)
        now_s = self._clock.monotonic_s()
        # Not at every answer: on a network without order each would call for several more.
        if has_news or (is_behind and now_s >= self._resend_due_s):
            self._resend_due_s = now_s + self._config.heartbeat_interval_ms / 8000
            self.__sendAppendEntries()

    def __sendAppendEntries(self) -> None:  # noqa: N802
        self._told = (self.__getCurrentLogIndex(), self.__raftCommitIndex)
        super().__sendAppendEntries()

    def _ready(self, appended: list[int]) -> Ready:
        messages, self._outbox.messages = self._outbox.messages, []
        committed, self._committed = self._committed, []
        leader = self.__raftLeader
        if not self._isLeader():
            self._reads.clear()
        proven = sorted(index for index in self._reads if index <= self.__raftCommitIndex)
        return Ready(
            messages=messages,
            committed=committed,
            appended=appended,
            reads=[
                ConfirmedRead(read_id, index)
                for index in proven
                for read_id in self._reads.pop(index)
            ],
            commit_index=self.__raftCommitIndex,
            leadership=Leadership(
                role="leader" if self._isLeader() else "follower",
                term=self.__raftCurrentTerm,
                leader_id=None if leader is None else leader.id,
                own_term_index=self.__noopIDx if self._isLeader() else None,
            ),
            next_step_in_s=self._next_step_in_s(),
        )

    def _next_step_in_s(self) -> float:
        due_s = self.__newAppendEntriesTime
        if not self._isLeader():
            due_s = max(self.__raftElectionDeadline, self._pre_vote_due_s)
        return max(0.0, due_s - self._clock.monotonic_s()) + _PAST_DUE_S

    def __doApplyCommand(self, command: bytes) -> None:  # noqa: N802
        index = self.__raftLastApplied + 1
        (entry,) = self.__getEntries(index, 1)
        payload = command[1:] if command[:1] == REGULAR else None
        self._committed.append(EngineEntry(index=index, term=entry.term, command=payload))

    # Append entries, as a follower

    def _on_append(self, node: Node, message: Message) -> None:
        if message["term"] < self.__raftCurrentTerm:
            self.__sendNextNodeIdx(node)  # its term tells the stale leader to step down
            return
        self._follow(node, message["term"])
        previous_index = message["prevLogIdx"]
        if not self._holds(previous_index, message["prevLogTerm"]):
            self.__sendNextNodeIdx(node, nextNodeIdx=self._retry_index(previous_index), reset=True)
            return
        entries: list[WalEntry] = message["entries"]
        if not are_own(entries, self._config.cluster_id):
            return
        self._store(entries)
        verified_index = previous_index + len(entries)
        self.__sendNextNodeIdx(node, nextNodeIdx=verified_index + 1, success=True)
        commit_index = min(message["commit_index"], verified_index)
        self.__raftCommitIndex = max(self.__raftCommitIndex, commit_index)

    def _follow(self, leader: Node, term: int) -> None:
        if term > self.__raftCurrentTerm:
            self._step_down(term)
        is_only_leader = self.__raftLeader in (None, leader) and not self._isLeader()
        invariant(is_only_leader, "one leader in a term", term, leader.id)
        self.__raftLeader = leader
        self.__setState(library._RAFT_STATE.FOLLOWER)  # noqa: SLF001
        now_s = self._clock.monotonic_s()
        self.__raftElectionDeadline = now_s + self.__generateRaftTimeout()
        self._leader_heard_s = now_s
        self._pre_vote_terms.clear()

    def _holds(self, index: int, term: int) -> bool:
        entries = self.__getEntries(index, 1)
        return bool(entries) and entries[0].term == term

    def _store(self, entries: list[WalEntry]) -> None:
        """Keep what agrees, remove only from the first entry that contradicts (Raft, 5.3)."""
        for entry in entries:
            if self._holds(entry.log_index, entry.term):
                continue
            if entry.log_index <= self.__getCurrentLogIndex():
                is_open = entry.log_index > self.__raftCommitIndex
                invariant(
                    is_open, "what is committed stays", entry.log_index, self.__raftCommitIndex
                )
                self.__deleteEntriesFrom(entry.log_index)
            self.__raftLog.add(entry.command, entry.log_index, entry.term)

    def _retry_index(self, previous_index: int) -> int:
        """Where the leader must go back to: behind our end, or before the whole foreign term."""
        entries = self.__getEntries(previous_index, 1)
        if not entries:
            return int(self.__getCurrentLogIndex()) + 1
        index = previous_index
        while index > self.__raftCommitIndex + 1 and self._holds(index - 1, entries[0].term):
            index -= 1
        return index

    # Acknowledgements, as the leader

    def _on_append_reply(self, node: Node, message: Message) -> None:
        if message["term"] > self.__raftCurrentTerm:
            self._step_down(message["term"])
        if message["term"] < self.__raftCurrentTerm or not self._isLeader():
            return
        next_index: int = message["next_node_idx"]
        if message["success"]:
            invariant(next_index <= self.__getCurrentLogIndex() + 1, "acknowledged", next_index)
            self.__raftMatchIndex[node] = max(self.__raftMatchIndex[node], next_index - 1)
        if message["reset"]:
            self.__raftNextIndex[node] = min(next_index, self.__getCurrentLogIndex() + 1)
        floor = max(self.__raftMatchIndex[node], _FIRST_INDEX) + 1
        self.__raftNextIndex[node] = max(self.__raftNextIndex[node], floor)
        self.__lastResponseTime[node] = self._clock.monotonic_s()

    def _step_down(self, term: int) -> None:
        self.__setCurrentTerm(term, None)
        self.__setState(library._RAFT_STATE.FOLLOWER)  # noqa: SLF001
        self.__raftLeader = None

    # Pre-vote and leader stickiness (Raft thesis, 9.6 and 4.2.3)

    def _hears_leader(self) -> bool:
        silent_s = self._clock.monotonic_s() - self._leader_heard_s
        return self._isLeader() or silent_s * 1000 < self._config.election_timeout_min_ms

    def __connectedToAnyone(self) -> bool:  # noqa: N802
        """Whether to stand, asked by the tick when the election time-out has passed."""
        term = self.__raftCurrentTerm
        granted = 1 + sum(asked == term for asked in self._pre_vote_terms.values())
        if granted > (len(self._peers) + 1) // 2:
            self._pre_vote_terms.clear()
            return True
        self.__raftLeader = None
        now_s = self._clock.monotonic_s()
        if now_s >= self._pre_vote_due_s:
            self._pre_vote_due_s = now_s + self._config.heartbeat_interval_ms / 1000
            for peer in self._peers.values():
                self._outbox.send(peer, {"type": "pre_vote", **self._last_log()})
        return False

    def _on_pre_vote(self, node: Node, message: Message) -> None:
        theirs = message["last_log_term"], message["last_log_index"]
        mine = self.__getCurrentLogTerm(), self.__getCurrentLogIndex()
        is_new = message["term"] >= self.__raftCurrentTerm and theirs >= mine
        reply = {
            "type": "pre_vote_reply",
            "asked_term": message["term"],
            "is_granted": is_new and not self._hears_leader(),
        }
        self._outbox.send(node, reply)

    def _on_pre_vote_reply(self, node: Node, message: Message) -> None:
        if message["term"] > self.__raftCurrentTerm:
            self._step_down(message["term"])  # else a longer log in a lower term waits forever
        elif message["is_granted"]:
            self._pre_vote_terms[node.id] = message["asked_term"]

    def _last_log(self) -> Message:
        return {
            "last_log_index": self.__getCurrentLogIndex(),
            "last_log_term": self.__getCurrentLogTerm(),
        }

    # Limits

    def __getEntries(  # noqa: N802
        self,
        fromIDx: int,  # noqa: N803
        count: int | None = None,
        maxSizeBytes: int | None = None,  # noqa: N803
    ) -> list[WalEntry]:
        if maxSizeBytes is not None:
            count = self._config.append_batch_entries
        entries: list[WalEntry] = super().__getEntries(fromIDx, count, maxSizeBytes)
        return entries

    def __tryLogCompaction(self) -> None:  # noqa: N802
        """Never: the library's is not safe; the write-ahead log keeps everything."""


class _Outbox(Transport):  # type: ignore[misc]  # the library has no types
    """Keeps what the library sends, stamped with the term it was said in."""

    def __init__(self, wal: Wal, *, cluster_id: str) -> None:
        super().__init__(None, None, None)
        self._cluster_id = cluster_id
        self.messages: list[raft_pb2.RaftMessage] = []
        self._wal = wal

    def send(self, node: Node, message: Message) -> bool:
        envelope = raft_pb2.RaftMessage(
            cluster_id=self._cluster_id,
            sender_id=self._wal.node_id,
            receiver_id=node.id,
            incarnation=self._wal.incarnation,
            term=self._wal.term,
        )
        self.messages.append(encode(message, envelope))
        return True


class _WalJournal(Journal):  # type: ignore[misc]  # the library has no types
    """The write-ahead log under the library's names. Commit indexes are learnt anew at a start."""

    def __init__(self, wal: Wal, *, cluster_id: str) -> None:
        self._wal = wal
        self._term_start = term_start(cluster_id)

    def add(self, command: bytes, idx: int, term: int) -> None:
        if command == NO_OP:  # the library's own, too
            command = self._term_start
        self._wal.write_entry(command, index=idx, term=term)

    def deleteEntriesFrom(self, entryFrom: int) -> None:  # noqa: N802, N803
        self._wal.write_truncation(self._wal.entries[entryFrom].log_index)

    def setCurrentTerm(self, term: int, votedForNodeId: int | None) -> None:  # noqa: N802, N803
        self._wal.write_vote(term=term, voted_for=votedForNodeId)

    def getCurrentTerm(self) -> int:  # noqa: N802
        return self._wal.term

    def getVotedForNodeId(self) -> int | None:  # noqa: N802
        return self._wal.voted_for

    def setRaftCommitIndex(self, raftCommitIndex: int) -> None:  # noqa: N802, N803
        pass

    def getRaftCommitIndex(self) -> int:  # noqa: N802
        return _FIRST_INDEX

    def __getitem__(self, item: int | slice) -> WalEntry | list[WalEntry]:
        return self._wal.entries[item]

    def __len__(self) -> int:
        return len(self._wal.entries)


def _given(journal: Journal) -> Journal:
    return journal


def _library_config(config: RaftConfig, journal: Journal) -> library.SyncObjConf:
    return library.SyncObjConf(
        autoTick=False,
        journalFile=journal,
        raftMinTimeout=config.election_timeout_min_ms / 1000,
        raftMaxTimeout=config.election_timeout_max_ms / 1000,
        appendEntriesPeriod=config.heartbeat_interval_ms / 1000,
        leaderFallbackTimeout=config.election_timeout_max_ms / 1000,
        connectionTimeout=config.election_timeout_max_ms / 1000,
        appendEntriesBatchSizeBytes=config.append_batch_bytes,
        useFork=False,
    )
