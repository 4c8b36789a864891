"""Rejoining of voters with a new disk: this one's, and the answers to others (decision 0011).

Sends Rejoin and the answers to it, and writes the resulting changes; `rejoining.py` decides.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence

from tidelog.core.env import Random
from tidelog.raft import rules
from tidelog.raft.durable_state import DurableLog
from tidelog.raft.outbox import Outbox
from tidelog.raft.raft_log import RaftLog
from tidelog.raft.rejoining import Rejoining
from tidelog.v1.raft_pb2 import RaftMessage, RejoinReply


class Rejoiner:
    """Rejoin exchanges of this process."""

    def __init__(
        self,
        peers: Sequence[int],
        *,
        log: DurableLog,
        local: RaftLog,
        outbox: Outbox,
        random: Random,
    ) -> None:
        self._peers = peers
        self._log = log
        self._local = local
        self._outbox = outbox
        self._random = random
        self._rejoining = Rejoining(peers) if log.is_rejoining else None

    @property
    def is_rejoining(self) -> bool:
        """True when this voter's disk is new and it has not caught up since."""
        return self._rejoining is not None

    @property
    def waits_for(self) -> list[int]:
        """Voters that must answer before this one participates."""
        return self._rejoining.silent if self._rejoining else []

    def takes_part(self) -> bool:
        """True when this voter may vote and stand for election.

        A voter with a new disk may have lost votes and entries (decision 0011).
        """
        return self._rejoining is None

    def may_follow(self) -> bool:
        """True when this voter may process messages other than Rejoin and its answers.

        Until every other voter knows of the new disk, old promises may still be counted on.
        """
        return self._rejoining is None or not self._rejoining.is_asking

    def ask(self) -> None:
        """Send Rejoin to all voters that have not answered."""
        for peer_id in self.waits_for:
            self._outbox.promise(peer_id).rejoin.SetInParent()

    def answer(self, message: RaftMessage, *, known_incarnation: int = 0) -> None:
        """Answer a voter with a new disk with this voter's knowledge.

        `known_incarnation`: a greater incarnation of it than that in its question; 0: none is
        known.
        """
        reply = self._outbox.promise(message.sender_id).rejoin_reply
        reply.known_incarnation = known_incarnation
        reply.asked_incarnation = message.incarnation
        reply.last_index = self._log.last_index
        reply.commit_index = self._local.commit_index

    def on_reply(self, message: RaftMessage) -> None:
        """Process a voter's answer, which may change the log's term, vote and incarnation."""
        rejoining, reply = self._rejoining, message.rejoin_reply
        if reply.asked_incarnation != self._log.incarnation:
            return
        if reply.known_incarnation:
            self.outgrow(reply)
            return
        if rejoining is None or not rejoining.is_asking:
            return
        term = rules.climbed_term(message.term, self._log.term)
        if term < message.term:
            self._log.write_vote(term=term, voted_for=self._log.node_id)
            return  # and ask again, until that term is reached
        rejoining.on_reply(message.sender_id, term=message.term, reply=reply)
        self.has_all_answers()

    def outgrow(self, reply: RejoinReply) -> None:
        """Raise the incarnation above one that a voter knows, so that this process is heard again.

        The greater one is of a process before the disk was lost, whose clock was ahead of today's,
        or was never used by any voter.
        """
        own, known = self._log.incarnation, reply.known_incarnation
        if reply.asked_incarnation != own or known <= own:
            return
        reached = rules.outgrown_incarnation(known, own, self._random.random())
        self._log.write_incarnation(reached)
        if self._rejoining is not None and self._rejoining.is_asking:
            self._rejoining = Rejoining(self._peers)

    def on_followed(self) -> None:
        """Complete the rejoin if the leader's entries or snapshot brought this voter up to date."""
        rejoining = self._rejoining
        if rejoining is not None and rejoining.has_caught_up(
            commit_index=self._local.commit_index,
            commit_term=self._local.commit_term,
            leader_term=self._log.term,
        ):
            self._take_part()

    def has_all_answers(self) -> bool:
        """True when all other voters answered; the first such call applies the consequences."""
        rejoining = self._rejoining
        if rejoining is None:
            return True
        if rejoining.is_asking:
            return False
        if rejoining.term > self._log.term:
            # A vote in that term may have been given and forgotten: treat it as spent.
            self._log.write_vote(term=rejoining.term, voted_for=self._log.node_id)
        if rejoining.is_first_start and self._log.last_index == 0:
            self._take_part()
        return True

    def _take_part(self) -> None:
        self._log.write_rejoined()
        self._rejoining = None
