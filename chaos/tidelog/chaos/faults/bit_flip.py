"""Fault: one bit of a stored file changes behind the node's back. Nothing takes it back.

A flip in a log heals when the node finds it: it reads (scrub, fetch), reports to the controllers,
and fetches again. Other files are read at a start only: flip those while the node is down
(`Together` with `Kill`). Files that are rebuilt from the log (`HARMLESS`) may always be flipped;
the `Budget` decides on the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.fault import FaultError, require
from tidelog.chaos.faults.stored_batches import spans
from tidelog.chaos.story.cluster_port import ClusterPort
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.core.chance import SeededRandom
from tidelog.log.checkpoints import CHECKPOINT_FILE, METADATA_FILE
from tidelog.log.file_names import INDEX, LOG, SNAPSHOT, TIME_INDEX

JOURNAL = "journal"
"""A controller's write-ahead log."""
HARMLESS = (INDEX, TIME_INDEX, SNAPSHOT)
FILE_KINDS = (LOG, *HARMLESS, CHECKPOINT_FILE, METADATA_FILE, JOURNAL)
"""Leader epochs are part of the checkpoint (decision 0007)."""


@dataclass(frozen=True, slots=True)
class Flip:
    """Place of a changed bit, and the byte that lies there since."""

    node_id: int
    path: str
    byte: int
    wrong: int

    def is_wrong(self, cluster: ClusterPort) -> bool:
        """True if it still lies there."""
        content = cluster.content(self.node_id, self.path)
        return self.byte < len(content) and content[self.byte] == self.wrong

    def __str__(self) -> str:
        return f"node {self.node_id} {self.path} byte {self.byte}"


@dataclass(slots=True)
class FlipAt:
    """A bit of a byte that the caller chose."""

    kind: ClassVar[str] = "bit_flip"
    node_id: int
    path: str
    byte: int
    bit: int
    flip: Flip | None = field(default=None, init=False)

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; `FaultError`: the file has no such byte."""
        content = run.cluster.content(self.node_id, self.path)
        require(self.byte < len(content), f"{self.path} of node {self.node_id}: no {self.byte}")
        flip = Flip(self.node_id, self.path, self.byte, content[self.byte] ^ 1 << self.bit)
        run.cluster.count(self.kind, str(flip), self.node_id)
        await run.cluster.flip(self.node_id, self.path, self.byte, self.bit)
        self.flip = flip

    async def heal(self, run: ScenarioRun) -> None:
        """It stays flipped: mending it is the product's."""
        if self.flip is not None:
            run.cluster.over(self.kind, str(self.flip), self.node_id)


@dataclass(slots=True)
class BitFlip:
    """See the module. `seed` decides file and bit; `flip` is the result."""

    kind: ClassVar[str] = "bit_flip"
    node_id: int
    file_kind: str
    seed: int = 0
    _placed: FlipAt | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        require(self.file_kind in FILE_KINDS, f"{self.file_kind!r} is none of {FILE_KINDS}")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; `FaultError`: there is no such file, or nothing in it to flip."""
        random = SeededRandom(self.seed)
        path, content = self._file(run.cluster, random)
        byte, bit = self._byte(content, random), random.randrange(0, 8)
        self._placed = FlipAt(self.node_id, path, byte, bit)
        await self._placed.inject(run)

    async def heal(self, run: ScenarioRun) -> None:
        """See `FlipAt`."""
        if self._placed is not None:
            await self._placed.heal(run)

    @property
    def flip(self) -> Flip | None:
        """The result; None before it struck."""
        return None if self._placed is None else self._placed.flip

    def _file(self, cluster: ClusterPort, random: SeededRandom) -> tuple[str, bytes]:
        if self.file_kind == JOURNAL:
            paths = [cluster.journal(self.node_id)]
        else:
            paths = cluster.files(self.node_id, self.file_kind)
        if not paths:
            raise FaultError(f"node {self.node_id} has no file {self.file_kind}")
        path = paths[random.randrange(0, len(paths))]
        return path, cluster.content(self.node_id, path)

    def _byte(self, content: bytes, random: SeededRandom) -> int:
        """Draw a byte whose change something can notice."""
        if self.file_kind == LOG:
            places = [(one.guarded_from, one.end) for one in spans(content)]
        else:
            places = [(0, len(content.rstrip(b"\0")))]
        places = [place for place in places if place[0] < place[1]]
        if not places:
            raise FaultError(f"node {self.node_id}: nothing in {self.file_kind} to flip")
        return random.randrange(*places[random.randrange(0, len(places))])
