"""How a voter whose disk is new comes back without breaking a promise it forgot (decision 0011).

Owns what the others answered. Decides when this voter may listen to a leader, and when it has
caught up; never writes.

    asking      sends Rejoin to all others and does nothing else. When each of them has answered,
                none counts anything of this voter's earlier life any more. All logs empty: this is
                the first start of the quorum, done
    following   takes entries from a leader, acknowledges them, votes for nobody
    done        holds everything that was committed when the others answered, and all that terms
                before the present leader's committed, whoever knew
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.raft import rules
from tidelog.v1.raft_pb2 import RejoinReply


class Rejoining:
    """One start of one voter. It ends with `is_first_start` or `has_caught_up`."""

    def __init__(self, peers: Iterable[int]) -> None:
        self._silent = set(peers)
        self._last_index = 0
        self._commit_index = 0
        self.term = 0
        """The greatest any other voter knew: no vote is left in it."""

    @property
    def is_asking(self) -> bool:
        """Whether some voter has not answered."""
        return bool(self._silent)

    @property
    def silent(self) -> list[int]:
        """Who has not answered."""
        return sorted(self._silent)

    @property
    def is_first_start(self) -> bool:
        """Whether no voter has ever held an entry, so none was ever committed."""
        return not self._silent and self._last_index == 0

    def on_reply(self, peer_id: int, *, term: int, reply: RejoinReply) -> None:
        """A voter answered this very start."""
        self._silent.discard(peer_id)
        self.term = max(self.term, term)
        self._last_index = max(self._last_index, reply.last_index)
        self._commit_index = max(self._commit_index, reply.commit_index)

    def has_caught_up(
        self, *, commit_index: int, commit_term: int | None, leader_term: int
    ) -> bool:
        """Whether everything that was committed is here again, up to this leader's first entry."""
        return rules.has_caught_up((commit_index, commit_term), (self._commit_index, leader_term))
