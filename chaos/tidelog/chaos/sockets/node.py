"""`python -m tidelog.chaos.sockets.node --config FILE --setup FILE`: a node of a chaos run.

The product's process (`tidelog.node.process`) in other surroundings: it reaches all others
through the proxies of its own links, a run may look into it and slow its disk down, and a mutant
may make it wrong. Its own listener, and the addresses that the cluster's metadata names, are the
true ones.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from pathlib import Path

from tidelog.chaos.sockets.inspect import Inspection, LogRing
from tidelog.chaos.sockets.node_setup import NodeSetup
from tidelog.chaos.sockets.routed_peers import RoutedTransport
from tidelog.chaos.sockets.sync_latency import SyncLatency
from tidelog.core.system import SystemDisk
from tidelog.node.config import NodeConfig
from tidelog.node.process import Surroundings, run_node


def main() -> int:
    """Run the node until a signal ends it; its exit code as of `tidelog.node`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, type=Path)
    parser.add_argument("--setup", required=True, type=Path)
    arguments = parser.parse_args()
    setup = NodeSetup.from_json(arguments.setup.read_text(encoding="utf-8"))
    if setup.mutant is not None:
        # Wrong for good: this process is a node of a test, never of a cluster in use.
        pkgutil.resolve_name(setup.mutant)()
    ring = LogRing()

    def surround(config: NodeConfig) -> Surroundings:
        return Surroundings(
            RoutedTransport(setup.routes, own_address=config.address),
            setup.raft_voters,
            beside=lambda node: Inspection(node, ring).serving(setup.socket),
        )

    disk = SystemDisk(before_sync=SyncLatency(Path(setup.sync_latency)).wait)
    return run_node(arguments.config, surround, disk=disk, log_tap=ring.tap)


if __name__ == "__main__":
    sys.exit(main())
