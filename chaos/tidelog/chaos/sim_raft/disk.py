"""A voter's disk: tells when the power went in the midst of an operation, and what a crash did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.chaos.sim_stage.disk_faults import DiskFaults, PowerCutError
from tidelog.chaos.sim_stage.medium import Content, Folder
from tidelog.log.env import Random


class Loss(NamedTuple):
    """What a crash took of the files that had un-synced changes."""

    is_lossy: bool
    is_torn: bool
    """A file has some of its un-synced bytes and lacks others."""


class _TellingFaults(DiskFaults):
    def __init__(self, on_power_cut: Callable[[], None]) -> None:
        super().__init__()
        self._on_power_cut = on_power_cut

    def count(self) -> None:
        try:
            super().count()
        except PowerCutError:
            self._on_power_cut()
            raise


class VoterDisk(SimDisk):
    """A `SimDisk`; `on_power_cut` is called within the operation that `crash_at` chose."""

    def __init__(
        self, random: Random, *, sync_latency_s: float, on_power_cut: Callable[[], None]
    ) -> None:
        super().__init__(random, sync_latency_s)
        self.faults = _TellingFaults(on_power_cut)

    def slow_down(self, sync_latency_s: float) -> None:
        """Let every sync from now on take this long."""
        self._sync_latency_s = sync_latency_s

    def lose_power(self) -> Loss:
        """`crash`, and what it did."""
        at_risk = [
            (content, bytes(content.stored), bytes(content.written))
            for content in _files(self._root)
            if content.stored != content.written
        ]
        self.crash()
        lossy = [item for item in at_risk if item[0].stored != item[2]]
        return Loss(
            is_lossy=bool(lossy),
            is_torn=any(content.stored != stored for content, stored, _ in lossy),
        )


def _files(folder: Folder) -> Iterator[Content]:
    for node in folder.entries.values():
        if isinstance(node, Folder):
            yield from _files(node)
        else:
            yield node
