"""The partitions of a table's rows: `partitioners` for whole columns. Pure.

A row goes to the partition it names, else to that of its key's murmur2. Rows with neither go to
one partition until a batch's worth of bytes went there, then to the next one.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidelog.client.arrow.key_hashes import positive_hashes
from tidelog.client.arrow.record_bytes import RecordColumns, Run
from tidelog.client.arrow.rows import NO_PARTITION, TableRows
from tidelog.client.arrow.varints import Int64s


class RowPartitioning:
    """The partition choices of a writer for a topic; each choice counts as rows sent."""

    def __init__(self, *, first_turn: int, switch_bytes: int) -> None:
        """`first_turn`: the first partition, different for writers that start together."""
        self._first_turn = first_turn
        self._switch_bytes = switch_bytes
        self._bytes = 0

    def choose(
        self, rows: TableRows, sizes: Int64s, *, count: int, available: Sequence[int]
    ) -> Int64s:
        """Choose a partition for each row, of `count`; `available`: those with a leader, or all.

        `sizes` are the bytes of each row's record.
        """
        chosen = self._by_key(rows.records, sizes, count=count, available=available)
        named = rows.partitions
        return chosen if named is None else np.where(named == NO_PARTITION, chosen, named)

    def _by_key(
        self, records: RecordColumns, sizes: Int64s, *, count: int, available: Sequence[int]
    ) -> Int64s:
        keys = records.keys
        if keys.null_count == len(keys):
            return self._in_turn(sizes, available)
        chosen: Int64s = positive_hashes(keys) % count
        if keys.null_count:
            without = keys.is_null().to_numpy(zero_copy_only=False)
            chosen[without] = self._in_turn(sizes[without], available)
        return chosen

    def _in_turn(self, sizes: Int64s, available: Sequence[int]) -> Int64s:
        ends = self._bytes + np.cumsum(sizes)
        turns = (ends - sizes) // self._switch_bytes + self._first_turn
        self._bytes = int(ends[-1]) if len(ends) else self._bytes
        partitions: Int64s = np.array(available, np.int64)[turns % len(available)]
        return partitions


def by_partition(records: RecordColumns, partitions: Int64s) -> tuple[RecordColumns, list[Run]]:
    """Sort records by partition, stably; return them with the rows of each partition."""
    # 16 bits if possible, so that numpy uses a radix sort instead of comparisons.
    narrow = np.uint16 if partitions.max(initial=0) < 1 << 16 else np.int64
    order: Int64s = np.argsort(partitions.astype(narrow), kind="stable")
    ordered = partitions[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=NO_PARTITION))
    ends = np.append(starts[1:], len(ordered))
    runs = list(map(Run, ordered[starts].tolist(), starts.tolist(), ends.tolist()))
    return records if len(runs) == 1 else records.take(order), runs
