"""Setup of a node's process beside its configuration: one JSON file. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tidelog.chaos.sockets.routed_peers import Routes


@dataclass(frozen=True, slots=True)
class NodeSetup:
    """A node's way to the others, its socket for inspection, and its mutant."""

    routes: Routes
    raft_voters: Mapping[int, str]
    """Address by which this node reaches each voter; itself at its own address."""
    socket: str
    """The name of the inspect service's Unix socket, of the abstract kind."""
    sync_latency: str
    """The file of its disk's `SyncLatency`."""
    mutant: str | None = None

    def to_json(self) -> str:
        """As a file's text."""
        routes = [[address, role, proxy] for (address, role), proxy in self.routes.items()]
        return json.dumps({**asdict(self), "routes": routes})

    @classmethod
    def from_json(cls, text: str) -> NodeSetup:
        """Parse the output of `to_json`."""
        values = json.loads(text)
        return cls(
            routes={(address, role): proxy for address, role, proxy in values["routes"]},
            raft_voters={int(node_id): at for node_id, at in values["raft_voters"].items()},
            socket=values["socket"],
            sync_latency=values["sync_latency"],
            mutant=values["mutant"],
        )
