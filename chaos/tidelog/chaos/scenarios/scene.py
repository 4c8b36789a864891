"""What a story has in hand: faults, eyes for what came of each, claims. The same on every stage.

Owns the faults and the claims; the eyes are `eyes.Eyes`. What a story waits for or asserts is one
of two things, and is reported as such:

    unobserved   the fault did not bite, or what must come first did not: the run proves nothing
    promise      what the story claims did not hold

With a report the story is over, as whatever follows would follow from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tidelog.chaos import chance
from tidelog.chaos.history import ACKS_ALL, History
from tidelog.chaos.scenarios.eyes import Eyes
from tidelog.chaos.scenarios.ground import Ground, Path, Side
from tidelog.chaos.scenarios.machines import Machines
from tidelog.chaos.scenarios.paths import between, struck, words_for
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
    """This stage cannot do that to its nodes."""


class Scene(Eyes):
    """A cluster as stories meet it. `facts` are what a story measured, for people."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.facts: dict[str, str] = {}
        self._longest_s: dict[str, float] = {}
        self._last_words: list[Judge] = []
        self._ended_by: dict[int, str] = {}
        """The fault that a start takes back."""
        self._changed_s = ground.now_s
        """When a fault began or was taken back, the last time."""

    # What must be seen, and what is promised

    def expect(self, is_seen: object, what: str) -> None:
        """Without it the story proves nothing."""
        self._judge(is_seen, UNOBSERVED, what)

    def promise(self, is_kept: object, what: str) -> None:
        """What the story claims."""
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
        """Wait for it; whether it came. `within_s` is multiplied by the ground's patience.

        Nothing that was seen before counts: it may be older than what was done last.
        """
        deadline_s = self.now_s + within_s * self.ground.patience
        await self.ground.look()
        while not condition():
            if self.now_s > deadline_s:
                return False
            await asyncio.sleep(POLL_S)
            await self.ground.look()
        return True

    def at_the_end(self, judge: Judge) -> None:
        """Ask `judge`, when all is read, whether what was promised is so, and what."""
        self._last_words.append(judge)

    def conclude(self, history: History, counts: Counts) -> None:
        """All is read."""
        for judge in self._last_words:
            is_kept, what = judge(history, counts)
            if not is_kept:
                self.ground.report(PROMISE, what)

    def took(self, what: str, seconds: float) -> None:
        """A fact: the longest of all that are told under this name."""
        self._longest_s[what] = max(seconds, self._longest_s.get(what, 0.0))
        self.facts[what] = f"{self._longest_s[what]:.2f} s"

    def _judge(self, is_so: object, kind: str, what: str) -> None:
        if not is_so:
            self.ground.report(kind, what)
            raise StoryOver(what)

    # Chance and time

    async def last(self, low_s: float, high_s: float) -> None:
        """Let time pass."""
        await asyncio.sleep(low_s + (high_s - low_s) * self.random.random())
        await self.ground.look()

    def happens(self, probability: float) -> bool:
        """Whether it does this time."""
        return self.random.random() < probability

    def one_of(self, items: Sequence[T]) -> T:
        """Any of them."""
        return chance.one_of(self.random, items)

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """All of them."""
        return chance.shuffled(self.random, items)

    # Faults; what is done below is told already

    def strike(self, kind: str, what: str, *node_ids: int) -> None:
        """Tell of a fault that begins."""
        self._changed_s = self.now_s
        self.ground.count(kind, what, *node_ids)

    def over(self, kind: str, what: str, *node_ids: int) -> None:
        """Tell that it is taken back."""
        self._changed_s = self.now_s
        self.ground.over(kind, what, *node_ids)

    @property
    def machines(self) -> Machines:
        """What only simulated machines suffer. Errors: `UnsupportedFaultError`."""
        if not isinstance(self.ground, Machines):
            raise UnsupportedFaultError("only simulated machines lose power, and fail at will")
        return self.ground

    # Processes

    async def kill(self, *node_ids: int) -> None:
        """SIGKILL, one right after another; they stay down until `start`."""
        for node_id in node_ids:
            if await self.ground.kill(node_id):
                self._end("kill", node_id)
        await self.ground.look()

    async def stop(self, node_id: int) -> None:
        """SIGTERM; it has ended, and stays down until `start`."""
        self._end("stop", node_id)
        await self.ground.stop(node_id)
        await self.ground.look()

    async def start(self, *node_ids: int) -> None:
        """Start what is down; they are not ready yet."""
        for node_id in node_ids:
            await self.ground.start(node_id)
            if kind := self._ended_by.pop(node_id, None):
                self.over(kind, f"node {node_id}", node_id)

    async def cut_power(self, node_id: int) -> None:
        """What was not synced is gone or torn; down until `start`. Simulated machines only."""
        self._end("power_cut", node_id)
        self.expect(await self.machines.cut_power(node_id), f"node {node_id} lost power")

    def _end(self, kind: str, node_id: int) -> None:
        self._ended_by[node_id] = kind
        self.strike(kind, f"node {node_id}", node_id)

    async def pause(self, *node_ids: int) -> None:
        """SIGSTOP."""
        for node_id in node_ids:
            self.strike("pause", f"node {node_id}", node_id)
            await self.ground.pause(node_id)

    async def resume(self, *node_ids: int) -> None:
        """SIGCONT."""
        for node_id in node_ids:
            await self.ground.resume(node_id)
            self.over("pause", f"node {node_id}", node_id)
        await self.ground.look()

    # Links

    def between(self, side: Iterable[Side], others: Iterable[Side]) -> list[Path]:
        """All paths between them, both ways."""
        return between(side, others)

    async def cut(self, paths: Sequence[Path]) -> None:
        """Nothing arrives on these, until `mend`."""
        self.strike("cut", words_for(paths), *struck(paths))
        await self.ground.cut(paths)

    async def mend(self, paths: Sequence[Path]) -> None:
        """Take cuts back."""
        await self.ground.mend(paths)
        self.over("cut", words_for(paths), *struck(paths))

    async def delay(self, paths: Sequence[Path]) -> None:
        """All arrives late on these, until `hasten`."""
        self.strike("delay", words_for(paths), *struck(paths))
        await self.ground.delay(paths)

    async def hasten(self, paths: Sequence[Path]) -> None:
        """Take delays back."""
        await self.ground.hasten(paths)
        self.over("delay", words_for(paths), *struck(paths))

    # Disks

    def _happens_at_once(self, kind: str, what: str, node_id: int) -> None:
        self.strike(kind, what, node_id)
        self.over(kind, what, node_id)

    async def wipe(self, node_id: int) -> None:
        """An empty disk for a node that is down."""
        self._happens_at_once("wipe", f"node {node_id}", node_id)
        await self.ground.wipe(node_id)

    async def fill(self, node_id: int, *, room_bytes: int) -> None:
        """Leave room for so many bytes, until `make_room`."""
        self.strike("disk_full", f"node {node_id}", node_id)
        await self.ground.fill(node_id, room_bytes=room_bytes)

    async def make_room(self, node_id: int) -> None:
        """There is space again."""
        await self.ground.make_room(node_id)
        self.over("disk_full", f"node {node_id}", node_id)

    async def flip(self, node_id: int, path: str, byte: int) -> None:
        """Change one bit of this byte."""
        self._happens_at_once("bit_flip", f"node {node_id} {_brief(path)} byte {byte}", node_id)
        before = self.content(node_id, path)
        await self.ground.flip(node_id, path, byte, self.random.randrange(0, 8))
        self.expect(self.content(node_id, path) != before, f"{path} is damaged")

    async def tear(self, node_id: int, path: str, at: int, data: bytes) -> None:
        """Put there what a write left that did not come to its end."""
        self._happens_at_once("torn_write", f"node {node_id} {_brief(path)} byte {at}", node_id)
        await self.ground.overwrite(node_id, path, at, data)
        self.expect(self.content(node_id, path)[at:].startswith(data), f"{path} is torn")

    async def vanish(self, node_id: int, path: str) -> None:
        """Lose a file."""
        self._happens_at_once("lost_file", f"node {node_id} {_brief(path)}", node_id)
        await self.ground.vanish(node_id, path)
        self.expect(not self.length(node_id, path), f"{path} is gone")

    # What must come of it

    async def another_leads(self, leader: int) -> int:
        """It must come to that; who does."""
        others = [one for one in self.now.replicas if one != leader]
        await self.must_come(
            lambda: self.is_led_by(*others), "another leads", within_s=self.failover_s
        )
        return self.leader

    async def in_sync(self) -> None:
        """All replicas must come to be."""
        await self.must_come(self._is_whole, "all in sync")

    async def acknowledged_again(self) -> None:
        """Success with acks=all must come."""
        since_s = self.now_s
        await self.must_come(
            lambda: self.answered(common_pb2.NONE, since_s=since_s, acks=ACKS_ALL),
            "acknowledged again",
        )

    async def hush(self) -> None:
        """Producers begin nothing more, and all they began has ended. `load.is_held` on."""
        self.load.is_held = True
        await self.comes(lambda: not self.load.unended, "all sends ended", within_s=SENDS_END_S_MAX)
        await self.ground.look()


def _brief(path: str) -> str:
    """A file and its folder."""
    return "/".join(path.split("/")[-2:])
