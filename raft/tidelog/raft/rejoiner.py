"""A voter's part in comebacks: its own, when its disk is new, and those of others (decision 0011).

Sends Rejoin and the answers to it, and writes what a comeback changes; `rejoining.py` decides.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence

from tidelog.core.env import Random
from tidelog.raft import rules
from tidelog.raft.durable_state import DurableLog
from tidelog.raft.local_log import LocalLog
from tidelog.raft.outbox import Outbox
from tidelog.raft.rejoining import Rejoining
from tidelog.v1.raft_pb2 import RaftMessage, RejoinReply


class Rejoiner:
    """Lives as long as the process."""

    def __init__(
        self,
        peers: Sequence[int],
        *,
        log: DurableLog,
        local: LocalLog,
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
        """Whether this voter's disk is new and it has not caught up since."""
        return self._rejoining is not None

    @property
    def waits_for(self) -> list[int]:
        """The voters without whose answer this one takes no part."""
        return self._rejoining.silent if self._rejoining else []

    def takes_part(self) -> bool:
        """Whether it may vote and stand."""
        return rules.takes_part(self._rejoining is not None)

    def may_follow(self) -> bool:
        """Whether it may listen to anything but comebacks."""
        return rules.may_follow(self._rejoining is not None and self._rejoining.is_asking)

    def ask(self) -> None:
        """Ask all who have not answered."""
        for peer_id in self.waits_for:
            self._outbox.promise(peer_id).rejoin.SetInParent()

    def answer(self, message: RaftMessage, *, known_incarnation: int = 0) -> None:
        """Tell a voter with a new disk what is known here.

        `known_incarnation`: it had a greater one than that of its question; 0: it had not.
        """
        reply = self._outbox.promise(message.sender_id).rejoin_reply
        reply.known_incarnation = known_incarnation
        reply.asked_incarnation = message.incarnation
        reply.last_index = self._log.last_index
        reply.commit_index = self._local.commit_index

    def on_reply(self, message: RaftMessage) -> None:
        """A voter answered; the log's term, vote and incarnation may change by it."""
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
            return  # and ask again, until it is reached
        rejoining.on_reply(message.sender_id, term=message.term, reply=reply)
        self.has_begun_anew()

    def outgrow(self, reply: RejoinReply) -> None:
        """Be heard again where another process is believed to have followed this one.

        One that this disk knows nothing of, with a clock ahead of today's; or none, and a number
        that no voter wrote.
        """
        own, known = self._log.incarnation, reply.known_incarnation
        if reply.asked_incarnation != own or known <= own:
            return
        reached = rules.outgrown_incarnation(known, own, self._random.random())
        self._log.write_incarnation(reached)
        if self._rejoining is not None and self._rejoining.is_asking:
            self._rejoining = Rejoining(self._peers)

    def on_followed(self) -> None:
        """Entries or a snapshot of a leader of the present term were taken: take part if enough."""
        rejoining = self._rejoining
        if rejoining is not None and rejoining.has_caught_up(
            commit_index=self._local.commit_index,
            commit_term=self._local.commit_term,
            leader_term=self._log.term,
        ):
            self._take_part()

    def has_begun_anew(self) -> bool:
        """Whether all others answered; what that allows is done when the last one does."""
        rejoining = self._rejoining
        if rejoining is None:
            return True
        if rejoining.is_asking:
            return False
        if rejoining.term > self._log.term:
            # A vote in it may have been given and forgotten: it is spent.
            self._log.write_vote(term=rejoining.term, voted_for=self._log.node_id)
        if rejoining.is_first_start and self._log.last_index == 0:
            self._take_part()
        return True

    def _take_part(self) -> None:
        self._log.write_rejoined()
        self._rejoining = None
