"""`python -m tidelog.chaos.socket_stage.node --config FILE --stage FILE`: a node of a chaos run.

The product's process (`tidelog.broker.process`) in other surroundings: it reaches all others
through the proxies of its own links, a run may look into it and slow its disk down, and a mutant
may make it wrong. Its own listener, and the addresses that the cluster's metadata names, are the
true ones.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.broker.config import NodeConfig
from tidelog.broker.process import Surroundings, run_node
from tidelog.chaos.socket_stage.inspect import Inspection, LogRing
from tidelog.chaos.socket_stage.node_setup import NodeSetup
from tidelog.chaos.socket_stage.routed_peers import RoutedTransport
from tidelog.chaos.socket_stage.sync_latency import SyncLatency
from tidelog.core.system import SystemDisk


def main() -> int:
    """Run the node until it is told to stop; its exit code as of `tidelog.broker`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, type=Path)
    parser.add_argument("--stage", required=True, type=Path)
    arguments = parser.parse_args()
    setup = NodeSetup.from_json(arguments.stage.read_text(encoding="utf-8"))
    if setup.mutant is not None:
        _apply(setup.mutant)
    ring = LogRing()

    def surround(config: NodeConfig) -> Surroundings:
        return Surroundings(
            RoutedTransport(setup.routes, own_address=config.address),
            setup.raft_voters,
            beside=lambda node: Inspection(node, ring).serving(setup.socket),
        )

    disk = SystemDisk(before_sync=SyncLatency(Path(setup.sync_latency)).wait)
    return run_node(arguments.config, surround, disk=disk, log_tap=ring.tap)


def _apply(name: str) -> None:
    """Make this process wrong for good. It is a node of a test, never of a cluster in use."""
    from tidelog.chaos.mutants import cluster, raft  # they import all that may be made wrong

    {**raft.ALL, **cluster.ALL}[name]()


if __name__ == "__main__":
    sys.exit(main())
