"""Content of a simulated disk, and the content after a power cut. Pure.

A file and a folder each are what the running system sees, what is certainly stored, and the changes
between, oldest first. A cut lets every 512-byte sector of a file (every page of a mapped one) have
seen its own number of these changes, and so the file's size, which then may cover sectors that were
never written: zeros. Of a folder's changes of names any may be lost, with those that build on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from tidelog.core.env import Random

SECTOR_BYTES = 512
PAGE_BYTES = 4096
T = TypeVar("T")


class Change(NamedTuple):
    """A write at `offset`; without data it cuts or extends the file to `offset`."""

    offset: int
    data: bytes | None


class Unsynced(Generic[T]):
    """Changes that are not certainly stored, oldest first."""

    def __init__(self) -> None:
        self._changes: list[T] = []
        self._taken_count = 0

    def add(self, change: T) -> None:
        """The newest one."""
        self._changes.append(change)

    def mark(self) -> int:
        """Stands for all changes added up to now."""
        return self._taken_count + len(self._changes)

    def take(self, mark: int) -> list[T]:
        """The changes up to `mark` that nobody has taken yet."""
        count = max(0, mark - self._taken_count)
        taken, self._changes = self._changes[:count], self._changes[count:]
        self._taken_count += len(taken)
        return taken


@dataclass(slots=True)
class Content:
    """A file. While it is mapped, `written` may be changed in place by anyone."""

    written: bytearray = field(default_factory=bytearray)
    stored: bytearray = field(default_factory=bytearray)
    unsynced: Unsynced[Change] = field(default_factory=Unsynced)
    mapped: bytes | None = None
    """`written` at the last look, if it is mapped."""

    def change(self, offset: int, data: bytes | None) -> None:
        """Do it for the running system."""
        change = Change(offset, data)
        _apply(self.written, change)
        self.unsynced.add(change)

    def map(self, capacity_bytes: int) -> None:
        """Let `written`, of this size at least, be changed in place from now on."""
        self._look_at_mapping()
        # A buffer of its own: one a killed process left mapped could not change its size.
        self.written = bytearray(self.written)
        if len(self.written) < capacity_bytes:
            self.change(capacity_bytes, None)
        self.mapped = bytes(self.written)

    def unmap(self) -> None:
        """Require `change` for every change again."""
        self._look_at_mapping()
        self.mapped = None

    def mark(self) -> int:
        """Stands for all changes made up to now, for `store` and `lose`."""
        self._look_at_mapping()
        return self.unsynced.mark()

    def store(self, mark: int) -> None:
        """Changes up to `mark` are on the medium."""
        for change in self.unsynced.take(mark):
            _apply(self.stored, change)

    def lose(self, mark: int, random: Random) -> None:
        """Nobody knows which sectors of the changes up to `mark` reached the medium."""
        grain = SECTOR_BYTES if self.mapped is None else PAGE_BYTES
        _store_in_part(self.stored, self.unsynced.take(mark), random, grain=grain)

    def crash(self, random: Random) -> None:
        """Become what a start after a power cut finds."""
        self.lose(self.mark(), random)
        self.written = bytearray(self.stored)
        self.mapped = None

    def _look_at_mapping(self) -> None:
        if self.mapped is None or self.mapped == self.written:
            return
        now = bytes(self.written)
        for at in range(0, len(now), PAGE_BYTES):
            page = now[at : at + PAGE_BYTES]
            if page != self.mapped[at : at + PAGE_BYTES]:
                self.unsynced.add(Change(at, page))
        self.mapped = now


@dataclass(slots=True)
class Folder:
    """A folder: its entries by name."""

    entries: dict[str, Content | Folder] = field(default_factory=dict)
    stored: dict[str, Content | Folder] = field(default_factory=dict)
    unsynced: Unsynced[Names] = field(default_factory=Unsynced)

    def change(self, names: Names) -> None:
        """Do it for the running system, as one atomic change."""
        _rename(self.entries, names)
        self.unsynced.add(names)

    def mark(self) -> int:
        """See `Content`."""
        return self.unsynced.mark()

    def store(self, mark: int) -> None:
        """See `Content`."""
        for names in self.unsynced.take(mark):
            _rename(self.stored, names)

    def lose(self, mark: int, random: Random) -> None:
        """See `Content`; a rename happened or did not."""
        taken = self.unsynced.take(mark)
        draw = _fates(random, len(taken))
        lost: set[str] = set()
        for number, names in enumerate(taken):
            if number < draw() and lost.isdisjoint(names):
                _rename(self.stored, names)
            else:
                lost |= names.keys()

    def crash(self, random: Random) -> None:
        """See `Content`; all below crashes too."""
        self.lose(self.mark(), random)
        self.entries = dict(self.stored)
        for name in sorted(self.entries):
            self.entries[name].crash(random)


Names = dict[str, Content | Folder | None]
"""Changed entries by name; None for a removed one."""


def _fates(random: Random, count: int) -> Callable[[], int]:
    """Draws for a part of the medium how many of `count` changes it has seen.

    None, all, as many as every other part has, or a number of its own.
    """
    match random.randrange(0, 4):
        case 0:
            common = 0
        case 1:
            common = count
        case 2:
            common = random.randrange(0, count + 1)
        case _:
            return lambda: random.randrange(0, count + 1)
    return lambda: common


def _store_in_part(stored: bytearray, changes: list[Change], random: Random, *, grain: int) -> None:
    sizes = [len(stored)]
    for offset, data in changes:
        sizes.append(offset if data is None else max(sizes[-1], offset + len(data)))
    draw = _fates(random, len(changes))
    seen = draw()
    size = sizes[seen]
    if random.randrange(0, 2):
        size = _between(random, sizes[max(seen - 1, 0)], size)
    stored.extend(bytes(max(sizes) - len(stored)))
    _write_sectors(stored, changes, draw, grain=grain)
    _apply(stored, Change(size, None))


def _between(random: Random, size: int, next_size: int) -> int:
    """Draw a size the file had on its way from one to the other: sectors are written in turn."""
    first_boundary = size - size % SECTOR_BYTES + SECTOR_BYTES
    sizes: list[int] = [size, *range(first_boundary, next_size, SECTOR_BYTES), next_size]
    return sizes[random.randrange(0, len(sizes))]


def _write_sectors(
    image: bytearray, changes: list[Change], draw: Callable[[], int], *, grain: int
) -> None:
    """Apply to each sector of `image`, which is long enough, as many changes as `draw` says."""
    seen: dict[int, int] = {}
    for number, (offset, data) in enumerate(changes):
        end = len(image) if data is None else offset + len(data)
        for sector in range(offset // grain, -(-end // grain)):
            if number >= (seen[sector] if sector in seen else seen.setdefault(sector, draw())):
                continue
            first, last = max(offset, sector * grain), min(end, (sector + 1) * grain)
            piece = bytes(last - first) if data is None else data[first - offset : last - offset]
            image[first:last] = piece


def _apply(target: bytearray, change: Change) -> None:
    offset, data = change
    target.extend(bytes(max(0, offset - len(target))))
    if data is None:
        del target[offset:]
    else:
        target[offset : offset + len(data)] = data


def _rename(entries: dict[str, Content | Folder], names: Names) -> None:
    for name, node in names.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node
