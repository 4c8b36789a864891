"""A node's configuration: its own keys, those of its parts, and what must go together. Pure.

Each key is declared once, as a field: the keys of a part (replicas, the quorum, the cleaner) stand
with the part, and `NodeConfig` holds them all. The environment goes before the file, the file
before the default; this module is handed both as text and reads neither.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.kafka.config import QUEUED_BYTES_KEY, REQUEST_BYTES_KEY, KafkaConfig
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.core.config_keys import ConfigKey, build_config, declaration, declare, keys_of
from tidelog.core.config_sources import Rule, Settings, read_settings
from tidelog.core.config_types import (
    DAY_MS,
    MAX_I32,
    boolean,
    list_of,
    text,
    voters,
    whole_number,
)
from tidelog.metadata.config import ControllerConfig
from tidelog.net.listeners import (
    DEFAULT_NAME,
    KAFKA_PREFIX,
    NAME_CHARACTERS_MAX,
    Listener,
    combine,
    listener_list,
    listeners_error,
)
from tidelog.net.unfinished_requests import UnfinishedLimits
from tidelog.node.http_produce.config import ENABLE_KEY, HttpProduceConfig
from tidelog.raft.config import (
    ELECTION_TIMEOUT_KEY,
    HEARTBEAT_INTERVAL_KEY,
    SNAPSHOT_INTERVAL_KEY,
    WAL_RESERVE_KEY,
    RaftConfig,
)

ROLES = ("broker", "controller")
CLUSTER_ID_CHARACTERS_MAX = 100
"""Limited, as each message between nodes and the metadata log hold the cluster id."""
RACK_CHARACTERS_MAX = 249
PATH_CHARACTERS_MAX = 4_095
RETRY_INTERVAL_MS = 80
"""Interval of a voter's questions without a leader, even where heartbeats are rare."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Configuration that `build_node` needs. Addresses are `host:port`; the node id is >= 1."""

    node_id: int = field(
        metadata=declaration(whole_number(1, MAX_I32), "This node's id, unique in the cluster.")
    )
    cluster_id: str = field(
        metadata=declaration(
            text(1, CLUSTER_ID_CHARACTERS_MAX), "The cluster this node belongs to."
        )
    )
    listeners: tuple[Listener, ...] = field(
        metadata=declaration(
            listener_list(),
            "Addresses that the node binds, each with a name; that of a host:port alone is "
            f"{DEFAULT_NAME}. Names that begin with {KAFKA_PREFIX} speak Kafka's protocol, all "
            "others gRPC, which one of them must.",
        )
    )
    """Listeners, each with the address it advertises and the services it offers."""
    data_dir: str = field(
        metadata=declaration(
            text(1, PATH_CHARACTERS_MAX),
            "Absolute path of the folder that holds all data.",
            key="log.dirs",
        )
    )
    controller_voters: Mapping[int, str] = field(
        metadata=declaration(
            voters(), "Node id -> host:port of every voter.", key="controller.quorum.voters"
        )
    )
    advertised_listeners: tuple[Listener, ...] | None = field(
        default=None,
        metadata=declaration(
            listener_list(),
            "Addresses at which clients and nodes reach the listeners of these names; of others, "
            "and without it, the address that is bound.",
        ),
    )
    inter_broker_listener_name: str = declare(
        "",
        text(0, NAME_CHARACTERS_MAX),
        "The listener at which nodes call each other, and the only one that takes a caller for a "
        "node; needed with several listeners that speak gRPC.",
    )
    raft: RaftConfig = field(default_factory=RaftConfig)
    process_roles: tuple[str, ...] = declare(ROLES, list_of(*ROLES), "broker, controller or both.")
    http_port: int | None = field(
        default=None,
        metadata=declaration(
            whole_number(0, 65535), "Metrics, health and, where it is on, records; absent: no HTTP."
        ),
    )
    http_produce: HttpProduceConfig = field(default_factory=HttpProduceConfig)
    connections_max_idle_ms: int = declare(
        600_000,
        whole_number(100, DAY_MS),
        "A connection without a call for this long is closed; one of HTTP whatever it does.",
    )
    unfinished: UnfinishedLimits = field(default_factory=UnfinishedLimits)
    kafka: KafkaConfig = field(default_factory=KafkaConfig)
    rack: str = declare("", text(0, RACK_CHARACTERS_MAX), "Rack of the broker.", key="broker.rack")
    broker_heartbeat_interval_ms: int = declare(
        500, whole_number(10, DAY_MS), "Between heartbeats."
    )
    auto_create_topics_enable: bool = declare(
        default=True, value_type=boolean(), doc="Create a missing topic on its first use."
    )
    events_journal_size: int = declare(
        8_192,
        whole_number(4, 1 << 20),
        "Events a node keeps, see `tidelog events`; at most a quarter of them refusals, a "
        "quarter of consumer groups, and an eighth of transactions.",
    )
    events_journal_bytes: int = declare(
        4 << 20, whole_number(1 << 12, 1 << 30), "About how much memory they may take."
    )
    controller: ControllerConfig = field(default_factory=ControllerConfig)
    replica: ReplicaConfig = field(default_factory=ReplicaConfig)
    groups: GroupConfig = field(default_factory=GroupConfig)
    transactions: TransactionConfig = field(default_factory=TransactionConfig)

    @property
    def internal_listener(self) -> Listener:
        """Listener that other nodes call."""
        return _internal(self.listeners)

    @property
    def address(self) -> str:
        """Address that other nodes call, host:port."""
        return self.internal_listener.advertised

    @property
    def is_broker(self) -> bool:
        """True if this node serves partitions."""
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        """True if this node votes in the metadata quorum."""
        return "controller" in self.process_roles


def _internal(of: Sequence[Listener]) -> Listener:
    return next(one for one in of if one.is_internal)


NODE_KEYS: Mapping[str, ConfigKey] = MappingProxyType(keys_of(NodeConfig))


def _voter_error(  # positional: in the order of the rule's keys
    bound: tuple[Listener, ...],
    advertised: tuple[Listener, ...] | None,
    internal_name: str,
    node_id: int,
    roles: tuple[str, ...],
    quorum: Mapping[int, str],
) -> str | None:
    if listeners_error(bound, advertised, internal_name) is not None:
        return None  # said by its own rule
    own = _internal(combine(bound, advertised, internal_name)).advertised
    if "controller" not in roles or quorum.get(node_id) == own:
        return None
    return f"controller.quorum.voters must name node {node_id} at {own}"


def _heartbeat_error(heartbeat_ms: int, election_ms: int) -> str | None:
    if 3 * heartbeat_ms < election_ms:
        return None
    return f"{HEARTBEAT_INTERVAL_KEY} must be below a third of {ELECTION_TIMEOUT_KEY}"


def _reserve_error(reserve: int, between: int) -> str | None:
    if reserve >= 2 * between:
        return None
    return f"{WAL_RESERVE_KEY} must be at least twice {SNAPSHOT_INTERVAL_KEY}"


def _queued_bytes_error(request_bytes_max: int, queued_bytes_max: int) -> str | None:
    if queued_bytes_max >= request_bytes_max:
        return None
    return f"{QUEUED_BYTES_KEY} must be at least {REQUEST_BYTES_KEY}"


def _http_produce_error(
    is_enabled: bool,  # noqa: FBT001  # positional: in the order of the rule's keys
    port: int | None,
    roles: tuple[str, ...],
) -> str | None:
    if not is_enabled or (port is not None and "broker" in roles):
        return None
    return f"{ENABLE_KEY} needs an http.port and the role broker"


_LISTENER_KEYS = ("listeners", "advertised.listeners", "inter.broker.listener.name")
_RULES = (
    Rule(_LISTENER_KEYS, listeners_error),
    Rule(
        (*_LISTENER_KEYS, "node.id", "process.roles", "controller.quorum.voters"),
        _voter_error,
    ),
    Rule((HEARTBEAT_INTERVAL_KEY, ELECTION_TIMEOUT_KEY), _heartbeat_error),
    Rule((WAL_RESERVE_KEY, SNAPSHOT_INTERVAL_KEY), _reserve_error),
    Rule((REQUEST_BYTES_KEY, QUEUED_BYTES_KEY), _queued_bytes_error),
    Rule((ENABLE_KEY, "http.port", "process.roles"), _http_produce_error),
)


def node_settings(toml: str, environ: Mapping[str, str] = _NOTHING) -> Settings:
    """The value of each key and where it is from. Errors as `parse_config`."""
    return read_settings(NODE_KEYS, toml, environ, rules=_RULES)


def parse_config(toml: str, environ: Mapping[str, str] = _NOTHING) -> NodeConfig:
    """A configuration from TOML with Kafka's key names, and from an environment before that.

    Errors: `KafkaError` INVALID_CONFIG naming each key that is wrong, why, and the right one.
    """
    config = build_config(NodeConfig, node_settings(toml, environ).values)
    return replace(
        config,
        listeners=combine(
            config.listeners, config.advertised_listeners, config.inter_broker_listener_name
        ),
        data_dir=config.data_dir.rstrip("/"),
        controller=replace(config.controller, cluster_id=config.cluster_id),
        raft=replace(
            config.raft,
            cluster_id=config.cluster_id,
            retry_interval_ms=min(RETRY_INTERVAL_MS, config.raft.heartbeat_interval_ms),
        ),
    )
