"""The ISR, committed and proposed, and the leader's knowledge of its followers.

The safety of an ISR change of unknown outcome (KIP-497) rests on two views of it: acknowledgements
are required from the larger set, `maximal`; min.insync.replicas is compared with the smaller.

    state       proposed    leaves it by
    committed   None        a proposal of the leader
    pending     a tuple     the controller's answer, or an image with a newer partition epoch
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class IsrState:
    """ISR committed by the controllers at `partition_epoch`, and a proposal on top of it."""

    committed: tuple[int, ...]
    partition_epoch: int
    proposed: tuple[int, ...] | None = None
    elr: tuple[int, ...] = ()
    """Replicas outside the ISR that hold all records committed so far (KIP-966)."""
    members: tuple[tuple[int, int], ...] = ()
    """Broker ids and epochs (-1: unknown) in the proposal, as they were when it was created.

    A retry after a member's restart must not name the new incarnation, which may lack records of
    the one that caught up (KIP-903).
    """
    cause: str = ""
    """Reason for the proposal, for people."""

    @property
    def maximal(self) -> tuple[int, ...]:
        """Replicas that may be in the ISR, regardless of the proposal's outcome."""
        if self.proposed is None:
            return self.committed
        return self.committed + tuple(one for one in self.proposed if one not in self.committed)

    @property
    def size_at_least(self) -> int:
        """Minimum size of the ISR, regardless of the proposal's outcome."""
        committed, proposed = len(self.committed), self.proposed
        return committed if proposed is None else min(committed, len(proposed))

    def propose(self, members: Iterable[tuple[int, int]], cause: str) -> IsrState:
        """Add a pending proposal; `members` are broker ids and epochs."""
        named = tuple(members)
        isr = tuple(broker_id for broker_id, _ in named)
        return replace(self, proposed=isr, members=named, cause=cause)

    def without_proposal(self) -> IsrState:
        """Drop the proposal, which was certainly refused."""
        return replace(self, proposed=None)


@dataclass(slots=True)
class FollowerState:
    """State of one follower as its leader knows it, in the leader's epoch."""

    broker_id: int
    broker_epoch: int = -1
    is_eligible: bool = False
    log_end_offset: int | None = None
    """None until it fetched in this leader epoch: earlier records may be lost."""
    log_start_offset: int = -1
    """Log start offset; -1 until it fetched in this leader epoch."""
    caught_up_ms: int | None = None
    """Last time it held all of the leader's records; None: not in this leader epoch."""
    last_fetch_ms: int = 0
    last_fetch_leader_end_offset: int | None = None

    def note_fetch(self, *, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """Note a fetch, which acknowledges everything below `offset`.

        A follower is caught up if it fetches from the leader's current log end, or from the end at
        its previous fetch, so that a follower that keeps up with steady traffic does not count as
        lagging.
        """
        previous_end = self.last_fetch_leader_end_offset
        if offset >= leader_end_offset:
            self.caught_up_ms = now_ms
        elif previous_end is not None and offset >= previous_end:
            self.caught_up_ms = max(self.caught_up_ms or 0, self.last_fetch_ms)
        self.log_end_offset = offset
        self.last_fetch_ms = now_ms
        self.last_fetch_leader_end_offset = leader_end_offset

    def left_behind(self, *, leader_end_offset: int, now_ms: int) -> None:
        """Note an append after this log end: a follower that held it lags from now on only.

        A follower of a silent partition has no reason to fetch, and so does not report its end
        again.
        """
        if self.log_end_offset is not None and self.log_end_offset >= leader_end_offset:
            self.caught_up_ms = now_ms

    def is_caught_up(self, *, leader_end_offset: int, now_ms: int, lag_ms_max: int) -> bool:
        """True when it holds everything, or did within the last `lag_ms_max`."""
        if self.log_end_offset is not None and self.log_end_offset >= leader_end_offset:
            return True
        return self.caught_up_ms is not None and now_ms - self.caught_up_ms <= lag_ms_max


def may_join_isr(follower: FollowerState, *, high_watermark: int, epoch_start_offset: int) -> bool:
    """True when the follower holds all committed records, including the start of the epoch.

    A new leader's high watermark may be too low: hence the start of its epoch (KIP-320).
    """
    end_offset = follower.log_end_offset
    return (
        follower.is_eligible
        and end_offset is not None
        and end_offset >= high_watermark
        and end_offset >= epoch_start_offset
    )
