"""A node's configuration: one declaration a key (type, default, range, doc), read from flat TOML.

Decides what a valid configuration is; never reads files or the environment.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.broker.partition.replica_config import MIB, ReplicaConfig
from tidelog.core.errors import InvalidConfigError, KafkaError
from tidelog.log.cleaner import CleanerConfig
from tidelog.metadata.config import ControllerConfig
from tidelog.net.unfinished_requests import UnfinishedLimits
from tidelog.net.unread_responses import UnreadLimits
from tidelog.raft.config import ENGINE_KEY, ENGINES, RaftConfig

ROLES = ("broker", "controller")


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Everything `build_node` needs to know. Addresses are `host:port`; the node id is >= 1."""

    node_id: int
    cluster_id: str
    address: str
    data_dir: str
    controller_voters: Mapping[int, str]
    process_roles: tuple[str, ...] = ROLES
    http_port: int | None = None
    connections_max_idle_ms: int = 600_000
    unfinished: UnfinishedLimits = field(default_factory=UnfinishedLimits)
    rack: str = ""
    broker_heartbeat_interval_ms: int = 500
    events_journal_size: int = 8_192
    events_journal_bytes: int = 4 << 20
    auto_create_topics_enable: bool = True
    controller: ControllerConfig = field(default_factory=lambda: ControllerConfig(cluster_id=""))
    replica: ReplicaConfig = field(default_factory=ReplicaConfig)
    raft: RaftConfig = field(default_factory=RaftConfig)

    @property
    def is_broker(self) -> bool:
        """Whether this node serves partitions."""
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        """Whether this node votes in the metadata quorum."""
        return "controller" in self.process_roles


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key: how its value is read, its default (None: required) and what it means."""

    name: str
    read: Callable[[Any], Any]  # TOML values are untyped until read
    default: Any  # of the type `read` returns
    doc: str


def _integer(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:  # a TOML value
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return read


def _text(value: Any) -> str:  # a TOML value
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004  # a value the operator wrote
    return value


def _cluster_id(value: Any) -> str:  # a TOML value
    text = _text(value)
    if not 0 < len(text) <= CLUSTER_ID_CHARACTERS_MAX or not text.isprintable():
        raise ValueError(f"must be 1 to {CLUSTER_ID_CHARACTERS_MAX} printable characters")
    return text


def _choice(allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:  # a TOML value
        if value not in allowed:
            raise ValueError("must be one of " + ", ".join(allowed))
        return str(value)

    return read


def _boolean(value: Any) -> bool:  # a TOML value
    if not isinstance(value, bool):
        raise ValueError("must be true or false")  # noqa: TRY004  # as above
    return value


def _address(value: Any) -> str:  # a TOML value
    host, _, port = _text(value).rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("must be host:port")
    return f"{host}:{port}"


def _roles(value: Any) -> tuple[str, ...]:  # a TOML value
    if not isinstance(value, list) or not value or not set(value) <= set(ROLES):
        raise ValueError('must list "broker", "controller" or both')
    return tuple(role for role in ROLES if role in value)


def _voters(value: Any) -> dict[int, str]:  # a TOML value
    if not isinstance(value, dict) or not value:
        raise ValueError('must be a table such as {"1" = "127.0.0.1:9192"}')
    return {int(node_id): _address(address) for node_id, address in sorted(value.items())}


CLUSTER_ID_CHARACTERS_MAX = 100
"""It travels with each message between nodes, and lies in the metadata log."""
MAX_MS = 24 * 3600 * 1000
MAX_BYTES = 2**63 - 1
_REPLICA = ReplicaConfig()
_UNFINISHED = UnfinishedLimits()
_CONTROLLER = ControllerConfig(cluster_id="")
_RAFT = RaftConfig()
KEYS = (
    ConfigKey("node.id", _integer(1, 2**31 - 1), None, "This node's id, unique in the cluster."),
    ConfigKey("cluster.id", _cluster_id, None, "The cluster this node belongs to."),
    ConfigKey("listeners", _address, None, "host:port of the gRPC listener."),
    ConfigKey("log.dirs", _text, None, "Absolute path of the folder that holds all data."),
    ConfigKey("controller.quorum.voters", _voters, None, "Node id -> host:port of every voter."),
    ConfigKey(
        "controller.quorum.election.timeout.ms",
        _integer(50, MAX_MS),
        _RAFT.election_timeout_min_ms,
        "A voter that hears no leader for once to twice this long asks to be elected, and a leader "
        "that no majority answers for twice this long steps down.",
    ),
    ConfigKey(
        "controller.quorum.heartbeat.interval.ms",
        _integer(1, MAX_MS),
        _RAFT.heartbeat_interval_ms,
        "How often an idle leader speaks; less than a third of the election timeout.",
    ),
    ConfigKey(
        ENGINE_KEY,
        _choice(ENGINES),
        _RAFT.engine,
        "tidelog, or pysyncobj: PySyncObj's core behind the same port; the same in all voters.",
    ),
    ConfigKey(
        "metadata.log.max.record.bytes.between.snapshots",
        _integer(1 << 10, 1 << 30),
        _RAFT.snapshot_interval_bytes,
        "A snapshot of the metadata is made when its log has grown by so many bytes.",
    ),
    ConfigKey(
        "metadata.log.reserve.bytes",
        _integer(1 << 11, 1 << 31),
        _RAFT.wal_reserve_bytes,
        "Disk space the metadata log holds in advance, so that a disk full of records does not "
        "stop the quorum; at least twice the bytes between snapshots.",
    ),
    ConfigKey("process.roles", _roles, ROLES, "broker, controller or both."),
    ConfigKey("http.port", _integer(0, 65535), None, "Metrics and health; absent: no HTTP."),
    ConfigKey(
        "connections.max.idle.ms",
        _integer(100, MAX_MS),
        600_000,
        "A connection without a call for this long is closed; one of HTTP whatever it does.",
    ),
    ConfigKey(
        "compressed.records.inspection.enable",
        _boolean,
        _REPLICA.compressed_records_inspection,
        "Whether compressed batches are inflated before they are appended, to see to their "
        "records; "
        "those of compacted topics, and with message.timestamp.before.max.ms, always are.",
    ),
    ConfigKey(
        "compressed.records.inspection.threads",
        _integer(1, 256),
        _REPLICA.inspection_threads,
        "Batches that are inflated at one time; others wait.",
    ),
    ConfigKey(
        "unfinished.max.request.bytes",
        _integer(4 * MIB, MAX_BYTES),
        _UNFINISHED.bytes_max,
        "Bytes of requests that were begun and are not whole; above it the connections with most "
        "of them are closed. Looked at four times a second.",
    ),
    ConfigKey(
        "unfinished.request.timeout.ms",
        _integer(100, MAX_MS),
        _UNFINISHED.timeout_ms,
        "A connection that stops for this long with a MiB of unfinished requests is closed.",
    ),
    ConfigKey(
        "unread.max.response.bytes",
        _integer(4 * MIB, MAX_BYTES),
        _REPLICA.unread.bytes_max,
        "Responses that callers have not read; fetches above it wait, as long as they may anyway. "
        "Memory is about twice that. Followers have a share each of their own.",
    ),
    ConfigKey(
        "connection.unread.max.response.bytes",
        _integer(MIB, MAX_BYTES),
        _REPLICA.unread.connection_bytes_max,
        "The same for one connection; and never more than half of what is left of the node's.",
    ),
    ConfigKey(
        "unread.response.timeout.ms",
        _integer(100, MAX_MS),
        _REPLICA.unread.timeout_ms,
        "A connection that leaves a response unread for half of this, and takes less than 64 KiB "
        "in the other half, is closed.",
    ),
    ConfigKey(
        "replica.unread.max.response.bytes",
        _integer(MIB, MAX_BYTES),
        _REPLICA.replica_unread_response_bytes_max,
        "Responses that one follower has not read.",
    ),
    ConfigKey("broker.rack", _text, "", "Where the broker stands."),
    ConfigKey(
        "broker.session.timeout.ms",
        _integer(100, MAX_MS),
        3000,
        "A broker without a heartbeat for this long is fenced.",
    ),
    ConfigKey(
        "auto.leader.rebalance.enable",
        _boolean,
        _CONTROLLER.auto_leader_rebalance_enable,
        "Whether the active controller gives leaderships back to preferred leaders in sync.",
    ),
    ConfigKey(
        "leader.imbalance.check.interval.seconds",
        _integer(1, MAX_MS // 1000),
        _CONTROLLER.leader_imbalance_check_interval_ms // 1000,
        "How often it looks for leaderships to give back.",
    ),
    ConfigKey("broker.heartbeat.interval.ms", _integer(10, MAX_MS), 500, "Between heartbeats."),
    ConfigKey(
        "auto.create.topics.enable", _boolean, True, "Create a missing topic on its first use."
    ),
    ConfigKey(
        "events.journal.size",
        _integer(4, 1 << 20),
        8_192,
        "Events a node keeps, see `tidelog events`; a quarter of them refusals at most.",
    ),
    ConfigKey(
        "events.journal.bytes",
        _integer(1 << 12, 1 << 30),
        4 << 20,
        "About how much memory they may take.",
    ),
    ConfigKey("num.partitions", _integer(1, 10_000), 1, "Partitions of a topic by default."),
    ConfigKey("default.replication.factor", _integer(1, 100), 1, "Replicas by default."),
    ConfigKey(
        "replica.lag.time.max.ms",
        _integer(100, MAX_MS),
        30_000,
        "A follower not caught up for this long leaves the ISR.",
    ),
    ConfigKey(
        "log.retention.check.interval.ms",
        _integer(1, MAX_MS),
        _REPLICA.log_retention_check_interval_ms,
        "How often logs are looked through for what retention.ms and retention.bytes let go.",
    ),
    ConfigKey(
        "producer.id.expiration.ms",
        _integer(1, 365 * MAX_MS),
        _REPLICA.producer_id_expiration_ms,
        "A partition forgets the sequences of an idempotent producer that was silent in it "
        "for this long; looked at as often as retention.",
    ),
    ConfigKey(
        "log.scrub.bytes.per.second",
        _integer(0, MAX_BYTES),
        _REPLICA.log_scrub_bytes_per_second,
        "How fast stored records are read in the background to find damage; 0: never.",
    ),
    ConfigKey(
        "log.scrub.interval.ms",
        _integer(0, 365 * MAX_MS),
        _REPLICA.log_scrub_interval_ms,
        "The least time between the beginnings of two such rounds over all logs.",
    ),
    ConfigKey(
        "log.cleaner.enable",
        _boolean,
        _REPLICA.cleaner.enable,
        "Whether logs with cleanup.policy compact are compacted on this node.",
    ),
    ConfigKey(
        "log.cleaner.dedupe.buffer.size",
        _integer(1 << 20, MAX_BYTES),
        _REPLICA.cleaner.dedupe_buffer_size,
        "Memory for the keys of one compaction.",
    ),
    ConfigKey(
        "log.cleaner.io.max.bytes.per.second",
        _integer(1 << 10, MAX_BYTES),
        int(_REPLICA.cleaner.io_max_bytes_per_second),
        "How fast compaction reads and writes, together.",
    ),
    ConfigKey(
        "log.cleaner.backoff.ms",
        _integer(1, MAX_MS),
        _REPLICA.cleaner.backoff_ms,
        "How long compaction rests when nothing needs it.",
    ),
)
_OPTIONAL = frozenset({"http.port"})


def parse_config(text: str) -> NodeConfig:
    """A configuration from flat TOML with Kafka's key names.

    Errors: `KafkaError` INVALID_CONFIG naming the key, what is wrong with it and what is right.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _invalid(f"not valid TOML: {error}") from error
    unknown = sorted(given.keys() - {key.name for key in KEYS})
    if unknown:
        raise _invalid(f"unknown key {unknown[0]!r}; known are " + ", ".join(k.name for k in KEYS))
    values = {key.name: _value(key, given) for key in KEYS}
    return _node_config(values)


def _value(key: ConfigKey, given: Mapping[str, Any]) -> Any:  # typed by key.read
    if key.name not in given:
        if key.default is None and key.name not in _OPTIONAL:
            raise _invalid(f"{key.name} is missing ({key.doc})")
        return key.default
    try:
        return key.read(given[key.name])
    except ValueError as error:
        raise _invalid(f"{key.name} = {given[key.name]!r}: {error}") from error


def _node_config(values: Mapping[str, Any]) -> NodeConfig:  # values typed by KEYS
    config = NodeConfig(
        node_id=values["node.id"],
        cluster_id=values["cluster.id"],
        address=values["listeners"],
        data_dir=values["log.dirs"].rstrip("/"),
        controller_voters=values["controller.quorum.voters"],
        process_roles=values["process.roles"],
        http_port=values["http.port"],
        connections_max_idle_ms=values["connections.max.idle.ms"],
        unfinished=UnfinishedLimits(
            bytes_max=values["unfinished.max.request.bytes"],
            timeout_ms=values["unfinished.request.timeout.ms"],
        ),
        rack=values["broker.rack"],
        broker_heartbeat_interval_ms=values["broker.heartbeat.interval.ms"],
        events_journal_size=values["events.journal.size"],
        events_journal_bytes=values["events.journal.bytes"],
        auto_create_topics_enable=values["auto.create.topics.enable"],
        controller=ControllerConfig(
            cluster_id=values["cluster.id"],
            session_timeout_ms=values["broker.session.timeout.ms"],
            num_partitions=values["num.partitions"],
            default_replication_factor=values["default.replication.factor"],
            auto_leader_rebalance_enable=values["auto.leader.rebalance.enable"],
            leader_imbalance_check_interval_ms=1000
            * values["leader.imbalance.check.interval.seconds"],
        ),
        replica=_replica_config(values),
        raft=_raft_config(values),
    )
    if config.is_controller and config.controller_voters.get(config.node_id) != config.address:
        raise _invalid(
            f"controller.quorum.voters must name node {config.node_id} at {config.address}"
        )
    return config


def _replica_config(values: Mapping[str, Any]) -> ReplicaConfig:  # as above
    return ReplicaConfig(
        replica_lag_time_max_ms=values["replica.lag.time.max.ms"],
        unread=UnreadLimits(
            bytes_max=values["unread.max.response.bytes"],
            connection_bytes_max=values["connection.unread.max.response.bytes"],
            timeout_ms=values["unread.response.timeout.ms"],
        ),
        replica_unread_response_bytes_max=values["replica.unread.max.response.bytes"],
        compressed_records_inspection=values["compressed.records.inspection.enable"],
        inspection_threads=values["compressed.records.inspection.threads"],
        log_retention_check_interval_ms=values["log.retention.check.interval.ms"],
        producer_id_expiration_ms=values["producer.id.expiration.ms"],
        log_scrub_bytes_per_second=values["log.scrub.bytes.per.second"],
        log_scrub_interval_ms=values["log.scrub.interval.ms"],
        cleaner=CleanerConfig(
            enable=values["log.cleaner.enable"],
            dedupe_buffer_size=values["log.cleaner.dedupe.buffer.size"],
            io_max_bytes_per_second=values["log.cleaner.io.max.bytes.per.second"],
            backoff_ms=values["log.cleaner.backoff.ms"],
        ),
    )


def _raft_config(values: Mapping[str, Any]) -> RaftConfig:  # as above
    election, heartbeat = (
        "controller.quorum.election.timeout.ms",
        "controller.quorum.heartbeat.interval.ms",
    )
    reserve, between = (
        "metadata.log.reserve.bytes",
        "metadata.log.max.record.bytes.between.snapshots",
    )
    if 3 * values[heartbeat] >= values[election]:
        raise _invalid(f"{heartbeat} must be below a third of {election}")
    if values[reserve] < 2 * values[between]:
        raise _invalid(f"{reserve} must be at least twice {between}")
    return RaftConfig(
        cluster_id=values["cluster.id"],
        engine=values[ENGINE_KEY],
        election_timeout_min_ms=values[election],
        election_timeout_max_ms=2 * values[election],
        heartbeat_interval_ms=values[heartbeat],
        snapshot_interval_bytes=values[between],
        wal_reserve_bytes=values[reserve],
    )


def _invalid(message: str) -> KafkaError:
    return InvalidConfigError(f"node configuration: {message}")
