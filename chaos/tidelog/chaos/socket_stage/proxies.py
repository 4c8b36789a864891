"""The port `Proxies` over Toxiproxy: one proxy a link, each on a port of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidelog.chaos.faults.proxies import Toxic
from tidelog.chaos.socket_stage.toxiproxy import Toxiproxy
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

    async def add(self, links: Iterable[Link], toxic: Toxic) -> None:
        """See `Proxies`."""
        for link in links:
            await self._server.add(link.name, toxic)

    async def remove(self, links: Iterable[Link], toxic: Toxic) -> None:
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
