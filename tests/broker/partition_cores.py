"""Makes the cores of one partition: three replicas, this broker is 1."""

from __future__ import annotations

from typing import TypeVar

from tidelog.broker.replica.effects import Effect, RaiseHighWatermark, Refuse
from tidelog.broker.replica.events import (
    Appended,
    EpochEnd,
    Event,
    FetchRequested,
    FollowerIdentity,
    IsrAnswered,
    PartitionChanged,
)
from tidelog.broker.replica.leader import Leader
from tidelog.broker.replica.replica import Replica
from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

EffectT = TypeVar("EffectT", bound=Effect)

LAG_MS_MAX = 1000
BROKER_EPOCHS = {1: 11, 2: 12, 3: 13}


class Core:
    """A replica on broker 1, driven event by event; `now_ms` is the test's to move."""

    def __init__(self) -> None:
        self.replica = Replica(broker_id=1, lag_ms_max=LAG_MS_MAX)
        self.now_ms = 1_000_000
        self.high_watermark = 0

    def handle(self, event: Event) -> list[Effect]:
        effects = self.replica.handle(event, self.now_ms)
        for raised in found(effects, RaiseHighWatermark):
            assert raised.high_watermark > self.high_watermark
            self.high_watermark = raised.high_watermark
        return effects

    def image(
        self,
        *,
        leader_id: int | None = 1,
        leader_epoch: int = 5,
        partition_epoch: int = 10,
        isr: tuple[int, ...] = (1, 2, 3),
        replicas: tuple[int, ...] = (1, 2, 3),
        min_insync_replicas: int = 1,
        log_end_offset: int = 0,
        ackable_offset: int | None = None,
        latest_epoch: int = -1,
        log_start_offset: int = 0,
        first_bad_offset: int | None = None,
        elr: tuple[int, ...] = (),
        damaged: tuple[int, ...] = (),
    ) -> list[Effect]:
        return self.handle(
            PartitionChanged(
                state=PartitionImage(
                    partition=0,
                    replicas=replicas,
                    isr=isr,
                    leader_id=leader_id,
                    leader_epoch=leader_epoch,
                    partition_epoch=partition_epoch,
                    elr=elr,
                    damaged=damaged,
                ),
                min_insync_replicas=min_insync_replicas,
                log_end_offset=log_end_offset,
                ackable_offset=log_end_offset if ackable_offset is None else ackable_offset,
                high_watermark=self.high_watermark,
                latest_epoch=latest_epoch,
                log_start_offset=log_start_offset,
                first_bad_offset=first_bad_offset,
            )
        )

    @property
    def leader(self) -> Leader:
        leader = self.replica.leader
        assert leader is not None
        return leader

    def append(self, log_end_offset: int, *, ackable_offset: int | None = None) -> list[Effect]:
        counted = log_end_offset if ackable_offset is None else ackable_offset
        return self.handle(Appended(log_end_offset, counted))

    def follower_fetch(
        self,
        broker_id: int,
        fetch_offset: int,
        *,
        epoch: int | None = 5,
        broker_epoch: int | None = None,
        is_eligible: bool = True,
        is_known: bool = True,
        last_fetched_epoch: int | None = None,
        epoch_end: EpochEnd | None = None,
        log_start_offset: int = 0,
    ) -> list[Effect]:
        return self.handle(
            FetchRequested(
                fetch_offset=fetch_offset,
                follower_log_start_offset=log_start_offset,
                current_leader_epoch=epoch,
                last_fetched_epoch=last_fetched_epoch,
                epoch_end=epoch_end,
                follower=FollowerIdentity(
                    broker_id,
                    BROKER_EPOCHS[broker_id] if broker_epoch is None else broker_epoch,
                    is_eligible,
                    is_known,
                ),
            )
        )

    def consumer_fetch(self, fetch_offset: int, *, epoch: int | None = None) -> list[Effect]:
        return self.handle(FetchRequested(fetch_offset=fetch_offset, current_leader_epoch=epoch))

    def isr_answer(
        self,
        error: ErrorCode = common_pb2.NONE,
        *,
        isr: tuple[int, ...] = (),
        elr: tuple[int, ...] = (),
        partition_epoch: int = 11,
        asked_partition_epoch: int = 10,
    ) -> list[Effect]:
        return self.handle(
            IsrAnswered(
                asked_leader_epoch=5,
                asked_partition_epoch=asked_partition_epoch,
                error=error,
                leader_epoch=5,
                partition_epoch=partition_epoch,
                isr=isr,
                elr=elr,
            )
        )

    def proposed(self) -> list[int] | None:
        """The brokers of the ISR that the leader asks for now."""
        proposal = self.leader.proposal()
        return None if proposal is None else [broker_id for broker_id, _ in proposal]


def found(effects: list[Effect], kind: type[EffectT]) -> list[EffectT]:
    return [effect for effect in effects if isinstance(effect, kind)]


def refusal(effects: list[Effect]) -> ErrorCode:
    """The code of the one thing that may have happened: a refusal."""
    (effect,) = effects
    assert isinstance(effect, Refuse)
    return effect.code
