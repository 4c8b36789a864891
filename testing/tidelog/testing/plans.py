# pyright: strict
"""The configuration of a test's nodes: ids, roles and free ports, and the keys a test may choose.

Nodes have the ids 1, 2, … Without controllers of their own, the first three brokers are controllers
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidelog.core.errors import TidelogError
from tidelog.net.listeners import KAFKA_PREFIX
from tidelog.net.quiet_ports import HOST, quiet_ports
from tidelog.node.config import NodeConfig, parse_config
from tidelog.node.config_text import config_text
from tidelog.node.local_cluster.errors import LocalClusterError
from tidelog.node.local_cluster.plan import (
    PARTITIONS,
    NodePlan,
    replication_values,
    write_private,
)
from tidelog.raft.config import ELECTION_TIMEOUT_KEY, HEARTBEAT_INTERVAL_KEY

NODES_MAX = 16
QUORUM_HEARTBEAT_MS = 320
"""As rare as the usual election timeout allows: they are a fifth of what an idle cluster costs."""
COMBINED_CONTROLLERS_MAX = 3
_OWN = (
    *("node.id", "cluster.id", "process.roles", "log.dirs", "controller.quorum.voters"),
    *("listeners", "advertised.listeners", "inter.broker.listener.name", "http.port"),
)
"""The keys that make a cluster of the nodes."""


def check_sizes(brokers: int, controllers: int | None) -> None:
    """Raise `LocalClusterError` for a number of nodes that no cluster has."""
    if not 1 <= brokers <= NODES_MAX:
        raise LocalClusterError(f"brokers={brokers}: a cluster in a test has 1 to {NODES_MAX}")
    if controllers is not None and not 1 <= controllers <= NODES_MAX:
        raise LocalClusterError(
            f"controllers={controllers}: 1 to {NODES_MAX}, or None: the first brokers are"
            " controllers, too"
        )


def check_configs(configs: Mapping[str, object]) -> None:
    """Raise `LocalClusterError` that names a key that is wrong, or that the cluster owns."""
    for key in configs:
        if key in _OWN:
            raise LocalClusterError(f"configs: {key} is the cluster's own: leave it out")
    settings_of(1, configs)


def settings_of(brokers: int, configs: Mapping[str, object]) -> NodeConfig:
    """Settings that all nodes of a cluster share, as a configuration of some node of it.

    Raises `LocalClusterError` that names each key that is wrong, and why.
    """
    some_node = {
        "node.id": 1,
        "cluster.id": "any",
        "log.dirs": "/any",
        "listeners": f"{HOST}:1",
        "controller.quorum.voters": {"1": f"{HOST}:1"},
    }
    return _parsed(config_text({**small_cluster_values(brokers), **configs, **some_node}))


def make_plans(
    folder: Path,
    *,
    cluster_id: str,
    brokers: int,
    controllers: int | None,
    configs: Mapping[str, object],
) -> list[NodePlan]:
    """Plan the nodes, on ports that are free now, and write their configuration files.

    Raises `LocalClusterError` that names each key that is wrong, and why.
    """
    roles = roles_of(brokers, controllers)
    ports = iter(quiet_ports(len(roles) + brokers))
    addresses = {node_id: f"{HOST}:{next(ports)}" for node_id in roles}
    voters = {
        str(node_id): addresses[node_id] for node_id, has in roles.items() if "controller" in has
    }
    common = {**small_cluster_values(brokers), **configs, "cluster.id": cluster_id}
    if ELECTION_TIMEOUT_KEY not in configs:
        common.setdefault(HEARTBEAT_INTERVAL_KEY, QUORUM_HEARTBEAT_MS)
    plans: list[NodePlan] = []
    for node_id, own_roles in roles.items():
        listeners = addresses[node_id]
        if "broker" in own_roles:
            listeners = f"GRPC://{listeners},{KAFKA_PREFIX}://{HOST}:{next(ports)}"
        values = {
            **common,
            "node.id": node_id,
            "process.roles": own_roles,
            "log.dirs": str(folder / f"node-{node_id}"),
            "controller.quorum.voters": voters,
            "listeners": listeners,
        }
        plans.append(_plan(folder, config_text(values)))
    return plans


def _plan(folder: Path, text: str) -> NodePlan:
    plan = NodePlan(_parsed(text), folder)
    write_private(plan.config_path, text)
    return plan


def _parsed(text: str) -> NodeConfig:
    try:
        return parse_config(text)
    except TidelogError as error:
        raise LocalClusterError(f"configs: {error}") from error


def roles_of(brokers: int, controllers: int | None) -> dict[int, list[str]]:
    """Roles of each node, by id."""
    if controllers is None:
        return {
            node_id: ["broker", "controller"] if node_id <= COMBINED_CONTROLLERS_MAX else ["broker"]
            for node_id in range(1, brokers + 1)
        }
    return {
        node_id: ["broker"] if node_id <= brokers else ["controller"]
        for node_id in range(1, brokers + controllers + 1)
    }


def small_cluster_values(brokers: int) -> dict[str, object]:
    """Values that suit a small cluster; a test may choose others."""
    return {
        "num.partitions": PARTITIONS,
        **replication_values(brokers),
        # The first group and the first transaction of a test wait for these topics.
        "offsets.topic.num.partitions": PARTITIONS,
        "transaction.state.log.num.partitions": PARTITIONS,
    }
