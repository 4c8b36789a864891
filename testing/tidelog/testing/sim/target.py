"""The cluster of a simulated test: its nodes and the target that a storm strikes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.core.errors import TidelogError
from tidelog.core.logs import context_logging_to
from tidelog.metadata.topic_rules import topic_rules
from tidelog.node.config import NodeConfig
from tidelog.simulation.cluster.budget_view import SimBudgetView
from tidelog.simulation.cluster.cluster import SimClusterConfig
from tidelog.simulation.cluster.inside import newest_image
from tidelog.simulation.cluster.simulation_config import REPLICATION_FACTOR, ClusterSimulationConfig
from tidelog.simulation.cluster.storm_target import StormTarget
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import SchedulerLimits
from tidelog.simulation.suites.findings import Findings
from tidelog.testing.plans import check_configs, check_sizes, roles_of, settings_of
from tidelog.testing.sim.errors import SimulatedTestError
from tidelog.testing.sim.guest_loop import GuestLoop

STEPS_MAX, VIRTUAL_S_MAX = 3_000_000, 300.0
SYNC_LATENCY_S = 0.002
# Short enough that a failover fits into a test, long enough that no node is fenced without cause.
_QUICK = {
    "broker.session.timeout.ms": 2_000,
    "broker.heartbeat.interval.ms": 400,
    "replica.lag.time.max.ms": 2_000,
    # A seed's metadata is small; its room on disk is cleared at each start.
    "metadata.log.max.record.bytes.between.snapshots": 256 << 10,
    "metadata.log.reserve.bytes": 1 << 20,
}


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of a simulated cluster: sizes, configuration by Kafka's keys, and a seed's limits."""

    brokers: int = 3
    controllers: int | None = None
    configs: Mapping[str, object] = field(default_factory=dict)
    virtual_s: float = VIRTUAL_S_MAX
    steps: int = STEPS_MAX

    def check(self) -> None:
        """Raise `SimulatedTestError` for what no cluster has."""
        try:
            check_sizes(self.brokers, self.controllers)
            check_configs(self.configs)
        except TidelogError as error:
            raise SimulatedTestError(str(error)) from None
        for name in ("virtual_s", "steps"):
            if not getattr(self, name) > 0:
                raise SimulatedTestError(f"{name}={getattr(self, name)}: it must be above 0")


class SimulatedTarget(StormTarget):
    """The target of a seed; nothing of it is drawn but what the seed's faults do to it."""

    def __init__(
        self,
        options: ClusterOptions,
        seed: int,
        *,
        timeline_sink: Callable[[str], None],
        trace_sink: Callable[[str], None] | None,
    ) -> None:
        roles = roles_of(options.brokers, options.controllers)
        settings = settings_of(options.brokers, {**_QUICK, **options.configs})
        config = ClusterSimulationConfig(
            controller_ids=tuple(n for n, has in roles.items() if "controller" in has),
            broker_ids=tuple(n for n, has in roles.items() if "broker" in has),
            topics=(),
            producers=(),
            replica=settings.replica,
            raft=settings.raft,
            session_timeout_ms=settings.controller.session_timeout_ms,
            heartbeat_interval_ms=settings.broker_heartbeat_interval_ms,
            sync_latency_s_max=SYNC_LATENCY_S,
            storm_s=options.virtual_s,
        )
        super().__init__(
            seed=seed,
            config=config,
            nodes=SimClusterConfig(
                configure=lambda node: _configured(node, settings),
                client_loop=GuestLoop,  # type: ignore[type-abstract]
                node_context=context_logging_to(self.hear),
                limits=SchedulerLimits(steps=options.steps, virtual_s=options.virtual_s),
            ),
            findings=Findings(),
            timeline_sink=timeline_sink,
            trace_sink=trace_sink,
        )

    def budget_view(self) -> SimBudgetView:
        """See `StormTarget`."""
        return _ImageView(self.cluster, self.config, self.count_event)

    @property
    def client_hosts(self) -> Sequence[str]:
        """See `StormTarget`: the test itself, and its processes."""
        return [self.cluster.client_host.name, *self.client_processes]

    def topic_id(self, topic: str) -> bytes | None:
        """Find a topic's present id."""
        found = self.image.topics.get(topic)
        return None if found is None else found.topic_id

    @property
    def replication_factor(self) -> int:
        """Replicas of a topic whose creator does not say."""
        return min(REPLICATION_FACTOR, len(self.config.broker_ids))

    def hear(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Note a node's log line; those of no consequence are left out."""
        if level == "debug":
            return
        loop = asyncio._get_running_loop()  # noqa: SLF001
        who = loop.name if isinstance(loop, NodeLoop) else "?"
        self.note(who, " ".join([event, *(f"{key}={value}" for key, value in fields.items())]))


class _ImageView(SimBudgetView):
    """Promises of topics by their own configuration, which the test chose."""

    def promises(self, topic: str) -> TopicPlan:
        """See `BudgetView`."""
        image = newest_image(self._cluster)
        rules = topic_rules(image.topics[topic], image)
        return TopicPlan(
            name=topic,
            partitions=len(image.topics[topic].partitions),
            min_insync_replicas=rules.min_insync_replicas,
            is_flushed=rules.is_every_record_flushed,
            is_lossy=rules.is_unclean_allowed,
            segment_bytes=0,
            index_interval_bytes=0,
        )


def _configured(node: NodeConfig, settings: NodeConfig) -> NodeConfig:
    """Settings of all nodes, for this one."""
    return replace(
        settings,
        node_id=node.node_id,
        cluster_id=node.cluster_id,
        listeners=node.listeners,
        data_dir=node.data_dir,
        controller_voters=node.controller_voters,
        process_roles=node.process_roles,
        controller=replace(settings.controller, cluster_id=node.cluster_id),
    )
