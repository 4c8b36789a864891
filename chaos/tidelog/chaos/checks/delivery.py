"""What the log promises its clients, judged by a history alone. Each check returns its complaints.

lost write             acknowledged, and not read back at its offset       (Jepsen: lost-write)
two values             one offset, two values                    (Jepsen: inconsistent-offsets)
gap                    a consumer skipped an offset or went back  (Jepsen: poll-skip)
no prefix              a consumer saw what a later one does not
refused write          read, though its producer was told that it failed     (Jepsen: G1a)
reordered              a producer's acknowledged writes lie in another order than sent
duplicate              an idempotent producer's write is there twice          (Jepsen: duplicate)
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.chaos.delivery_history import History, Stored


def lost_writes(history: History) -> list[str]:
    """Every acknowledged write is read back at its offset by the final readings."""
    final = history.final_values()
    return [
        f"lost write: {_show(write)} was acknowledged, final readings have"
        f" {final.get((write.partition, write.offset))!r} there"
        for write in history.acknowledged
        if final.get((write.partition, write.offset)) != write.value
    ]


def offsets_with_two_values(history: History) -> list[str]:
    """No offset shows two values, over all acknowledgements and all readings."""
    seen: dict[tuple[int, int], bytes] = {}
    complaints = []
    for record in _everything(history):
        first = seen.setdefault((record.partition, record.offset), record.value)
        if first != record.value:
            complaints.append(f"two values: {_show(record)} was {first!r} before")
    return complaints


def gaps(history: History) -> list[str]:
    """Every consumer sees each partition's offsets from 0 on, one by one."""
    complaints = []
    for reading in history.readings:
        expected: dict[int, int] = {}
        for record in reading.records:
            if record.offset != expected.get(record.partition, 0):
                complaints.append(
                    f"gap: {reading.consumer} saw {_show(record)},"
                    f" expected offset {expected.get(record.partition, 0)}"
                )
            expected[record.partition] = record.offset + 1
    return complaints


def missing_prefixes(history: History) -> list[str]:
    """Whatever any consumer saw is still there at the end."""
    final = history.final_values()
    return [
        f"no prefix: {reading.consumer} saw {_show(record)}, which is gone"
        for reading in history.readings
        for record in reading.records
        if (record.partition, record.offset) not in final
    ]


def refused_writes(history: History) -> list[str]:
    """What a producer was told has failed is read by nobody."""
    refused = {(write.partition, write.value) for write in history.refused if not write.is_unknown}
    return [
        f"refused write: {reading.consumer} saw {_show(record)}"
        for reading in history.readings
        for record in reading.records
        if (record.partition, record.value) in refused
    ]


def reordered_writes(history: History) -> list[str]:
    """Acknowledged writes of a partition lie at growing offsets, in the order they were sent."""
    last: dict[int, Stored] = {}
    complaints = []
    for write in history.acknowledged:
        before = last.get(write.partition)
        if before is not None and write.offset <= before.offset:
            complaints.append(f"reordered: {_show(write)} was sent after {_show(before)}")
        last[write.partition] = write
    return complaints


def duplicates(history: History) -> list[str]:
    """No value of an idempotent producer is read at two offsets of its partition."""
    first: dict[tuple[int, bytes], int] = {}
    complaints = []
    for (partition, offset), value in sorted(history.final_values().items()):
        earlier = first.setdefault((partition, value), offset)
        if earlier != offset and history.is_idempotent:
            complaints.append(
                f"duplicate: {_show(Stored(partition, offset, value))} is at {earlier} too"
            )
    return complaints


ALL = (
    lost_writes,
    offsets_with_two_values,
    gaps,
    missing_prefixes,
    refused_writes,
    reordered_writes,
    duplicates,
)


def complaints(history: History) -> list[str]:
    """All complaints of all checks."""
    return [complaint for check in ALL for complaint in check(history)]


def count_duplicates(history: History) -> int:
    """Records beyond the first with one value: retries of producers without idempotence."""
    final = history.final_values()
    values = {(partition, value) for (partition, _), value in final.items()}
    return len(final) - len(values)


def _everything(history: History) -> Iterable[Stored]:
    yield from history.acknowledged
    for reading in history.readings:
        yield from reading.records


def _show(record: Stored) -> str:
    return f"{record.value!r} at {record.partition}/{record.offset}"
