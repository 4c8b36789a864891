"""Faults told by name instead of drawn: what strikes is scripted, the world around it is drawn.

Each is the storm of a run of its own, over one partition; what comes before and after, and what is
judged, is as ever. What each claims is its docstring, in the modules `scenarios_…`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from tidelog.chaos.sim_cluster import (
    scenarios_clients,
    scenarios_damage,
    scenarios_disks,
    scenarios_epochs,
    scenarios_leaders,
    scenarios_links,
)
from tidelog.chaos.sim_cluster.scene import Scene
from tidelog.chaos.sim_cluster.world_config import WorldConfig
from tidelog.chaos.workloads.plans import CHURNED, LOSSY, STEADY

STORM = "storm"
"""No scenario: what the seed draws."""
ACKS = (-1, -1, 1)
"""Of the producers."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story; the docstring of `tell` is its claim."""

    tell: Callable[[Scene], Awaitable[None]]
    has_separate_controllers: bool = True
    """So that brokers can be cut from each other, or be gone, and controllers decide."""
    topic: str = STEADY
    is_flushed: bool | None = None
    """flush.messages=1; None: as drawn."""
    segment_bytes: int | None = None
    """None: as drawn; else each of them has entries in its index."""

    @property
    def claim(self) -> str:
        """What it shows, in a sentence."""
        return " ".join((self.tell.__doc__ or "").split())

    def shape(self, config: WorldConfig) -> WorldConfig:
        """The drawn world with one topic of one partition, and producers of that."""
        plan = config.plan(STEADY)
        is_lossy = self.topic == LOSSY
        topic = replace(
            plan,
            name=self.topic,
            partitions=1,
            min_insync_replicas=1 if is_lossy else 2,
            is_lossy=is_lossy,
            is_flushed=plan.is_flushed if self.is_flushed is None else self.is_flushed,
            segment_bytes=self.segment_bytes or plan.segment_bytes,
            index_interval_bytes=0 if self.segment_bytes else plan.index_interval_bytes,
        )
        producers = tuple(
            replace(producer, topic=self.topic, acks=acks)
            for producer, acks in zip(config.producers, ACKS, strict=False)
        )
        return replace(config, topics=(topic,), producers=producers)


SCENARIOS: dict[str, Scenario] = {
    "F01": Scenario(scenarios_leaders.f01, has_separate_controllers=False),
    "F02": Scenario(scenarios_leaders.f02, has_separate_controllers=False),
    "F03": Scenario(scenarios_leaders.f03, has_separate_controllers=False),
    "F04": Scenario(scenarios_links.f04),
    "F05": Scenario(scenarios_links.f05),
    "F06": Scenario(scenarios_links.f06),
    "F07": Scenario(scenarios_leaders.f07, has_separate_controllers=False),
    "F08": Scenario(scenarios_links.f08),
    "F09": Scenario(scenarios_links.f09),
    "F10": Scenario(scenarios_links.f10),
    "F11": Scenario(scenarios_leaders.f11),
    "F12": Scenario(scenarios_epochs.f12),
    "F13": Scenario(scenarios_epochs.f13),
    "F14": Scenario(scenarios_epochs.f14),
    "F15": Scenario(scenarios_epochs.f15, topic=LOSSY),
    "F16": Scenario(scenarios_epochs.f16),
    "F17": Scenario(scenarios_epochs.f17),
    "F18": Scenario(scenarios_epochs.f18),
    "F19": Scenario(scenarios_leaders.f19, topic=LOSSY),
    "F20": Scenario(scenarios_leaders.f20, is_flushed=False),
    "F32": Scenario(scenarios_damage.f32, is_flushed=False),
    "F33": Scenario(scenarios_damage.f33),
    "F34": Scenario(scenarios_damage.f34, segment_bytes=1500),
    "F35": Scenario(scenarios_damage.f35, segment_bytes=800),
    "F36": Scenario(scenarios_disks.f36),
    "F37": Scenario(scenarios_disks.f37, is_flushed=True),
    "F39": Scenario(scenarios_disks.f39, is_flushed=True),
    "F61": Scenario(scenarios_disks.f61, has_separate_controllers=False),
    "F63": Scenario(scenarios_clients.f63),
    "F64": Scenario(scenarios_clients.f64, topic=CHURNED, has_separate_controllers=False),
}
