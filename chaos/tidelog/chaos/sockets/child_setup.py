"""Setup of a client's own process: one JSON file. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

from tidelog.chaos.sockets.routed_peers import Routes

Plan = TypeVar("Plan")


@dataclass(frozen=True, slots=True)
class ChildSetup(Generic[Plan]):
    """A client's plan, and its way to the brokers."""

    plan: Plan
    bootstrap: tuple[str, ...]
    routes: Routes

    PLAN: ClassVar[Callable[..., Any]]
    """Class of the plan, a dataclass."""

    def to_json(self) -> str:
        """As a file's text."""
        plan: Any = self.plan
        routes = [[address, role, proxy] for (address, role), proxy in self.routes.items()]
        return json.dumps({"plan": asdict(plan), "bootstrap": self.bootstrap, "routes": routes})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse the output of `to_json`."""
        values = json.loads(text)
        return cls(
            plan=cls.PLAN(**values["plan"]),
            bootstrap=tuple(values["bootstrap"]),
            routes={(address, role): proxy for address, role, proxy in values["routes"]},
        )
