"""Elections that go as a fault wants: who leads next is chosen by whom the others can hear.

Links are cut and mended, nothing else: any network may do that, and the voters decide all by
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidelog.simulation.raft.fault_actions import FaultActions
from tidelog.simulation.raft.network import Link
from tidelog.simulation.raft.simulation import Voter
from tidelog.v1.raft_pb2 import RaftMessage

ELECTION_S_MAX = 2.0
LEADERS_ONLY = frozenset({"append_entries", "install_snapshot"})
CANDIDATES_ONLY = frozenset({"pre_vote", "request_vote"})


def nothing(_: RaftMessage) -> None:
    """For a message that is waited for and let pass."""


class ChosenLeaders:
    """Lets a voter stand or win; false where it does not within some seconds."""

    def __init__(self, actions: FaultActions) -> None:
        self._actions = actions
        self._simulation = actions.simulation

    @property
    def known_term(self) -> int:
        """The greatest that anyone has led in."""
        return max(self._simulation.checks.wire.leader_by_term, default=0)

    def is_new_leaders(self, known_term: int) -> Callable[[RaftMessage], bool]:
        """True if a message is the word of a leader of a later term."""

        def is_wanted(message: RaftMessage) -> bool:
            return message.WhichOneof("body") in LEADERS_ONLY and message.term > known_term

        return is_wanted

    async def next_leader(
        self, known_term: int, at_once: Callable[[RaftMessage], None] = nothing
    ) -> Voter | None:
        """The first voter to lead in a later term than this, at its first message."""
        heard = await self._actions.hear(
            self.is_new_leaders(known_term), within_s=ELECTION_S_MAX, at_once=at_once
        )
        return None if heard is None else self._simulation.voters[heard.sender_id]

    def another(self, voter: Voter | None) -> Voter:
        """Anyone but this voter."""
        others = [one for one in self._simulation.voters.values() if one is not voter]
        return self._actions.one_of(others)

    @contextmanager
    def cut_off(self, voter: Voter | None) -> Iterator[list[Link]]:
        """Nothing reaches it or comes from it meanwhile; None cuts nothing."""
        links = [] if voter is None else self._actions.links_between([voter.node_id])
        self._simulation.network.cut(links)
        try:
            yield links
        finally:
            self._actions.mend(links)

    @contextmanager
    def isolate_others(self, voter: Voter) -> Iterator[None]:
        """The others do not hear each other meanwhile, so that none of them is elected."""
        others = [node_id for node_id in self._simulation.voters if node_id != voter.node_id]
        links = [(one, other) for one in others for other in others if one != other]
        self._simulation.network.cut(links)
        try:
            yield
        finally:
            self._actions.mend(links)

    async def stands(self, voter: Voter, at_once: Callable[[RaftMessage], None] = nothing) -> bool:
        """Until it asks for votes; before it begins to ask it hears nobody's own wishes."""
        network = self._simulation.network
        to_it = [link for link in self._actions.links() if link[1] == voter.node_id]
        network.cut(to_it)
        is_deaf = True

        def hear_again(_: RaftMessage) -> None:
            nonlocal is_deaf
            is_deaf = False
            network.mend(to_it)

        asked = await self._actions.hear(
            lambda message: _says(message, voter, CANDIDATES_ONLY),
            within_s=ELECTION_S_MAX,
            at_once=hear_again,
        )
        if is_deaf:
            network.mend(to_it)
        if asked is None:
            return False
        stood = await self._actions.hear(
            lambda message: _says(message, voter, {"request_vote"}),
            within_s=ELECTION_S_MAX,
            at_once=at_once,
        )
        return stood is not None

    async def leads(self, voter: Voter) -> bool:
        """Wait until it leads in a new term, with other leaders cut off meanwhile."""
        leader, known = self._simulation.leader(), self.known_term
        with self.cut_off(None if leader is voter else leader), self.isolate_others(voter):
            if leader is voter or not await self.stands(voter):
                return False
            return await self.next_leader(known) is voter


def _says(message: RaftMessage, voter: Voter, kinds: frozenset[str] | set[str]) -> bool:
    return message.sender_id == voter.node_id and message.WhichOneof("body") in kinds
