"""Rejoin of a voter with a new disk, without breaking forgotten promises (decision 0011).

Owns the other voters' answers. Decides when this voter may listen to a leader, and when it has
caught up; never writes.

    asking      sends Rejoin to all other voters and does nothing else. When each has answered, none
                counts votes or acknowledgements of this voter's earlier life anymore. If all logs
                are empty, this is the first start of the quorum: done
    following   takes entries from a leader, acknowledges them, votes for nobody
    done        holds every entry committed when the others answered, and every entry committed in
                terms before the current leader's
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.raft import rules
from tidelog.v1.raft_pb2 import RejoinReply


class Rejoining:
    """State of one rejoin; it ends with `is_first_start` or `has_caught_up`."""

    def __init__(self, peers: Iterable[int]) -> None:
        self._silent = set(peers)
        self._last_index = 0
        self._commit_index = 0
        self.term = 0
        """Greatest term known to any other voter: no vote is left in it."""

    @property
    def is_asking(self) -> bool:
        """True while some voter has not answered."""
        return bool(self._silent)

    @property
    def silent(self) -> list[int]:
        """Voters that have not answered."""
        return sorted(self._silent)

    @property
    def is_first_start(self) -> bool:
        """True when no voter has ever held an entry, so that none was ever committed."""
        return not self._silent and self._last_index == 0

    def on_reply(self, peer_id: int, *, term: int, reply: RejoinReply) -> None:
        """Record a voter's answer to this start."""
        self._silent.discard(peer_id)
        self.term = max(self.term, term)
        self._last_index = max(self._last_index, reply.last_index)
        self._commit_index = max(self._commit_index, reply.commit_index)

    def has_caught_up(
        self, *, commit_index: int, commit_term: int | None, leader_term: int
    ) -> bool:
        """True when everything committed is here again, up to this leader's first entry."""
        return rules.has_caught_up((commit_index, commit_term), (self._commit_index, leader_term))
