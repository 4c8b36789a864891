"""A cluster on which nothing happens but what a test says; it keeps what it was told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from tidelog.chaos.story.cluster_port import Answer, ClusterPort, LogLine, Path, ReplicaView
from tidelog.core.chance import SeededRandom
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage


@dataclass
class FakeClusterPort:
    """Time passes with looks only, a second each."""

    node_ids: tuple[int, ...] = (1, 2, 3)
    client_groups: tuple[str, ...] = ("clients",)
    topic: str = "steady"
    patience: float = 1.0
    is_full: bool = False
    now_s: float = 100.0
    session_s: float = 2.0
    image: MetadataImage = EMPTY_IMAGE
    random: SeededRandom = field(default_factory=lambda: SeededRandom(1))
    answers: list[Answer] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)
    replicas: dict[int, ReplicaView] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    is_flipping: bool = True
    down: set[int] = field(default_factory=set)
    reports: list[tuple[str, str]] = field(default_factory=list)
    reported: list[tuple[str, str, str]] = field(default_factory=list)
    """begins or is over, kind, what"""
    cuts: list[Path] = field(default_factory=list)

    def as_port(self) -> ClusterPort:
        """For who asks for all of it: what is missing here is not called."""
        return cast("ClusterPort", self)  # Half a cluster is enough for what is tested.

    def report(self, kind: str, what: str) -> None:
        self.reports.append((kind, what))

    def count(self, kind: str, what: str, *_: int) -> None:
        self.reported.append(("begins", kind, what))

    def over(self, kind: str, what: str, *_: int) -> None:
        self.reported.append(("is over", kind, what))

    async def look(self) -> None:
        self.now_s += 1.0

    async def kill(self, node_id: int) -> bool:
        was_up = node_id not in self.down
        self.down.add(node_id)
        return was_up

    async def start(self, node_id: int) -> None:
        self.down.discard(node_id)

    async def cut(self, paths: list[Path]) -> None:
        self.cuts += paths

    async def mend(self, paths: list[Path]) -> None:
        self.cuts = [path for path in self.cuts if path not in paths]

    def replica(self, node_id: int) -> ReplicaView | None:
        return self.replicas.get(node_id)

    def content(self, _: int, path: str) -> bytes:
        return self.contents.get(path, b"")

    async def flip(self, _: int, path: str, byte: int, bit: int) -> None:
        if self.is_flipping:
            content = bytearray(self.contents[path])
            content[byte] ^= 1 << bit
            self.contents[path] = bytes(content)
