"""Port: what may be done to the proxies of links; sockets only.

Toxiproxy's toxics, by their names: https://github.com/Shopify/toxiproxy#toxics. A toxic of
`toxicity` below 1 strikes that share of *connections*, and gRPC keeps one for all calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.chaos.topology import Direction, Link


@dataclass(frozen=True, slots=True)
class ProxyToxic:
    """A toxic on one stream; `stream` upstream carries the bytes of the link's source."""

    kind: str
    """latency, bandwidth, slow_close, timeout, reset_peer, slicer, limit_data."""
    stream: Direction
    attributes: Mapping[str, int] = field(default_factory=dict)
    toxicity: float = 1.0


class Proxies(Protocol):
    """Proxies of every link. Waits end within seconds; `ProxyError` names proxy and answer."""

    @property
    def links(self) -> Sequence[Link]:
        """Every link there is."""

    async def add(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        """Add it to each; the same one (kind and stream) twice is an error."""

    async def remove(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        """Take it from each that has it."""

    async def disable(self, links: Iterable[Link]) -> None:
        """Close all connections, and refuse new ones."""

    async def enable(self, links: Iterable[Link]) -> None:
        """Take that back."""

    async def reset(self) -> None:
        """No toxics, everything enabled."""

    async def bytes_carried(self) -> Mapping[Link, tuple[int, int]]:
        """Bytes each link passed on, upstream and downstream, on connections that have ended."""
