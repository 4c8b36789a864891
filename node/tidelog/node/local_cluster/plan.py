"""The data folder of a cluster: one configuration file per node, and the paths of its other files.

    .data/node-1.toml   the node's configuration, written once, then yours to edit
    .data/node-1.pid    the id of the process that runs it, or ran it last
    .data/node-1.log    its stdout and stderr; node-1.log.1 is the previous, full one
    .data/node-1/       its data: meta.properties, one folder per partition

Only the owner may read these files. The configuration files are the only record of a cluster.
Never touches a folder that it did not create.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tidelog.core.errors import TidelogError
from tidelog.net.listeners import KAFKA_PREFIX, kafka_listeners
from tidelog.net.quiet_ports import quiet_ports
from tidelog.node.config import NodeConfig, parse_config
from tidelog.node.config_text import config_text
from tidelog.node.local_cluster.errors import LocalClusterError
from tidelog.raft.config import ENGINE_KEY

HOST = "127.0.0.1"
NODES = 3
PARTITIONS = 3
REPLICATION_FACTOR = 3
MIN_ISR = 2
"""Kafka's advice for three replicas: one node may be lost with no record, and writes go on."""
PORTS = (9192, 9193, 9194)
HTTP_PORTS = (9292, 9293, 9294)
KAFKA_PORTS = (9092, 9093, 9094)
NO_PORTS: Sequence[int] = ()
"""No listener of Kafka's protocol."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A node: its configuration, and the files beside its data."""

    config: NodeConfig
    folder: Path

    @property
    def node_id(self) -> int:
        """The node's id."""
        return self.config.node_id

    @property
    def address(self) -> str:
        """Address of the internal listener, host:port."""
        return self.config.address

    @property
    def kafka_address(self) -> str | None:
        """Address that clients of Kafka's protocol call, host:port; None without such a listener.

        Of several it is the first.
        """
        found = kafka_listeners(self.config.listeners)
        return found[0].advertised if found else None

    @property
    def is_controller(self) -> bool:
        """True if the node is a controller, and so a voter."""
        return "controller" in self.config.process_roles

    @property
    def config_path(self) -> Path:
        """The configuration file that the node's process is started with."""
        return _config_path(self.folder, self.node_id)

    @property
    def pid_path(self) -> Path:
        """The file that holds the process id of the node's last start."""
        return self.folder / f"node-{self.node_id}.pid"

    @property
    def log_path(self) -> Path:
        """The node's stdout and stderr."""
        return self.folder / f"node-{self.node_id}.log"


def default_folder() -> Path:
    """`.data` in the checkout that this code runs from, else in the working directory."""
    checkout = Path(__file__).resolve().parents[4]
    return (checkout if (checkout / "Makefile").exists() else Path.cwd()) / ".data"


def load(folder: Path) -> list[NodePlan]:
    """The nodes of the cluster in `folder`, by node id; empty when there is no cluster.

    Errors: `LocalClusterError` that names a configuration that cannot be used, and why.
    """
    return sorted(
        (_load_node(folder, path) for path in folder.glob("node-*.toml")),
        key=lambda plan: plan.node_id,
    )


def load_or_create(
    folder: Path,
    *,
    ports: Sequence[int] | None,
    http_ports: Sequence[int] | None,
    kafka_ports: Sequence[int] | None = None,
    nodes: int | None = None,
    engine: str | None = None,
) -> list[NodePlan]:
    """The nodes of the cluster in `folder`, which is created if it is new; None: the defaults.

    A port 0 stands for a free one, chosen now and written down; a single 0 for one of each node.
    `NO_PORTS` as `kafka_ports` stands for no listener of Kafka's protocol. Where `ports` are any
    free ones, so are the others that are not given.

    Errors: `LocalClusterError` when the folder is not a cluster's, or when its cluster has other
    nodes, other ports, another engine, or controllers with different engines.
    """
    plans = load(folder)
    if not plans:
        _refuse_foreign(folder)
        chosen = _chosen_ports(nodes=nodes, grpc=ports, http=http_ports, kafka=kafka_ports)
        _create(folder, chosen, engine=engine)
        plans = load(folder)
    _check_nodes(folder, plans, nodes=nodes)
    _check_ports(folder, plans, ports=ports, kafka_ports=kafka_ports)
    missing = set(plans[0].config.controller_voters) - {plan.node_id for plan in plans}
    if missing:
        raise LocalClusterError(
            f"{_config_path(folder, min(missing))} is missing though node-{plans[0].node_id}.toml"
            " names that node as a voter: put it back, or move the folder away to start empty"
        )
    _check_engines(folder, plans, engine)
    return plans


class _Ports(NamedTuple):
    """Ports of a node."""

    grpc: int
    http: int
    kafka: int | None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.grpc}"

    @property
    def listeners(self) -> str:
        """As in the node's configuration."""
        if self.kafka is None:
            return self.address
        return f"GRPC://{self.address},{KAFKA_PREFIX}://{HOST}:{self.kafka}"


def _chosen_ports(
    *,
    nodes: int | None,
    grpc: Sequence[int] | None,
    http: Sequence[int] | None,
    kafka: Sequence[int] | None,
) -> list[_Ports]:
    """Choose the ports of each node."""
    if grpc is not None and set(grpc) == {0}:
        http = (0,) if http is None else http
        kafka = (0,) if kafka is None else kafka
    lists = [given for given in (grpc, http, kafka) if given and list(given) != [0]]
    count = nodes or (len(lists[0]) if lists else NODES)
    if any(len(given) != count for given in lists):
        raise LocalClusterError(
            f"--ports, --http-ports and --kafka-ports must list a port for each of {count} nodes,"
            " or be 0"
        )
    wanted = [
        _each(range(PORTS[0], PORTS[0] + count) if grpc is None else grpc, count),
        _each(range(HTTP_PORTS[0], HTTP_PORTS[0] + count) if http is None else http, count),
        _each(range(KAFKA_PORTS[0], KAFKA_PORTS[0] + count) if kafka is None else kafka, count),
    ]
    free = iter(quiet_ports(sum(one.count(0) for one in wanted)))
    of_grpc, of_http, of_kafka = [[port or next(free) for port in one] for one in wanted]
    nothing: list[int | None] = [None] * count
    return [_Ports(*ports) for ports in zip(of_grpc, of_http, of_kafka or nothing, strict=True)]


def _each(given: Sequence[int], count: int) -> list[int]:
    """Return the port of each node: a single one, 0, stands for that of all."""
    return (list(given) * count)[:count]


def _check_nodes(folder: Path, plans: Sequence[NodePlan], *, nodes: int | None) -> None:
    if nodes not in (None, len(plans)):
        raise LocalClusterError(
            f"the number of nodes in {folder} is {len(plans)}, not {nodes}: leave --nodes out, or"
            " choose another --data-dir"
        )


def _check_ports(
    folder: Path,
    plans: Sequence[NodePlan],
    *,
    ports: Sequence[int] | None,
    kafka_ports: Sequence[int] | None,
) -> None:
    """Compare the ports asked for with those of the folder's configuration files."""
    of_kafka = [plan.kafka_address for plan in plans if plan.kafka_address is not None]
    for option, wanted, addresses in (
        ("--ports", ports, [plan.address for plan in plans]),
        ("--kafka-ports", kafka_ports, of_kafka),
    ):
        configured = [int(address.rpartition(":")[2]) for address in addresses]
        if wanted is None or list(wanted) == configured or (configured and set(wanted) == {0}):
            continue
        raise LocalClusterError(
            f"the cluster in {folder} listens on {_shown(configured)}, not {_shown(wanted)}: leave"
            f" {option} out, or choose another --data-dir"
        )


def _shown(ports: Sequence[int]) -> str:
    return ",".join(map(str, ports)) or "none of Kafka's ports"


def _check_engines(folder: Path, plans: Sequence[NodePlan], wanted: str | None) -> None:
    engines = {plan.node_id: plan.config.raft.engine for plan in plans if plan.is_controller}
    if len(set(engines.values())) > 1:
        values = ", ".join(f"node {node_id} {engine}" for node_id, engine in engines.items())
        raise LocalClusterError(
            f"the controllers in {folder} have different values of {ENGINE_KEY}: {values}; set the"
            " same in all node-*.toml"
        )
    if wanted is not None and wanted not in engines.values():
        raise LocalClusterError(
            f"the cluster in {folder} has the {ENGINE_KEY} {next(iter(engines.values()))}, not"
            f" {wanted}: leave --engine out; or stop the cluster and set {wanted} in all"
            " node-*.toml, since both engines use the same data"
        )


def _load_node(folder: Path, path: Path) -> NodePlan:
    try:
        config = parse_config(path.read_text(encoding="utf-8"), os.environ)
    except (OSError, UnicodeDecodeError, TidelogError) as error:
        raise LocalClusterError(f"{path}: {error}; correct it") from error
    node_folder = folder / f"node-{config.node_id}"
    if path != _config_path(folder, config.node_id) or config.data_dir != str(node_folder):
        raise LocalClusterError(
            f"{path} says node.id={config.node_id} and log.dirs={config.data_dir}, but should say"
            f" log.dirs={node_folder}: correct it (has the folder been moved?)"
        )
    return NodePlan(config=config, folder=folder)


def _refuse_foreign(folder: Path) -> None:
    names = sorted(path.name for path in folder.glob("*"))
    if names:
        raise LocalClusterError(
            f"{folder} holds {names[0]!r} but no node-*.toml: it is not a cluster's folder or was"
            " created only in part; move it away, or choose another --data-dir"
        )


def _create(folder: Path, ports: Sequence[_Ports], *, engine: str | None) -> None:
    voters = {str(node_id): one.address for node_id, one in enumerate(ports, start=1)}
    cluster_id = secrets.token_urlsafe(16)
    texts = {
        node_id: config_text(
            {
                "node.id": node_id,
                "cluster.id": cluster_id,
                "process.roles": ["broker", "controller"],
                "listeners": one.listeners,
                "http.port": one.http,
                "log.dirs": str(folder / f"node-{node_id}"),
                "controller.quorum.voters": voters,
                # Kafka's defaults, 1 and 1 and 1, are the code's: they lose records with a node.
                "num.partitions": PARTITIONS,
                **replication_values(len(ports)),
                **({} if engine is None else {ENGINE_KEY: engine}),
            }
        )
        for node_id, one in enumerate(ports, start=1)
    }
    for node_id, text in texts.items():
        write_private(_config_path(folder, node_id), text)


def replication_values(brokers: int) -> dict[str, object]:
    """Replicas of the topics of a cluster of so many brokers, its internal ones included."""
    factor, min_isr = min(brokers, REPLICATION_FACTOR), MIN_ISR if brokers > MIN_ISR else 1
    return {
        "default.replication.factor": factor,
        "initial.min.insync.replicas": min_isr,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": min_isr,
    }


def write_private(path: Path, text: str) -> None:
    """Replace the file atomically; only its owner may read it."""
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)


def _config_path(folder: Path, node_id: int) -> Path:
    return folder / f"node-{node_id}.toml"
