"""A listener that writes down its calls and checks what `PartitionListener` promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tests.broker.replica_stage import TOPIC, ReplicaStage

from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.broker.partition.partition_listeners import Registration
from tidelog.broker.replica_manager import ReplicaManager

T = TypeVar("T")


class Recorder:
    """The calls about the partitions of one broker, such as `("elected", leadership)`."""

    def __init__(self, manager: ReplicaManager) -> None:
        self.calls: list[tuple[str, Leadership, object]] = []
        self.current: dict[int, Leadership] = {}
        """Leaderships that were begun and have not ended, by partition."""
        self.ended: list[Leadership] = []
        self.high_watermarks: dict[int, int] = {}
        self._manager = manager

    @property
    def leadership(self) -> Leadership:
        """That of partition 0."""
        return self.current[0]

    def on_election(self, leadership: Leadership) -> None:
        assert leadership.partition not in self.current
        assert leadership not in self.ended
        self.current[leadership.partition] = leadership
        hosted = self._manager._partitions.find_led(leadership)
        assert hosted.is_sound
        assert hosted.log.latest_epoch == leadership.leader_epoch, "its start is in the log"
        self.calls.append(("elected", leadership, None))

    def on_high_watermark_updated(self, leadership: Leadership, high_watermark: int) -> None:
        assert self.current[leadership.partition] == leadership
        hosted = self._manager._partitions.find_led(leadership)
        assert hosted.log.high_watermark == high_watermark
        if self.calls[-1][0] == "high watermark" and self.calls[-1][1] == leadership:
            assert self.high_watermarks[leadership.partition] < high_watermark
        self.high_watermarks[leadership.partition] = high_watermark
        self.calls.append(("high watermark", leadership, high_watermark))

    def on_resignation(self, leadership: Leadership, end: LeadershipEnd) -> None:
        assert self.current.pop(leadership.partition) == leadership
        self.ended.append(leadership)
        self.calls.append(("resigned", leadership, end))

    def calls_received(self) -> list[tuple[str, int, object]]:
        """The calls, with leader epochs alone, the high watermarks in between left out."""
        return [
            (what, leadership.leader_epoch, detail)
            for what, leadership, detail in self.calls
            if what != "high watermark"
        ]


async def listen(
    stage: ReplicaStage, broker_id: int, *, partition: int | None = None
) -> tuple[Recorder, Registration]:
    """Register a recorder with the present process of a broker."""
    recorder = Recorder(stage.manager(broker_id))

    async def add(manager: ReplicaManager) -> Registration:
        return manager.listeners.add(recorder, topic=TOPIC, partition=partition)

    return recorder, await stage.on(broker_id, add)


async def led(stage: ReplicaStage, broker_id: int = 1) -> Recorder:
    """Register a recorder with a broker and wait until it leads partition 0."""
    recorder, _ = await listen(stage, broker_id)
    await stage.until(lambda: 0 in recorder.current)
    return recorder


async def at_once(stage: ReplicaStage, broker_id: int, work: Callable[[ReplicaManager], T]) -> T:
    """Run `work` on a broker's loop in one step."""

    async def run(manager: ReplicaManager) -> T:
        return work(manager)

    return await stage.on(broker_id, run)
