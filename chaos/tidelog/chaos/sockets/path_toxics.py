"""Toxics on paths: bytes are dropped or delayed on every link that carries them.

A path may be struck several times at once; it is well again when each was taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tidelog.chaos.faults.proxies import Proxies, ProxyToxic
from tidelog.chaos.faults.reach import streams
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.topology import Direction, Link

DELAY_MS = 5000
CUT: Mapping[str, int] = {"timeout": 0}
DELAYED: Mapping[str, int] = {"latency": DELAY_MS}


class PathToxics:
    """A kind of toxic on any paths."""

    def __init__(self, proxies: Proxies, kind: str, attributes: Mapping[str, int]) -> None:
        self._proxies = proxies
        self._kind = kind
        self._attributes = attributes
        self._struck: Counter[tuple[Link, Direction]] = Counter()

    async def add(self, paths: Iterable[Path]) -> None:
        """Strike them."""
        for link, stream in self._streams(paths):
            self._struck[link, stream] += 1
            if self._struck[link, stream] == 1:
                await self._proxies.add([link], self._toxic(stream))

    async def remove(self, paths: Iterable[Path]) -> None:
        """Take that back; nothing happens to what was not struck."""
        for link, stream in self._streams(paths):
            if self._struck[link, stream] == 1:
                await self._proxies.remove([link], self._toxic(stream))
            self._struck[link, stream] = max(0, self._struck[link, stream] - 1)

    def forget(self) -> None:
        """Forget every toxic: the proxies were reset."""
        self._struck.clear()

    def _streams(self, paths: Iterable[Path]) -> Iterator[tuple[Link, Direction]]:
        for stream, links in streams(paths, self._proxies.links).items():
            for link in links:
                yield link, stream

    def _toxic(self, stream: Direction) -> ProxyToxic:
        return ProxyToxic(self._kind, stream, self._attributes)


def cuts(proxies: Proxies) -> PathToxics:
    """Nothing arrives, without an error."""
    return PathToxics(proxies, "timeout", CUT)


def delays(proxies: Proxies) -> PathToxics:
    """Delays of `DELAY_MS`."""
    return PathToxics(proxies, "latency", DELAYED)
