"""A voter of the quorum: Raft as a state machine without clock, disk or network of its own.

Makes all decisions, and writes only term, vote and entries to the durable log: see `engine.Engine`.
Beyond the paper: pre-vote and leader stickiness (thesis, 9.6 and 4.2.3), check quorum (6.2), reads
without writing (6.4), and voters with a new disk (`rejoiner.py`).

    role           leaves it when
    rejoining      it has caught up on its new disk                            → follower
    follower       its timeout passes without a leader                         → pre-candidate
    pre-candidate  a majority would vote for it: term + 1, its vote is spent   → candidate
    candidate      a majority voted for it: a no-op begins its term            → leader
    leader         no majority answers it for an election timeout              → follower
    any            a greater term is heard                                     → follower
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tidelog.core.env import Random
from tidelog.raft import rules
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import DurableLog, Snapshots
from tidelog.raft.engine import Leadership, Ready
from tidelog.raft.leader_state import LeaderState
from tidelog.raft.outbox import Outbox
from tidelog.raft.peer_processes import PeerProcesses
from tidelog.raft.raft_log import RaftLog
from tidelog.raft.rejoiner import Rejoiner
from tidelog.raft.replicated_log import PeerStatus
from tidelog.v1.raft_pb2 import RaftMessage

_NEVER_S = float("-inf")
_NEVER_DUE_S = float("inf")


class Role(StrEnum):
    """Roles of a voter; see the module's table."""

    REJOINING = "rejoining"
    FOLLOWER = "follower"
    PRE_CANDIDATE = "pre-candidate"
    CANDIDATE = "candidate"
    LEADER = "leader"


class Voter:
    """Raft engine (`engine.Engine`). `voters` includes this node's id."""

    steps_while_syncing = True

    def __init__(
        self,
        voters: Sequence[int],
        *,
        log: DurableLog,
        snapshots: Snapshots,
        random: Random,
        config: RaftConfig,
    ) -> None:
        self.role = Role.REJOINING if log.is_rejoining else Role.FOLLOWER
        self.leader_id: int | None = None
        self._log = log
        self._local = RaftLog(log, snapshots, config)
        self._snapshots = snapshots
        self._random = random
        self._config = config
        self._peers = sorted(set(voters) - {log.node_id})
        self._connected: Sequence[int] = ()
        self._outbox = Outbox(log, cluster_id=config.cluster_id)
        self._leading: LeaderState | None = None
        self._rejoiner = Rejoiner(
            self._peers, log=log, local=self._local, outbox=self._outbox, random=random
        )
        self._processes = PeerProcesses(
            self._peers,
            node_id=log.node_id,
            cluster_id=config.cluster_id,
            rejoiner=self._rejoiner,
            on_new=self._on_new_process,
        )
        self._ballots: set[int] = set()
        """Voters that would vote for this pre-candidate."""
        self._votes: set[int] = set()
        """Voters for this node in the current term; empty when it is no longer a candidate."""
        self._round = 0
        """Newest round heard from the leader."""
        self._leader_heard_s = _NEVER_S
        self._due_s = _NEVER_S
        self._stood_s = _NEVER_S
        self._is_new = True

    def step(
        self,
        *,
        now_s: float,
        connected: Sequence[int],
        received: Sequence[RaftMessage],
        proposals: Sequence[bytes | None],
        reads: Sequence[int],
    ) -> Ready:
        """See `engine.Engine`."""
        if self._is_new:
            self._is_new = False
            self._due_s = now_s if self._rejoiner.is_rejoining else self._election_due_s(now_s)
        self._note_connections(connected, now_s)
        for message in received:
            self._receive(message, now_s)
        self._tick(now_s)
        appended = self._append(proposals)
        if self._leading is not None:
            self._lead(self._leading, reads, now_s)
        return self._ready(appended, now_s)

    def peers(self, now_s: float) -> tuple[PeerStatus, ...]:
        """See `engine.Engine`."""
        return self._leading.peers(now_s) if self._leading else ()

    def last_contact_ms(self, now_s: float) -> int | None:
        """See `engine.Engine`."""
        if self._leading is not None:
            return round(self._leading.silent_s(now_s) * 1000)
        if self._leader_heard_s == _NEVER_S:
            return None
        return round((now_s - self._leader_heard_s) * 1000)

    @property
    def waits_for(self) -> list[int]:
        """Voters that must answer before this one, its disk being new, participates."""
        return self._rejoiner.waits_for

    @property
    def is_sending_snapshot(self) -> bool:
        """True while a newer snapshot would make a follower start its download over."""
        return self._leading is not None and self._leading.is_sending_snapshot

    # Inputs

    def _note_connections(self, connected: Sequence[int], now_s: float) -> None:
        lost = set(self._connected) - set(connected)
        self._connected = list(connected)
        if self._leading is not None:
            for peer_id in sorted(lost):
                self._leading.followers[peer_id].on_connection_lost()
        elif self.leader_id in lost:
            # A stopping process closes its connections: ask the other voters if they miss it, too.
            self._leader_heard_s = _NEVER_S
            self._due_s = min(self._due_s, now_s + self._random.random() * self._retry_s)

    def _receive(self, message: RaftMessage, now_s: float) -> None:
        if not self._processes.is_heard(message):
            return
        match message.WhichOneof("body"):
            case "rejoin":
                self._rejoiner.answer(message)
            case "rejoin_reply":
                self._rejoiner.on_reply(message)
                self._note_comeback()
            case "pre_vote" if self._rejoiner.may_follow():
                self._on_pre_vote(message, now_s)
            case "pre_vote_reply" if self._rejoiner.may_follow():
                self._on_pre_vote_reply(message, now_s)
            case str() if self._rejoiner.may_follow():
                self._on_message_of_a_term(message, now_s)

    def _on_new_process(self, peer_id: int) -> None:
        if self._leading is not None:
            self._leading.followers[peer_id].on_new_process(self._log.last_index)

    def _on_message_of_a_term(self, message: RaftMessage, now_s: float) -> None:
        """Compare terms before anything else in the message."""
        kind = message.WhichOneof("body")
        if rules.is_stale(message.term, self._log.term):
            if kind in ("append_entries", "install_snapshot"):
                # The answer carries only the term, which makes the old leader step down.
                self._outbox.hint(message.sender_id).append_entries_reply.SetInParent()
            return
        if kind == "request_vote" and self._hears_leader(now_s):
            return
        if message.term > self._log.term and not self._climb_to(message.term, now_s):
            return
        match kind:
            case "append_entries" | "install_snapshot":
                self._on_leader(message, now_s)
            case "request_vote":
                self._on_request_vote(message, now_s)
            case "vote_granted" if self._votes:
                self._count_vote(message.sender_id, now_s)
            case "append_entries_reply" if self._leading is not None:
                self._leading.on_append_reply(
                    message.sender_id, message.append_entries_reply, now_s
                )
            case "install_snapshot_reply" if self._leading is not None:
                self._leading.on_snapshot_reply(
                    message.sender_id, message.install_snapshot_reply, now_s
                )

    def _tick(self, now_s: float) -> None:
        if self.role is Role.CANDIDATE and self._due_s == _NEVER_DUE_S:
            self._wait_for_votes(now_s)
        if self._leading is not None:
            timeout_s = self._config.election_timeout_max_ms / 1000
            if not rules.has_quorum_contact(self._leading.silent_s(now_s), timeout_s):
                self._follow_nobody(now_s)
        elif now_s >= self._due_s:
            if not self._has_all_answers():
                self._due_s = now_s + self._retry_s
                self._rejoiner.ask()
            else:
                self._ask_pre_votes(now_s)

    # Terms and leaders

    def _climb_to(self, term: int, now_s: float) -> bool:
        """Enter `term`; False: only a term on the way to it."""
        self._log.write_vote(term=rules.climbed_term(term, self._log.term), voted_for=None)
        self._follow_nobody(now_s)
        return self._log.term == term

    def _follow_nobody(self, now_s: float) -> None:
        self.role = Role.REJOINING if self._rejoiner.is_rejoining else Role.FOLLOWER
        self.leader_id = None
        self._votes = set()
        self._round = 0
        self._leading = None
        self._leader_heard_s = _NEVER_S
        self._due_s = self._election_due_s(now_s)

    def _follow(self, leader_id: int, now_s: float) -> None:
        if self.role is not Role.FOLLOWER:
            self._follow_nobody(now_s)
        self.leader_id = leader_id
        self._leader_heard_s = now_s
        self._due_s = self._election_due_s(now_s)

    def _on_leader(self, message: RaftMessage, now_s: float) -> None:
        """Handle entries or a piece of a snapshot from this term's leader."""
        if not rules.may_lead(self.leader_id, message.sender_id):
            return
        self._follow(message.sender_id, now_s)
        answer = self._outbox.promise(message.sender_id)
        if message.HasField("append_entries"):
            self._local.take(message.append_entries, answer.append_entries_reply)
            answer.append_entries_reply.round = message.append_entries.round
        else:
            self._local.take_piece(message.install_snapshot, answer.install_snapshot_reply)
            answer.install_snapshot_reply.round = message.install_snapshot.round
        self._say_hello(message)
        self._rejoiner.on_followed()
        self._note_comeback()

    def _has_all_answers(self) -> bool:
        has_all = self._rejoiner.has_all_answers()
        self._note_comeback()
        return has_all

    def _note_comeback(self) -> None:
        if self.role is Role.REJOINING and not self._rejoiner.is_rejoining:
            self.role = Role.FOLLOWER

    def _say_hello(self, message: RaftMessage) -> None:
        """Send the leader a sign of life while the answer waits for the disk.

        It counts as contact and for rounds of reads, and acknowledges nothing. An append with
        entries gets none if its round was answered: another one follows soon.
        """
        append = message.append_entries
        round_ = append.round or message.install_snapshot.round
        is_awaited = round_ > self._round or not append.entries
        self._round = max(self._round, round_)
        if is_awaited and self._log.is_dirty and self._log.is_stamp_durable:
            self._outbox.hint(message.sender_id).append_entries_reply.round = round_

    def _hears_leader(self, now_s: float) -> bool:
        timeout_s = self._config.election_timeout_min_ms / 1000
        silent_s = 0.0 if self._leading is not None else now_s - self._leader_heard_s
        return rules.hears_leader(silent_s, timeout_s)

    # Elections

    def _on_pre_vote(self, message: RaftMessage, now_s: float) -> None:
        """Answer whether this node would vote for the sender in the sender's term + 1."""
        body = message.pre_vote
        theirs = body.last_log_term, body.last_log_index
        reply = self._outbox.hint(message.sender_id).pre_vote_reply
        reply.asked_term = message.term
        reply.is_granted = (
            self._rejoiner.takes_part()
            and not rules.is_stale(message.term, self._log.term)
            and rules.is_up_to_date(theirs, self._local.last_entry)
            and not self._hears_leader(now_s)
        )

    def _on_request_vote(self, message: RaftMessage, now_s: float) -> None:
        body, candidate_id = message.request_vote, message.sender_id
        theirs = body.last_log_term, body.last_log_index
        if not (
            self._rejoiner.takes_part()
            and rules.may_vote(self._log.voted_for, candidate_id)
            and rules.is_up_to_date(theirs, self._local.last_entry)
        ):
            return
        self._log.write_vote(term=self._log.term, voted_for=candidate_id)
        self._due_s = self._election_due_s(now_s)
        self._outbox.promise(candidate_id).vote_granted.SetInParent()

    def _on_pre_vote_reply(self, message: RaftMessage, now_s: float) -> None:
        """Count a granted pre-vote, even from an older term, or learn of a newer term.

        Otherwise a longer log in a lower term and a shorter one in a greater term would block each
        other.
        """
        if message.term > self._log.term:
            self._climb_to(message.term, now_s)
        reply = message.pre_vote_reply
        is_asked = self.role is Role.PRE_CANDIDATE and reply.asked_term == self._log.term
        if is_asked and reply.is_granted:
            self._count_ballot(message.sender_id, now_s)

    def _ask_pre_votes(self, now_s: float) -> None:
        if not self._rejoiner.takes_part():
            self._due_s = self._election_due_s(now_s)
            return
        self.role = Role.PRE_CANDIDATE
        self.leader_id = None
        self._ballots = set()
        # Retry soon: a voter that refuses now, as it hears a leader, may miss the leader soon.
        self._due_s = now_s + self._retry_s * (1 + self._random.random())
        for peer_id in self._peers:
            body = self._outbox.hint(peer_id).pre_vote
            body.last_log_term, body.last_log_index = self._local.last_entry
        self._count_ballot(self._log.node_id, now_s)

    def _campaign(self, now_s: float) -> None:
        self.role = Role.CANDIDATE
        self._log.write_vote(term=self._log.term + 1, voted_for=self._log.node_id)
        self._votes = set()
        self._stood_s, self._due_s = now_s, _NEVER_DUE_S
        self._ask_votes()
        self._count_vote(self._log.node_id, now_s)

    def _ask_votes(self) -> None:
        """Request votes, as promises: a node that lost its own vote in a crash could vote again."""
        for peer_id in self._peers:
            body = self._outbox.promise(peer_id).request_vote
            body.last_log_term, body.last_log_index = self._local.last_entry

    def _wait_for_votes(self, now_s: float) -> None:
        """Start the candidate's timeout when its own vote is stored and the requests are sent.

        Other disks may be as slow as this one, and rivals of a split vote must not collide again.
        """
        if self._log.is_stamp_durable:
            backoff_s, sync_s = self._config.election_backoff_ms / 1000, now_s - self._stood_s
            chance = self._random.random()
            self._due_s = now_s + backoff_s * (1 + chance) / 2 + sync_s * (1 + 3 * chance)

    def _count_ballot(self, voter_id: int, now_s: float) -> None:
        self._ballots.add(voter_id)
        if self._is_majority(self._ballots):
            self._campaign(now_s)

    def _count_vote(self, voter_id: int, now_s: float) -> None:
        """Count a vote, also during a new pre-vote of this node: slow disks vote late."""
        self._votes.add(voter_id)
        if self._is_majority(self._votes):
            self._begin_to_lead(now_s)

    def _is_majority(self, voter_ids: set[int]) -> bool:
        return len(voter_ids) > (len(self._peers) + 1) // 2

    def _begin_to_lead(self, now_s: float) -> None:
        self.role = Role.LEADER
        self.leader_id = self._log.node_id
        self._votes = set()
        self._local.append(None)
        self._leading = LeaderState(
            self._peers,
            log=self._log,
            snapshots=self._snapshots,
            outbox=self._outbox,
            config=self._config,
            now_s=now_s,
        )

    # Leading

    def _append(self, proposals: Sequence[bytes | None]) -> list[int]:
        if self._leading is None:
            return []
        return [self._local.append(proposal) for proposal in proposals]

    def _lead(self, leading: LeaderState, reads: Sequence[int], now_s: float) -> None:
        self._local.commit_as_leader(leading.commit_index())
        leading.ask_reads(reads)
        leading.send(self._connected, commit_index=self._local.commit_index, now_s=now_s)

    # Outputs

    def _ready(self, appended: list[int], now_s: float) -> Ready:
        leading, commit_index = self._leading, self._local.commit_index
        due_s = self._due_s if leading is None else leading.heartbeat_due_s
        return Ready(
            leadership=Leadership(
                role=str(self.role),
                term=self._log.term,
                leader_id=self.leader_id,
                own_term_index=None if leading is None else leading.own_term_index,
            ),
            commit_index=commit_index,
            messages=self._outbox.take_promises(),
            at_once=self._outbox.take_hints(),
            restored=self._local.take_restored(),
            committed=self._local.newly_committed(),
            appended=appended,
            reads=list(leading.confirmed_reads(commit_index)) if leading else [],
            next_step_in_s=0.0 if self._local.has_more else max(0.0, due_s - now_s),
        )

    # Time

    @property
    def _retry_s(self) -> float:
        return (self._config.retry_interval_ms or self._config.heartbeat_interval_ms) / 1000

    def _election_due_s(self, now_s: float) -> float:
        least_ms, most_ms = (
            self._config.election_timeout_min_ms,
            self._config.election_timeout_max_ms,
        )
        return now_s + (least_ms + self._random.random() * (most_ms - least_ms)) / 1000
