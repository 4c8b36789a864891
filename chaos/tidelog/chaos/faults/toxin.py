"""How all toxics are put on links and taken off; what each of them means is its own file's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.chaos.faults.fault import BehindProxies, proxies_of, require
from tidelog.chaos.faults.proxies import Toxic
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.story.scene import Scene
from tidelog.chaos.topology import Direction


@dataclass(frozen=True, slots=True)
class Toxin:
    """A toxic, and where it lies."""

    kind: str
    """Toxiproxy's name."""
    reach: Reach
    attributes: Mapping[str, int]

    async def spread(self, scene: Scene, what: str) -> None:
        """On all links of its reach."""
        proxies = proxies_of(scene, self.kind)
        streams = self.reach.streams(proxies.links)
        require(any(streams.values()), f"no link carries {self.reach}")
        scene.ground.count(self.kind, f"{what}: {self.reach}")
        for stream, links in streams.items():
            if links:
                await proxies.add(links, self._toxic(stream))

    async def clear(self, scene: Scene, what: str) -> None:
        """Off all that have it."""
        ground = scene.ground
        if not isinstance(ground, BehindProxies):
            return
        for stream, links in self.reach.streams(ground.proxies.links).items():
            if links:
                await ground.proxies.remove(links, self._toxic(stream))
        ground.over(self.kind, f"{what}: {self.reach}")

    def _toxic(self, stream: Direction) -> Toxic:
        return Toxic(self.kind, stream, self.attributes, self.reach.toxicity)
