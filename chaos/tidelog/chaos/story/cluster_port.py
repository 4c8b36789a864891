"""Port: the cluster under test, the actions on it and the views of it.

Two implement it: `simulation.cluster` (virtual time, one seed) and `sockets` (processes and TCP).
What is done is awaited until it is done. What is seen is as of the last look: on sockets at most
a few tens of milliseconds old, unless `look` is awaited; nothing here raises because a node is
down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tidelog.chaos.story.group_port import GroupPort
from tidelog.chaos.story.transaction_port import TransactionPort
from tidelog.core.env import Random
from tidelog.history.history import History
from tidelog.metadata.image import MetadataImage

Side = int | str
"""A node, or a group of clients."""
Path = tuple[Side, Side]
"""Messages from the first side to the second."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A broker's to a producer, of one partition."""

    at_s: float
    node_id: int
    code: int
    acks: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a node's own log."""

    node_id: int
    at_s: float
    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """A replica of the story's partition on a node that runs; its log is open."""

    is_leader: bool
    leader_epoch: int
    """-1: it has no role."""
    log_end_offset: int
    high_watermark: int
    proposed_isr: tuple[int, ...] = ()
    """The ISR that a leader asks the controllers for."""
    is_failed: bool = False
    """Its disk failed; out of service until the node starts again."""


class Load(Protocol):
    """The clients."""

    is_held: bool
    """Producers begin nothing for now."""

    @property
    def unended(self) -> int:
        """Sends that have not ended."""

    @property
    def group(self) -> GroupPort | None:
        """The story's consumer group; None: it has none."""

    @property
    def transactions(self) -> TransactionPort | None:
        """The story's transactions; None: it has none."""

    async def recreate(self, topic: str) -> None:
        """Delete a topic and create it again, under load."""

    async def create(self, topic: str, *, within_s: float) -> bool:
        """Create a topic that no client uses; whether it was there in time."""

    async def decide(self, topic: str, *, within_s: float) -> bool:
        """Ask for a harmless change of its configuration; whether it was answered well in time."""


class ClusterPort(Protocol):
    """See the module."""

    @property
    def node_ids(self) -> Sequence[int]:
        """Every node, up or down."""

    @property
    def broker_ids(self) -> Sequence[int]:
        """Those that hold partitions."""

    @property
    def controller_ids(self) -> Sequence[int]:
        """Those that vote."""

    @property
    def client_groups(self) -> Sequence[str]:
        """Every group of clients."""

    @property
    def topic(self) -> str:
        """The story's; its partition is 0."""

    @property
    def session_s(self) -> float:
        """The broker session timeout."""

    @property
    def lag_s(self) -> float:
        """The time a follower may lag."""

    @property
    def now_s(self) -> float:
        """The run's clock."""

    @property
    def random(self) -> Random:
        """The story's own; the seed decides it."""

    @property
    def load(self) -> Load:
        """The clients."""

    @property
    def history(self) -> History:
        """History of the clients' calls that ended."""

    @property
    def is_full(self) -> bool:
        """True if rounds are those of the catalogue, not the reduced ones."""

    @property
    def load_s(self) -> float:
        """Planned duration of the load, which storms fill."""

    @property
    def patience(self) -> float:
        """Factor by which waits are longer than on an ideal machine."""

    # The run's record

    def count(self, kind: str, what: str = "", *node_ids: int) -> None:
        """A fault of this kind strikes."""

    def over(self, kind: str, what: str = "", *node_ids: int) -> None:
        """Take back the fault counted under these words; without one, do nothing."""

    def report(self, kind: str, what: str) -> None:
        """Something must not be so."""

    # Processes

    async def kill(self, node_id: int) -> bool:
        """SIGKILL, and hold it down until `start`; False: it was down."""

    async def stop(self, node_id: int) -> None:
        """SIGTERM; returns when it has ended; held down until `start`."""

    async def start(self, node_id: int) -> None:
        """Start it if it is down; returns before it is ready."""

    async def pause(self, node_id: int) -> int | None:
        """SIGSTOP; the process that was paused. None: the node is down, or paused already."""

    async def resume(self, node_id: int, process: int | None = None) -> None:
        """SIGCONT; nothing happens if the node runs as another process than this one."""

    async def starve(self, node_id: int, share: float) -> str:
        """Give it a share of a processor and no more, until `feed`; how it is held, for people."""

    async def feed(self, node_id: int) -> None:
        """Let it have a processor again, if it was starved."""

    # Links

    async def cut(self, paths: Iterable[Path]) -> None:
        """Nothing arrives on these: no error either. Until `mend`."""

    async def mend(self, paths: Iterable[Path]) -> None:
        """Take cuts back."""

    async def delay(self, paths: Iterable[Path]) -> None:
        """Delay messages on these by seconds, until `hasten`."""

    async def hasten(self, paths: Iterable[Path]) -> None:
        """Take delays back."""

    # Disks

    async def wipe(self, node_id: int) -> None:
        """Give a node that is down an empty disk."""

    async def fill(self, node_id: int, *, room_bytes: int) -> None:
        """Its disk takes only so many bytes more. Until `make_room`."""

    async def make_room(self, node_id: int) -> None:
        """Take `fill` back."""

    async def slow_disk(self, node_id: int, sync_s: float | None) -> None:
        """Let every sync of its disk take so long, at least; None: as before."""

    def files(self, node_id: int, kind: str) -> list[str]:
        """Non-empty files of its replica of the story's partition whose name ends so, sorted.

        Paths for the calls below.
        """

    def journal(self, node_id: int) -> str:
        """A controller's write-ahead log; a path as those of `files`."""

    def length(self, node_id: int, path: str) -> int:
        """In bytes; 0: there is no such file."""

    def content(self, node_id: int, path: str) -> bytes:
        """The whole file; empty: there is no such file."""

    async def overwrite(self, node_id: int, path: str, at: int, data: bytes) -> None:
        """Put these bytes in place of what lies there."""

    async def flip(self, node_id: int, path: str, byte: int, bit: int) -> None:
        """Change one bit."""

    async def vanish(self, node_id: int, path: str) -> None:
        """Delete it."""

    async def truncate(self, node_id: int, path: str, length: int) -> None:
        """Keep the beginning."""

    # Eyes

    async def look(self) -> None:
        """Returns when everything seen is newer than this call."""

    @property
    def image(self) -> MetadataImage:
        """The newest that is committed, as far as a running controller knows."""

    @property
    def controller_id(self) -> int | None:
        """The active controller, by the newest term; None: there is none."""

    def is_up(self, node_id: int) -> bool:
        """True if its process runs, or is paused."""

    def replica(self, node_id: int) -> ReplicaView | None:
        """Its replica of the story's partition; None: it is down, or the log is not open."""

    def term(self, node_id: int) -> int:
        """The Raft term it is in; -1: it is down, or no controller."""

    def is_active(self, node_id: int) -> bool:
        """True if it believes to be the active controller."""

    def metadata_offset(self, node_id: int) -> int:
        """Metadata offset of its controller; -1: it is down, or no controller."""

    @property
    def lines(self) -> Sequence[LogLine]:
        """Log lines of nodes, in order."""

    @property
    def answers(self) -> Sequence[Answer]:
        """Answers to producers, in order."""
