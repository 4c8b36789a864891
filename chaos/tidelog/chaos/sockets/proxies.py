"""The port `Proxies` over Toxiproxy: one proxy a link, each on a port of its own.

What gRPC makes of it, measured; what Toxiproxy does is in `toxiproxy.py`:

    what is cut             on a connection that was there   on a new one
    upstream (timeout 0)    a call gets no answer            as READY, since the server greets
                                                             first; a call gets no answer
    downstream              the call is made, and gets       never READY: UnreachableError
                            no answer
    disabled, or node down  breaks: UNAVAILABLE              refused: UnreachableError at once
    node paused             a call gets no answer            never READY: UnreachableError

Keepalive gives up a silent connection after 15 s, no sooner. Taking a cut back closes the
connections it struck: calls on them break then, and the next connection is there within half a
second, the most that channels back off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidelog.chaos.faults.proxies import ProxyToxic
from tidelog.chaos.sockets.toxiproxy import Toxiproxy
from tidelog.chaos.topology import Link


class ToxiproxyProxies:
    """See `tidelog.chaos.faults.proxies.Proxies`."""

    def __init__(self, server: Toxiproxy, links: Sequence[Link]) -> None:
        self._server = server
        self._links = tuple(links)

    @property
    def links(self) -> Sequence[Link]:
        """See `Proxies`."""
        return self._links

    async def add(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        """See `Proxies`."""
        for link in links:
            await self._server.add(link.name, toxic)

    async def remove(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        """See `Proxies`."""
        for link in links:
            await self._server.remove(link.name, toxic)

    async def disable(self, links: Iterable[Link]) -> None:
        """See `Proxies`."""
        for link in links:
            await self._server.enable(link.name, is_enabled=False)

    async def enable(self, links: Iterable[Link]) -> None:
        """See `Proxies`."""
        for link in links:
            await self._server.enable(link.name, is_enabled=True)

    async def reset(self) -> None:
        """See `Proxies`."""
        await self._server.reset()

    async def bytes_carried(self) -> Mapping[Link, tuple[int, int]]:
        """See `Proxies`."""
        carried = await self._server.bytes_carried()
        return {link: carried.get(link.name, (0, 0)) for link in self._links}
