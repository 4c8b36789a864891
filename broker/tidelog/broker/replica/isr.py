"""Who is in sync: the ISR as committed and as proposed, and what a leader knows of its followers.

The safety of an ISR change of unknown outcome (KIP-497) rests on two readings of it: what must be
acknowledged counts the larger set, `maximal`; whether there are enough replicas counts the smaller.

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
    """The ISR that the controllers committed at `partition_epoch`, and a proposal on top of it."""

    committed: tuple[int, ...]
    partition_epoch: int
    proposed: tuple[int, ...] | None = None
    elr: tuple[int, ...] = ()
    """Replicas outside that hold all that is committed so far (KIP-966)."""
    members: tuple[tuple[int, int], ...] = ()
    """Broker ids and epochs (-1: unknown) that the proposal names, as they were when it was made.

    Whoever asks again after a member started anew must not name the new incarnation: it may lack
    what the one held that caught up (KIP-903).
    """
    cause: str = ""
    """Why the proposal was made, for people."""

    @property
    def maximal(self) -> tuple[int, ...]:
        """Everyone who may be in the ISR, whatever becomes of the proposal."""
        if self.proposed is None:
            return self.committed
        return self.committed + tuple(one for one in self.proposed if one not in self.committed)

    @property
    def size_at_least(self) -> int:
        """How many are in the ISR at the least, whatever becomes of the proposal."""
        committed, proposed = len(self.committed), self.proposed
        return committed if proposed is None else min(committed, len(proposed))

    def propose(self, members: Iterable[tuple[int, int]], cause: str) -> IsrState:
        """Pending until it is answered; `members` are broker ids and epochs."""
        named = tuple(members)
        isr = tuple(broker_id for broker_id, _ in named)
        return replace(self, proposed=isr, members=named, cause=cause)

    def without_proposal(self) -> IsrState:
        """The proposal was certainly refused."""
        return replace(self, proposed=None)


@dataclass(slots=True)
class FollowerState:
    """What a leader knows, in its own epoch, of one follower."""

    broker_id: int
    broker_epoch: int = -1
    is_eligible: bool = False
    log_end_offset: int | None = None
    """None until it fetched in this leader epoch: what it held before may be gone."""
    log_start_offset: int = -1
    """-1 as long."""
    caught_up_ms: int | None = None
    """When it last held all that the leader held; None: not in this leader epoch."""
    last_fetch_ms: int = 0
    last_fetch_leader_end_offset: int | None = None

    def fetched(self, *, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """Note a fetch: it acknowledges everything below `offset`.

        Caught up is who fetches from the leader's end of now, or of the time of the fetch before,
        so that steady traffic leaves nobody behind who keeps up with it.
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
        """The leader appends after this end: who held it until now is late from now on only.

        A follower of a silent partition has no reason to fetch, and so does not tell its end again.
        """
        if self.log_end_offset is not None and self.log_end_offset >= leader_end_offset:
            self.caught_up_ms = now_ms

    def is_caught_up(self, *, leader_end_offset: int, now_ms: int, lag_ms_max: int) -> bool:
        """Whether it holds everything, or did not longer than `lag_ms_max` ago."""
        if self.log_end_offset is not None and self.log_end_offset >= leader_end_offset:
            return True
        return self.caught_up_ms is not None and now_ms - self.caught_up_ms <= lag_ms_max


def may_join_isr(follower: FollowerState, *, high_watermark: int, epoch_start_offset: int) -> bool:
    """It holds all that is committed, and past the start of the epoch none that may be lost.

    The high watermark of a new leader may be too low: hence the start of its epoch (KIP-320).
    """
    end_offset = follower.log_end_offset
    return (
        follower.is_eligible
        and end_offset is not None
        and end_offset >= high_watermark
        and end_offset >= epoch_start_offset
    )
