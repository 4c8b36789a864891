"""Fault: links are gone: their connections are closed, and connects refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import BehindProxies, proxies_of, require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class LinkDown:
    """See the module. A link that carries any of `reach` goes as a whole, both ways."""

    kind: ClassVar[str] = "link_down"
    reach: Reach

    def __post_init__(self) -> None:
        require(self.reach.toxicity == 1, "a link is down for all connections: toxicity is 1")

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        proxies = proxies_of(scene, self.kind)
        links = self.reach.links(proxies.links)
        require(links, f"no link carries {self.reach}")
        scene.ground.count(self.kind, str(self.reach))
        await proxies.disable(links)

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        ground = scene.ground
        if isinstance(ground, BehindProxies):
            await ground.proxies.enable(self.reach.links(ground.proxies.links))
            ground.over(self.kind, str(self.reach))
