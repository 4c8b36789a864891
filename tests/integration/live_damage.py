"""What is done to the files of one voter: a torn frame, a flipped bit, an emptied disk.

A tear must be mended without a word, a flip refused with file, byte and remedy; the remedy and an
empty disk must end in a voter that has everything.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

from tests.integration.live_nodes import LiveNode
from tests.integration.live_quorum import LiveQuorum, until
from tests.integration.live_wals import WalView, read

from tidelog.raft.wal_file import RecordKind
from tidelog.raft.wal_frames import SECTOR_BYTES, Record, encode_frame, encode_record

DAMAGES = ("torn", "flipped log", "flipped snapshot", "cut", "emptied")
_REMEDY = "remove the folder"


class Damages:
    """One voter a time; the others go on."""

    def __init__(self, quorum: LiveQuorum, *, seed: int) -> None:
        self._quorum = quorum
        self._random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.refusals: list[str] = []
        """What the first refusals said."""

    async def round(self, kind: str) -> None:
        """One voter killed and damaged, and whole again at the end."""
        if kind == "flipped snapshot":
            victim = await self._one_with_snapshot()
        else:
            victim = self._random.choice(self._quorum.voters)
        self._quorum.wals.look(self._quorum.voters)
        await self._quorum.kill(victim)
        self._quorum.wals.look([victim])
        match kind:
            case "torn":
                self._tear(victim)
            case "cut":
                kind = self._cut_or_tear(victim)
            case "flipped log":
                self._flip_log(victim)
            case "flipped snapshot":
                self._flip(victim, victim.snapshots()[-1])
            case _:
                self._empty(victim, victim.data_dir)
        victim.start()
        await self._quorum.until_whole()
        self.counts[kind] += 1

    async def _one_with_snapshot(self) -> LiveNode:
        found: list[LiveNode] = []

        async def there_is_one() -> bool:
            found.extend(voter for voter in self._quorum.voters if voter.snapshots())
            return bool(found)

        await until(there_is_one, "a snapshot")
        return self._random.choice(found)

    # Tears: what a crash may leave of a frame that nobody was told of

    def _tear(self, node: LiveNode) -> None:
        """A part of the next frame behind the last one."""
        view = self._view(node)
        if view.is_torn:  # the kill itself did
            return
        term = max((term for term, _ in view.entries.values()), default=1)
        body = b"\0" + self._random.randbytes(self._random.randrange(600, 6000))
        payload = encode_record(Record(RecordKind.ENTRY, term, view.last_index + 1, body))
        frame = encode_frame(view.frames[-1][0].number + 1, payload)
        pieces = range(0, len(frame), SECTOR_BYTES)
        written = self._random.sample(pieces, self._random.randrange(len(pieces)))
        last = self._random.choice([at for at in pieces if at not in written])
        with node.wal_path.open("r+b") as wal:
            for at in written:
                wal.seek(view.end + at)
                wal.write(frame[at : at + SECTOR_BYTES])
            wal.seek(view.end + last)
            wal.write(frame[last : last + self._random.randrange(SECTOR_BYTES - 2)])

    def _cut_or_tear(self, node: LiveNode) -> str:
        """Take the end of the last frame away if all others hold what it says."""
        view = self._view(node)
        frame, records = view.frames[-1]
        others = [self._view(other) for other in self._quorum.others(node)]
        for record in records:
            entry = (record.a, record.body)
            is_entry = record.kind == RecordKind.ENTRY
            if not is_entry or any(other.entries.get(record.b) != entry for other in others):
                self._tear(node)
                return "torn"
        size = frame.end - frame.position
        kept = self._random.randrange(size - 2)
        with node.wal_path.open("r+b") as wal:
            wal.seek(frame.position + kept)
            wal.write(bytes(size - kept))
        self._quorum.wals.was_cut(node.node_id, min(record.b for record in records))
        return "cut"

    # Flips: what was on stable storage is no longer what was written

    def _flip_log(self, node: LiveNode) -> None:
        self._flip(node, node.wal_path, size=self._view(node).end)

    def _flip(self, node: LiveNode, path: Path, *, size: int | None = None) -> None:
        """Flip one bit of the file; the node must refuse, twice; then do what it says."""
        at = self._random.randrange(size or path.stat().st_size)
        with path.open("r+b") as file:
            file.seek(at)
            (value,) = file.read(1)
            file.seek(at)
            file.write(bytes([value ^ 1 << self._random.randrange(8)]))
        for _ in range(2):
            code, words = node.start_refused()
            said = next((line for line in words.splitlines() if line.startswith("error: ")), words)
            is_named = all(word in said for word in (str(path), "at byte", _REMEDY))
            if code == 0 or not is_named or "Traceback" in words:
                self._quorum.history.violation(
                    f"bit flipped at {at} of {path}: exit code {code}, {said!r}"
                )
        self.refusals.append(said)
        self._empty(node, node.metadata_dir)

    def _empty(self, node: LiveNode, folder: Path) -> None:
        shutil.rmtree(folder)
        self._quorum.wals.was_emptied(node.node_id)

    def _view(self, node: LiveNode) -> WalView:
        view = read(node)
        assert view is not None
        return view
