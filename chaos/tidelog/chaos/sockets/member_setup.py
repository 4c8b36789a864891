"""Setup of a member's process: one JSON file. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from tidelog.chaos.sockets.routed_peers import Routes
from tidelog.chaos.workloads.plans import MemberPlan


@dataclass(frozen=True, slots=True)
class MemberSetup:
    """A member, and its way to the brokers."""

    plan: MemberPlan
    bootstrap: tuple[str, ...]
    routes: Routes

    def to_json(self) -> str:
        """As a file's text."""
        routes = [[address, role, proxy] for (address, role), proxy in self.routes.items()]
        return json.dumps(
            {"plan": asdict(self.plan), "bootstrap": self.bootstrap, "routes": routes}
        )

    @classmethod
    def from_json(cls, text: str) -> MemberSetup:
        """Parse the output of `to_json`."""
        values = json.loads(text)
        return cls(
            plan=MemberPlan(**values["plan"]),
            bootstrap=tuple(values["bootstrap"]),
            routes={(address, role): proxy for address, role, proxy in values["routes"]},
        )
