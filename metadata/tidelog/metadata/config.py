"""The configuration of a controller and the limits it keeps. Decides nothing."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, boolean, whole_number


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """Defaults are Kafka's where Kafka has the setting."""

    cluster_id: str = ""
    session_timeout_ms: int = declare(
        9_000,
        whole_number(100, DAY_MS),
        "A broker without a heartbeat for this long is fenced; one whose process answers a dial of "
        "the controller by then is slow, and has as long again.",
        key="broker.session.timeout.ms",
    )
    num_partitions: int = declare(1, whole_number(1, 10_000), "Partitions of a topic by default.")
    default_replication_factor: int = declare(1, whole_number(1, 100), "Replicas by default.")
    initial_min_insync_replicas: int = declare(
        1,
        whole_number(1, 100),
        "The cluster's min.insync.replicas from the registration of its first broker on; it is "
        "changed by AlterConfigs then.",
    )

    auto_leader_rebalance_enable: bool = declare(
        default=True,
        value_type=boolean(),
        doc="Whether the active controller gives leaderships back to preferred leaders in sync.",
    )
    leader_imbalance_check_interval_seconds: int = declare(
        300,
        whole_number(1, DAY_MS // 1000),
        "How often it looks for leaderships to give back.",
    )

    brokers_max: int = 1_000
    partitions_max: int = 10_000
    """Partitions in the cluster; bounds the image."""
    partitions_per_batch_max: int = 100
    """New, removed and changed partitions in one batch; a larger plan takes several, with others
    between."""
    batch_bytes_max: int = 1_000_000
    """Records of one batch; the replicated log takes a command of 1 MiB. A decision that needs more
    is refused, one that needs more than is left waits for the next batch."""
    topics_per_request_max: int = 1_000
    config_resources_per_request_max: int = 1_000
    config_changes_per_resource_max: int = 100

    commands_queued_max: int = 1_000
    """Commands that wait for a decision; one more is refused with THROTTLING_QUOTA_EXCEEDED."""
    commands_per_batch_max: int = 64
    commit_timeout_ms: int = 5_000
    """Time a decision has to commit before its outcome is called unknown."""
    session_check_interval_ms: int = 100
    dial_timeout_ms: int = 500
    """Time a dialled broker has to answer before it counts as silent."""
    dials_max: int = 16
    """Brokers dialled at one time."""
    reports_waiting_max: int = 1_000
    """Reports about brokers that may be gone; one more is refused."""
    vain_dial_wait_ms: int = 50
    """Before a broker is dialled again that was not dead; doubles each time, up to the next."""
    vain_dial_wait_ms_max: int = 1_000
    fenced_dial_wait_ms: int = 1_000
    """Before a broker is dialled again that was fenced so; doubles each time, up to the next."""
    fenced_dial_wait_ms_max: int = 30_000
    follow_bytes_max: int = 1_048_576
    """Bytes of batches in one answer to a follower of the metadata; at least one batch is sent."""
    tail_batches_max: int = 10_000
    """Batches held for followers that were away; one that needs older ones gets a snapshot."""
    tail_bytes_max: int = 8_388_608
    follow_keep_alive_ms: int = 500
    """Interval of keep-alives to a follower without news."""
