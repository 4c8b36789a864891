"""Reads that a majority confirms by a round of messages, without a write (Raft thesis, 6.4).

Owns the round and the followers' answers. PySyncObj has no linearizable reads at all.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from tidelog.raft import rules
from tidelog.raft.engine import ConfirmedRead


class ReadRounds:
    """Read rounds of this node's terms as leader.

    A round is never reused, so that answers to rounds of earlier terms confirm nothing.
    """

    def __init__(self, peers: Iterable[int]) -> None:
        self.round = 0
        """Current round: carried by every message of a leader, and returned in the answer."""
        self._answered = dict.fromkeys(peers, 0)
        self._waiting: deque[tuple[int, int]] = deque()  # round, read id

    def begin_term(self) -> None:
        """Drop the reads of an earlier term: they are void."""
        self._waiting.clear()

    def ask(self, read_ids: Sequence[int]) -> None:
        """Confirm these reads by a round that begins with the next messages."""
        if read_ids:
            self.round += 1
            self._waiting.extend((self.round, read_id) for read_id in read_ids)

    def on_answer(self, peer_id: int, round_: int) -> None:
        """Record a follower's answer, in this term, to a message of this round."""
        self._answered[peer_id] = max(self._answered[peer_id], round_)

    def take_confirmed(self, own_term_index: int, commit_index: int) -> Iterator[ConfirmedRead]:
        """Take the reads whose round a majority answered, with the index to apply first."""
        if not rules.may_read(own_term_index, commit_index):
            return
        quorum_round = rules.quorum_index([self.round, *self._answered.values()])
        while self._waiting and rules.is_read_confirmed(self._waiting[0][0], quorum_round):
            yield ConfirmedRead(self._waiting.popleft()[1], commit_index)
