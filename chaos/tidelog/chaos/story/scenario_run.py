"""Run of a scenario: the verbs for faults, waits, expectations and promises, on any cluster.

A story is about partition 0 of the cluster's topic. An unmet wait or assertion is reported as one
of two things:

    unobserved   the fault did not bite, or what must come first did not: the run proves nothing
    promise      what the story claims did not hold

With a report the story is over, as whatever follows would follow from it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tidelog.chaos.story.cluster_port import ClusterPort, Load, LogLine, Path, Side
from tidelog.chaos.story.machines import Machines
from tidelog.chaos.story.paths import between, struck, words_for
from tidelog.core import chance
from tidelog.core.env import Random
from tidelog.history.history import ACKS_ALL, History
from tidelog.metadata.image import MetadataImage, PartitionImage
from tidelog.v1 import common_pb2

UNOBSERVED, PROMISE = "unobserved", "promise"
ON_THE_WAY_S = 0.2
"""Within this time whatever was on a link has arrived."""
POLL_S = 0.02
UNTIL_S_MAX = 20.0
SENDS_END_S_MAX = 30.0

Counts = Mapping[str, int]
Judge = Callable[[History, Counts], tuple[bool, str]]
T = TypeVar("T")


class StoryOver(Exception):  # noqa: N818  # the end of a story, not a fault of its own
    """Something was reported."""


class UnsupportedFaultError(Exception):
    """This kind of cluster does not support the fault."""


class ScenarioRun:
    """A cluster as scenarios meet it. `facts` are what a story measured, for people."""

    def __init__(self, cluster: ClusterPort) -> None:
        self.cluster = cluster
        self.facts: dict[str, str] = {}
        self._longest_s: dict[str, float] = {}
        self._last_words: list[Judge] = []
        self._ended_by: dict[int, str] = {}
        """The fault that a start takes back."""
        self._changed_s = cluster.now_s
        """When a fault began or was taken back, the last time."""

    # What must be seen, and what is promised

    def expect(self, is_seen: object, what: str) -> None:
        """Without it the story proves nothing."""
        self._judge(is_seen, UNOBSERVED, what)

    def promise(self, is_kept: object, what: str) -> None:
        """Assert the story's claim."""
        self._judge(is_kept, PROMISE, what)

    async def comes(
        self, condition: Callable[[], object], what: str, *, within_s: float = UNTIL_S_MAX
    ) -> None:
        """Wait for what the story needs."""
        self.expect(await self.until(condition, within_s=within_s), what)

    async def must_come(
        self, condition: Callable[[], object], what: str, *, within_s: float = UNTIL_S_MAX
    ) -> None:
        """Wait for what the story claims; the longest it took since the last fault is a fact."""
        self.promise(await self.until(condition, within_s=within_s), what)
        self.took(what, self.now_s - self._changed_s)

    async def until(
        self, condition: Callable[[], object], *, within_s: float = UNTIL_S_MAX
    ) -> bool:
        """Wait for it; whether it came. `within_s` is multiplied by the cluster's patience.

        Nothing that was seen before counts: it may be older than what was done last.
        """
        deadline_s = self.now_s + within_s * self.cluster.patience
        await self.cluster.look()
        while not condition():
            if self.now_s > deadline_s:
                return False
            await asyncio.sleep(POLL_S)
            await self.cluster.look()
        return True

    def at_the_end(self, judge: Judge) -> None:
        """Ask `judge`, when all is read, whether what was promised is so, and what."""
        self._last_words.append(judge)

    def conclude(self, history: History, counts: Counts) -> None:
        """Judge the promises that need the whole history."""
        for judge in self._last_words:
            is_kept, what = judge(history, counts)
            if not is_kept:
                self.cluster.report(PROMISE, what)

    def took(self, what: str, seconds: float) -> None:
        """Note a fact: the longest duration under this name."""
        self._longest_s[what] = max(seconds, self._longest_s.get(what, 0.0))
        self.facts[what] = f"{self._longest_s[what]:.2f} s"

    def _judge(self, is_so: object, kind: str, what: str) -> None:
        if not is_so:
            self.cluster.report(kind, what)
            raise StoryOver(what)

    # The run

    @property
    def now_s(self) -> float:
        """Its clock."""
        return self.cluster.now_s

    @property
    def random(self) -> Random:
        """The story's own."""
        return self.cluster.random

    @property
    def topic(self) -> str:
        """The story's."""
        return self.cluster.topic

    @property
    def load(self) -> Load:
        """The clients."""
        return self.cluster.load

    @property
    def clients(self) -> Sequence[Side]:
        """Every group of clients."""
        return self.cluster.client_groups

    @property
    def session_s(self) -> float:
        """The broker session timeout."""
        return self.cluster.session_s

    @property
    def lag_s(self) -> float:
        """The time a follower may lag."""
        return self.cluster.lag_s

    @property
    def failover_s(self) -> float:
        """Within this time another leader was elected, though a controller had to be, first."""
        return 2 * self.session_s + 2.0

    @property
    def machines(self) -> Machines:
        """Faults of simulated machines. Errors: `UnsupportedFaultError`."""
        if not isinstance(self.cluster, Machines):
            raise UnsupportedFaultError("only simulated machines lose power, and fail at will")
        return self.cluster

    # Chance and time

    def rounds(self, *, reduced: int, full: int) -> range:
        """Rounds of a story that repeats itself."""
        return range(full if self.cluster.is_full else reduced)

    async def last(self, low_s: float, high_s: float) -> None:
        """Let time pass."""
        await asyncio.sleep(low_s + (high_s - low_s) * self.random.random())
        await self.cluster.look()

    def happens(self, probability: float) -> bool:
        """True if it does this time."""
        return self.random.random() < probability

    def one_of(self, items: Sequence[T]) -> T:
        """Any of them."""
        return chance.one_of(self.random, items)

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """The items in random order."""
        return chance.shuffled(self.random, items)

    def others(self, *node_ids: int) -> list[int]:
        """The other nodes."""
        return [one for one in self.cluster.node_ids if one not in node_ids]

    # Faults; the actions below note theirs themselves

    def strike(self, kind: str, what: str, *node_ids: int) -> None:
        """Note that a fault begins."""
        self._changed_s = self.now_s
        self.cluster.count(kind, what, *node_ids)

    def over(self, kind: str, what: str, *node_ids: int) -> None:
        """Note that a fault is taken back."""
        self._changed_s = self.now_s
        self.cluster.over(kind, what, *node_ids)

    # Processes

    async def kill(self, *node_ids: int) -> None:
        """SIGKILL, one right after another; they stay down until `start`."""
        for node_id in node_ids:
            if await self.cluster.kill(node_id):
                self._end("kill", node_id)
        await self.cluster.look()

    async def stop(self, node_id: int) -> None:
        """SIGTERM; it has ended, and stays down until `start`."""
        self._end("stop", node_id)
        await self.cluster.stop(node_id)
        await self.cluster.look()

    async def start(self, *node_ids: int) -> None:
        """Start what is down; they are not ready yet."""
        for node_id in node_ids:
            await self.cluster.start(node_id)
            if kind := self._ended_by.pop(node_id, None):
                self.over(kind, f"node {node_id}", node_id)

    async def cut_power(self, node_id: int) -> None:
        """Cut the power: unsynced bytes are lost; down until `start`. Simulated machines only."""
        self._end("power_cut", node_id)
        self.expect(await self.machines.cut_power(node_id), f"node {node_id} lost power")

    def _end(self, kind: str, node_id: int) -> None:
        self._ended_by[node_id] = kind
        self.strike(kind, f"node {node_id}", node_id)

    async def pause(self, *node_ids: int) -> None:
        """SIGSTOP."""
        for node_id in node_ids:
            self.strike("pause", f"node {node_id}", node_id)
            await self.cluster.pause(node_id)

    async def resume(self, *node_ids: int) -> None:
        """SIGCONT."""
        for node_id in node_ids:
            await self.cluster.resume(node_id)
            self.over("pause", f"node {node_id}", node_id)
        await self.cluster.look()

    def is_up(self, node_id: int) -> bool:
        """True if its process runs, or is paused."""
        return self.cluster.is_up(node_id)

    # Links

    def between(self, side: Iterable[Side], others: Iterable[Side]) -> list[Path]:
        """Every path between them, both ways."""
        return between(side, others)

    async def cut(self, paths: Sequence[Path]) -> None:
        """Nothing arrives on these, until `mend`."""
        self.strike("cut", words_for(paths), *struck(paths))
        await self.cluster.cut(paths)

    async def mend(self, paths: Sequence[Path]) -> None:
        """Take cuts back."""
        await self.cluster.mend(paths)
        self.over("cut", words_for(paths), *struck(paths))

    async def delay(self, paths: Sequence[Path]) -> None:
        """Delay messages on these, until `hasten`."""
        self.strike("delay", words_for(paths), *struck(paths))
        await self.cluster.delay(paths)

    async def hasten(self, paths: Sequence[Path]) -> None:
        """Take delays back."""
        await self.cluster.hasten(paths)
        self.over("delay", words_for(paths), *struck(paths))

    # Disks

    def _happens_at_once(self, kind: str, what: str, node_id: int) -> None:
        self.strike(kind, what, node_id)
        self.over(kind, what, node_id)

    async def wipe(self, node_id: int) -> None:
        """An empty disk for a node that is down."""
        self._happens_at_once("wipe", f"node {node_id}", node_id)
        await self.cluster.wipe(node_id)

    async def fill(self, node_id: int, *, room_bytes: int) -> None:
        """Leave room for so many bytes, until `make_room`."""
        self.strike("disk_full", f"node {node_id}", node_id)
        await self.cluster.fill(node_id, room_bytes=room_bytes)

    async def make_room(self, node_id: int) -> None:
        """There is space again."""
        await self.cluster.make_room(node_id)
        self.over("disk_full", f"node {node_id}", node_id)

    async def flip(self, node_id: int, path: str, byte: int) -> None:
        """Change one bit of this byte."""
        self._happens_at_once("bit_flip", f"node {node_id} {_brief(path)} byte {byte}", node_id)
        before = self.content(node_id, path)
        await self.cluster.flip(node_id, path, byte, self.random.randrange(0, 8))
        self.expect(self.content(node_id, path) != before, f"{path} is damaged")

    async def tear(self, node_id: int, path: str, at: int, data: bytes) -> None:
        """Put there what a write left that did not come to its end."""
        self._happens_at_once("torn_write", f"node {node_id} {_brief(path)} byte {at}", node_id)
        await self.cluster.overwrite(node_id, path, at, data)
        self.expect(self.content(node_id, path)[at:].startswith(data), f"{path} is torn")

    async def vanish(self, node_id: int, path: str) -> None:
        """Lose a file."""
        self._happens_at_once("lost_file", f"node {node_id} {_brief(path)}", node_id)
        await self.cluster.vanish(node_id, path)
        self.expect(not self.length(node_id, path), f"{path} is gone")

    def files(self, node_id: int, kind: str) -> list[str]:
        """The paths of its replica's files of this kind that are not empty."""
        return self.cluster.files(node_id, kind)

    def content(self, node_id: int, path: str) -> bytes:
        """The whole file; empty: there is none."""
        return self.cluster.content(node_id, path)

    def length(self, node_id: int, path: str) -> int:
        """Length of a file; 0: there is none."""
        return self.cluster.length(node_id, path)

    # The partition

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata; the empty image while no controller runs."""
        return self.cluster.image

    @property
    def now(self) -> PartitionImage:
        """The partition's state; `LookupError` while no controller knows of it."""
        found = self._found
        if found is None:
            raise LookupError(f"no {self.topic}-0")
        return found

    @property
    def _found(self) -> PartitionImage | None:
        return self.image.partition(self.topic, 0)

    @property
    def leader(self) -> int:
        """The leader; `LookupError`: there is none."""
        if self.now.leader_id is None:
            raise LookupError(f"nobody leads {self.topic}-0")
        return self.now.leader_id

    def cast(self) -> tuple[int, list[int]]:
        """The leader and the followers."""
        leader = self.leader
        return leader, [one for one in self.now.replicas if one != leader]

    def is_led_by(self, *node_ids: int) -> bool:
        """True if one of them leads, as far as anyone knows."""
        found = self._found
        return found is not None and found.leader_id in node_ids

    def isr_is(self, *node_ids: int) -> bool:
        """True if these are in sync, and nobody else."""
        found = self._found
        return found is not None and set(found.isr) == set(node_ids)

    def is_in_sync(self, node_id: int) -> bool:
        """True if it is in the ISR."""
        found = self._found
        return found is not None and node_id in found.isr

    def is_out(self, node_id: int) -> bool:
        """True if it is known not to be in the ISR."""
        found = self._found
        return found is not None and node_id not in found.isr

    def is_fenced(self, node_id: int) -> bool:
        """True if controllers have given it up."""
        return node_id in self.image.brokers and not self.image.is_alive(node_id)

    async def another_leads(self, leader: int) -> int:
        """It must come to that; who does."""
        others = [one for one in self.now.replicas if one != leader]
        await self.must_come(
            lambda: self.is_led_by(*others), "another leads", within_s=self.failover_s
        )
        return self.leader

    async def in_sync(self) -> None:
        """Wait until every replica is in the ISR."""
        await self.must_come(self._is_whole, "all in sync")

    def _is_whole(self) -> bool:
        found = self._found
        return found is not None and len(found.isr) == len(found.replicas)

    # Replicas

    def is_open(self, node_id: int) -> bool:
        """True if its log is."""
        return self.cluster.replica(node_id) is not None

    def is_leading(self, node_id: int) -> bool:
        """True if it takes writes."""
        replica = self.cluster.replica(node_id)
        return replica is not None and replica.is_leader

    def end(self, node_id: int) -> int:
        """Its log end offset; -1 while it has none."""
        replica = self.cluster.replica(node_id)
        return -1 if replica is None else replica.log_end_offset

    def ends_after(self, node_id: int, offset: int) -> bool:
        """True if its log does."""
        return self.end(node_id) > offset

    def high_watermark(self, node_id: int) -> int:
        """Its high watermark; -1 while it has no log."""
        replica = self.cluster.replica(node_id)
        return -1 if replica is None else replica.high_watermark

    def epoch(self, node_id: int) -> int:
        """In which leader epoch it has its role; -1 while it has none."""
        replica = self.cluster.replica(node_id)
        return -1 if replica is None else replica.leader_epoch

    def proposed_isr(self, leader: int) -> tuple[int, ...]:
        """The ISR it asks the controllers for."""
        replica = self.cluster.replica(leader)
        return () if replica is None else replica.proposed_isr

    # Clients

    def count_answers(
        self, *codes: int, by: int | None = None, since_s: float = 0.0, acks: int | None = None
    ) -> int:
        """Number of such answers to producers."""
        answers = self.cluster.answers
        first = bisect_left(answers, since_s, key=lambda one: one.at_s)
        return sum(
            one.code in codes and by in (None, one.node_id) and acks in (None, one.acks)
            for one in answers[first:]
        )

    async def acknowledged_again(self) -> None:
        """Success with acks=all must come."""
        since_s = self.now_s
        await self.must_come(
            lambda: self.count_answers(common_pb2.NONE, since_s=since_s, acks=ACKS_ALL),
            "acknowledged again",
        )

    async def hush(self) -> None:
        """Producers begin nothing more, and all they began has ended. `load.is_held` on."""
        self.load.is_held = True
        await self.comes(lambda: not self.load.unended, "all sends ended", within_s=SENDS_END_S_MAX)
        await self.cluster.look()

    # What nodes say

    def find_log_lines(
        self, event: str, node_id: int | None = None, **fields: object
    ) -> list[LogLine]:
        """Log lines of nodes with this event and these fields."""
        return [
            line
            for line in self.cluster.lines
            if line.event == event
            and node_id in (None, line.node_id)
            and all(line.fields.get(name) == value for name, value in fields.items())
        ]

    def logged_here(self, event: str, node_id: int | None = None) -> list[LogLine]:
        """The same, of the story's partition."""
        return self.find_log_lines(event, node_id, partition=f"{self.topic}-0")

    def count_truncated(self, node_id: int) -> int:
        """Number of records truncated from its log, at an epoch's end."""
        return sum(int(line.fields["records"]) for line in self.logged_here("truncated", node_id))


def _brief(path: str) -> str:
    """A file and its folder."""
    return "/".join(path.split("/")[-2:])
