"""The partition of a record. Pure.

With a key: Kafka's murmur2, so that a key is in the same partition whichever client wrote it.
Without: stick to one partition until a batch's worth of bytes went there, then to another
(KIP-480, KIP-794). A producer may choose another strategy, or use a callable of its own.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, get_args

from tidelog.client.cluster_metadata import TopicView
from tidelog.client.errors import PartitionerError
from tidelog.core.env import Random

Pair = tuple[bytes | None, bytes | None]
"""The serialized key and value of a record."""
PartitionerName = Literal["default", "murmur2", "sticky", "round_robin", "random"]
MURMUR2_SEED = 0x9747B28C
MURMUR2_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
KEY_CACHE_SIZE = 65_536


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 of `data`, as a signed number."""
    length = len(data)
    h = MURMUR2_SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        k = int.from_bytes(data[position : position + 4], "little") * MURMUR2_M & _MASK
        h = (h * MURMUR2_M & _MASK) ^ ((k ^ k >> 24) * MURMUR2_M & _MASK)
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * MURMUR2_M & _MASK
    h = (h ^ h >> 13) * MURMUR2_M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


class KeyPartitioner:
    """`toPositive(murmur2(key)) % partitions`; caches the hashes of recent keys."""

    def __init__(self) -> None:
        self._hashes: dict[bytes, int] = {}

    def partition(self, key: bytes, partitions: int) -> int:
        """The partition of `key` among `partitions` (all of them, with or without a leader)."""
        positive = self._hashes.get(key)
        if positive is None:
            if len(self._hashes) >= KEY_CACHE_SIZE:
                self._hashes.clear()
            positive = self._hashes[key] = murmur2(key) & 0x7FFFFFFF
        return positive % partitions


class StickyPartitioner:
    """The sticky partition of a topic for records without a key."""

    def __init__(self, random: Random, *, switch_bytes: int) -> None:
        self._random = random
        self._switch_bytes = switch_bytes
        self._available: Sequence[int] = ()
        self._current = -1
        self._bytes_left = 0

    def partition(self, available: Sequence[int]) -> int:
        """The current partition among `available` (not empty: those with a leader, or all)."""
        has_changed = available is not self._available
        if self._bytes_left <= 0 or (has_changed and self._current not in available):
            others = [p for p in available if p != self._current] or available
            self._current = others[self._random.randrange(0, len(others))]
            self._bytes_left = self._switch_bytes
        self._available = available
        return self._current

    def count_used(self, size_bytes: int) -> None:
        """Count `size_bytes` of records for the partition that `partition` returned."""
        self._bytes_left -= size_bytes


class PartitionLeader(NamedTuple):
    """The broker that leads a partition, as far as this client knows."""

    broker_id: int
    host: str
    port: int
    rack: str
    """The broker's rack; empty if it has none."""


class Partitioner(Protocol):
    """A partitioner of the application: any callable with this signature; it must not block."""

    def __call__(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partitions: Sequence[int],
        available: Sequence[int],
        leaders: Mapping[int, PartitionLeader],
        /,
    ) -> int:
        """Choose one of `partitions`, preferably of `available`: those with a leader, or all.

        Key and value are serialized. `leaders` has the partitions with a leader.
        """
        ...


class Partitioning:
    """The partition choices of a producer, by topic; each choice counts as a record sent."""

    def __init__(
        self, partitioner: PartitionerName | Partitioner, random: Random, *, switch_bytes: int
    ) -> None:
        """`switch_bytes`: bytes before a sticky partition changes. ValueError: unknown name."""
        self._own: Partitioner | None = None
        if callable(partitioner):
            self._own = partitioner
        elif partitioner not in get_args(PartitionerName):
            names = ", ".join(get_args(PartitionerName))
            raise ValueError(f"partitioner={partitioner!r}: use one of {names}, or a callable")
        self._name = partitioner
        self._random = random
        self._switch_bytes = switch_bytes
        self._keys = KeyPartitioner()
        self._sticky: dict[str, StickyPartitioner] = {}
        self._turns: dict[str, int] = {}
        self._seen: dict[str, _Seen] = {}

    def one(self, topic: str, view: TopicView, pair: Pair, size_bytes: int) -> int:
        """The partition of a record. Errors: PartitionerError."""
        key = pair[0]
        if self._name == "default":
            if key is None:
                return self._stick(topic, view, size_bytes)
            return self._keys.partition(key, len(view.leaders))
        if self._own is not None:
            return _choose(self._own, topic, pair, self._seen_by(topic, view))
        if self._name == "murmur2":
            return self._keys.partition(key or b"", len(view.leaders))
        if self._name == "random":
            return view.available[self._random.randrange(0, len(view.available))]
        if self._name == "round_robin":
            return view.available[self._next_turn(topic, 1) % len(view.available)]
        return self._stick(topic, view, size_bytes)

    def each(self, topic: str, view: TopicView, pairs: Sequence[Pair]) -> list[int] | None:
        """The partitions chosen by the application's partitioner. Errors: PartitionerError.

        None without such a partitioner: then nothing can fail, and the caller uses `groups` once
        there is room.
        """
        if self._own is None:
            return None
        seen = self._seen_by(topic, view)
        return [_choose(self._own, topic, pair, seen) for pair in pairs]

    def groups(
        self, topic: str, view: TopicView, pairs: list[Pair], size_bytes: int
    ) -> dict[int, list[Pair]]:
        """Group records by partition, in their order; sticky records stay together."""
        if self._name == "round_robin":
            first, count = self._next_turn(topic, len(pairs)), len(view.available)
            return {
                view.available[(first + place) % count]: pairs[place::count]
                for place in range(min(count, len(pairs)))
            }
        if self._name == "sticky" or (
            self._name == "default" and all(key is None for key, _ in pairs)
        ):
            return {self._stick(topic, view, size_bytes): pairs}
        if self._name != "default":
            return group_pairs(pairs, (self.one(topic, view, pair, 0) for pair in pairs))
        stuck = self._stick(topic, view, size_bytes) if any(k is None for k, _ in pairs) else -1
        count, of_key = len(view.leaders), self._keys.partition
        targets = (stuck if key is None else of_key(key, count) for key, _ in pairs)
        return group_pairs(pairs, targets)

    def _seen_by(self, topic: str, view: TopicView) -> _Seen:
        """The arguments of the application's partitioner for a view, computed once per view."""
        seen = self._seen.get(topic)
        if seen is None or seen.view is not view:
            seen = self._seen[topic] = _Seen(view, tuple(sorted(view.leaders)), _leaders(view))
        return seen

    def _stick(self, topic: str, view: TopicView, size_bytes: int) -> int:
        sticky = self._sticky.get(topic)
        if sticky is None:
            sticky = StickyPartitioner(self._random, switch_bytes=self._switch_bytes)
            self._sticky[topic] = sticky
        partition = sticky.partition(view.available)
        sticky.count_used(size_bytes)
        return partition

    def _next_turn(self, topic: str, count: int) -> int:
        turn = self._turns.get(topic)
        if turn is None:
            # A random start, so that producers started together do not all use partition 0.
            turn = self._random.randrange(0, 1 << 16)
        self._turns[topic] = turn + count
        return turn


def group_pairs(pairs: Iterable[Pair], targets: Iterable[int]) -> dict[int, list[Pair]]:
    """Group records by their target partitions, in their order."""
    groups: dict[int, list[Pair]] = {}
    for pair, target in zip(pairs, targets, strict=True):
        groups.setdefault(target, []).append(pair)
    return groups


class _Seen(NamedTuple):
    view: TopicView
    partitions: Sequence[int]
    leaders: Mapping[int, PartitionLeader]


def _leaders(view: TopicView) -> dict[int, PartitionLeader]:
    found = {}
    for partition, leader in view.leaders.items():
        if leader.broker_id is not None and leader.address is not None:
            host, _, port = leader.address.rpartition(":")
            found[partition] = PartitionLeader(leader.broker_id, host, int(port), leader.rack)
    return found


def _choose(partitioner: Partitioner, topic: str, pair: Pair, seen: _Seen) -> int:
    view = seen.view
    try:
        chosen: object = partitioner(topic, *pair, seen.partitions, view.available, seen.leaders)
    except Exception as error:  # the application's callable: whatever it raises
        raise PartitionerError(
            f"the partitioner raised for a record of topic {topic!r}: {error!r}", topic=topic
        ) from error
    if not isinstance(chosen, int) or chosen not in view.leaders:
        raise PartitionerError(
            f"the partitioner chose {chosen!r}, but topic {topic!r} has partitions 0 to "
            f"{len(view.leaders) - 1}",
            topic=topic,
        )
    return chosen
