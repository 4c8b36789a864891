"""Configuration of a broker's group coordinator, by Kafka's names where they exist. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.broker.coordinator.classic_messages import ClassicLimits
from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, MAX_I32, text, whole_number

MIB = 1 << 20
ASSIGNORS_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Times in milliseconds, sizes in bytes."""

    offsets_topic_num_partitions: int = declare(
        50,
        whole_number(1, 1_000),
        "Partitions of __consumer_offsets, when it is created, all in one batch of the metadata; "
        "a group's coordinator leads one.",
    )
    offsets_topic_replication_factor: int = declare(
        3,
        whole_number(1, 1_000),
        "Replicas of each of them. Groups wait until as many brokers are registered, and are told "
        "so after 30 s; the configurations that tools write have at most as many as there are "
        "nodes.",
    )
    offsets_topic_segment_bytes: int = declare(
        100 * MIB,
        whole_number(MIB, MAX_I32),
        "Size of its segments; compaction leaves the newest one out.",
    )
    offset_metadata_max_bytes: int = declare(
        4_096, whole_number(0, MIB), "Maximum bytes of a client's text beside a committed offset."
    )
    offsets_retention_minutes: int = declare(
        10_080,
        whole_number(1, MAX_I32),
        "Time after which a committed offset is deleted, from its commit or from the end of the "
        "group's last member; never while the group is subscribed to the topic.",
    )
    offsets_retention_check_interval_ms: int = declare(
        600_000, whole_number(1, DAY_MS), "Interval of checks of offsets.retention.minutes."
    )
    offsets_commit_timeout_ms: int = declare(
        5_000,
        whole_number(1, DAY_MS),
        "Maximum wait of a coordinator's answer for the in-sync replicas.",
        key="offsets.commit.timeout.ms",
    )
    group_consumer_session_timeout_ms: int = declare(
        45_000,
        whole_number(100, DAY_MS),
        "Time after which a member of the consumer protocol that sends no heartbeat is removed.",
    )
    group_consumer_heartbeat_interval_ms: int = declare(
        5_000, whole_number(10, DAY_MS), "Time between two heartbeats of such a member."
    )
    group_consumer_disconnect_grace_ms: int = declare(
        1_000,
        whole_number(0, DAY_MS),
        "Time that a dynamic member has to come back when its connection broke.",
    )
    group_consumer_max_size: int = declare(
        10_000, whole_number(1, 1_000_000), "Maximum members of a group of the consumer protocol."
    )
    group_consumer_assignors: str = declare(
        "uniform,range,roundrobin",
        text(1, ASSIGNORS_CHARACTERS_MAX),
        "Assignors of the coordinator, the default first: uniform, range, roundrobin, or "
        "module:Class of one of your own.",
    )
    group_lag_refresh_ms: int = declare(
        10_000,
        whole_number(100, DAY_MS),
        "Interval at which a coordinator looks up the lag of its groups, for metrics.",
    )
    group_min_session_timeout_ms: int = declare(
        6_000,
        whole_number(100, DAY_MS),
        "Shortest session timeout that a member of the classic protocol may ask for.",
    )
    group_max_session_timeout_ms: int = declare(
        1_800_000,
        whole_number(100, DAY_MS),
        "Longest session timeout that such a member may ask for.",
    )
    group_initial_rebalance_delay_ms: int = declare(
        3_000,
        whole_number(0, DAY_MS),
        "Time that an empty group of the classic protocol waits for further members.",
    )
    group_max_size: int = declare(
        10_000, whole_number(1, 1_000_000), "Maximum members of a group of the classic protocol."
    )
    group_record_bytes_max: int = 1_000_000
    """Maximum bytes of a classic group's record, with all its members: it has to fit one batch."""
    group_streams_max: int = declare(
        20_000,
        whole_number(1, 1_000_000),
        "Maximum streams of members that a broker has at a time; further ones are refused.",
    )
    group_partition_state_bytes: int = declare(
        64 * MIB,
        whole_number(1 << 10, 1 << 40),
        "Maximum bytes of the groups of one partition of __consumer_offsets, as in its records: "
        "beyond it members that join, subscriptions that change and offsets of further "
        "partitions are refused. Memory is several times that.",
        key="group.partition.state.bytes",
    )
    group_members_max_bytes: int = declare(
        32 * MIB,
        whole_number(1 << 10, 1 << 40),
        "Maximum bytes of the members of all groups that a broker coordinates, with each protocol "
        "of a classic member. An address gets at most half of what others leave; members that "
        "join and subscriptions that grow are refused beyond it.",
        key="group.members.max.bytes",
    )
    groups_max: int = 100_000
    """Maximum groups of one partition of the internal topic; further ones are refused."""
    group_offsets_max: int = 50_000
    """Maximum committed offsets of one group; further partitions are refused."""

    @property
    def assignor_names(self) -> list[str]:
        """Names of the coordinator's assignors, the default first."""
        return [name.strip() for name in self.group_consumer_assignors.split(",")]

    @property
    def classic_limits(self) -> ClassicLimits:
        """Bounds of groups of the classic protocol."""
        return ClassicLimits(
            size_max=self.group_max_size,
            record_bytes_max=self.group_record_bytes_max,
            initial_rebalance_delay_ms=self.group_initial_rebalance_delay_ms,
            session_timeout_min_ms=self.group_min_session_timeout_ms,
            session_timeout_max_ms=self.group_max_session_timeout_ms,
        )

    @property
    def retention_ms(self) -> int:
        """Time that committed offsets are kept."""
        return self.offsets_retention_minutes * 60_000
