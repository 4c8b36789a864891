"""Port: a fault, which strikes and is taken back, and its errors.

Owns what every fault keeps to: `inject` returns when it strikes, `heal` when nothing of it is left.
`heal` may be called twice, before `inject`, after an `inject` that failed, and when nodes died or
came back meanwhile. Each reports its begin and end to the cluster's port: bands of the report.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

from tidelog.chaos.faults.proxies import Proxies
from tidelog.chaos.story.scenario_run import ScenarioRun, UnsupportedFaultError


class FaultError(Exception):
    """A fault that makes no sense, or not now; the message names the wrong value."""


class Fault(Protocol):
    """See the module."""

    @property
    def kind(self) -> str:
        """The name it is counted and reported under."""

    async def inject(self, run: ScenarioRun) -> None:
        """Let it strike. `FaultError`: not now; `UnsupportedFaultError`: not here."""

    async def heal(self, run: ScenarioRun) -> None:
        """Take it back."""


@runtime_checkable
class BehindProxies(Protocol):
    """A cluster whose links have proxies."""

    @property
    def proxies(self) -> Proxies:
        """Proxies of every link."""


@asynccontextmanager
async def lasting(run: ScenarioRun, fault: Fault) -> AsyncIterator[None]:
    """It lasts as long as the block, however that ends."""
    try:
        await fault.inject(run)
        yield
    finally:
        await fault.heal(run)


def proxies_of(run: ScenarioRun, kind: str) -> Proxies:
    """Those of the cluster; `UnsupportedFaultError` on one whose network is simulated."""
    cluster = run.cluster
    if not isinstance(cluster, BehindProxies):
        raise UnsupportedFaultError(f"{kind} needs proxies: only runs on sockets have them")
    return cluster.proxies


def require(is_so: object, what: str) -> None:
    """Raise `FaultError` unless it is."""
    if not is_so:
        raise FaultError(what)
