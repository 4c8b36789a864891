"""A large batch is compacted in steps: each looks at few records, and codecs run beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.log.cleaned_logs import Pair, StillClock, but, held, keyed, put, roll
from tests.log.partition_logs import NOW_MS, OpenLog

from tidelog.log import record_rows
from tidelog.log.cleaner import CleanerConfig, LogCleaner
from tidelog.log.compaction import KeyMap, Rewriter, TransactionOutcomes
from tidelog.log.record_rows import Kept, Steps, at_once, inflate, row_slices, with_horizon
from tidelog.records.batch import LOG_APPEND_TIME_FLAG, parse_header
from tidelog.records.compression import Codec
from tidelog.records.records import iter_records, rebuild_batch

COUNT, PER_STEP = 300, 10
ALL_STAY: list[Pair] = [(b"%d" % n, b"v") for n in range(COUNT)]
HALF_STAYS: list[Pair] = [(b"%d" % (n // 2), b"v" * (n % 3)) for n in range(COUNT)]
TOMBSTONES: list[Pair] = [(b"%d" % (n // 2), None if n % 3 else b"v") for n in range(COUNT)]
CODECS = [Codec.NONE, Codec.GZIP, Codec.ZSTD]


@pytest.fixture(autouse=True)
def _few_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_rows, "RECORDS_PER_STEP", PER_STEP)


def counted(steps: Steps[Any]) -> tuple[Any, int, int]:
    """The result, the number of pauses, and that of codecs' work."""
    pauses = works = 0
    answer: Any = None
    while True:
        try:
            work = steps.send(answer)
        except StopIteration as end:
            return end.value, pauses, works
        answer = None if work is None else work()
        pauses, works = pauses + (work is None), works + (work is not None)


def compacting(batch: bytes) -> tuple[KeyMap, Rewriter]:
    end = parse_header(batch).next_offset
    outcomes = TransactionOutcomes()
    keys = KeyMap(max_bytes=1 << 20, transactions=outcomes, first_dirty_offset=0)
    rewriter = Rewriter(
        keys=keys, end_offset=end, is_last_batch=lambda _: False, delete_retention_ms=1, now_ms=5
    )
    return keys, rewriter


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("pairs", [ALL_STAY, HALF_STAYS, TOMBSTONES])
def test_a_batch_is_taken_and_rewritten_in_steps_with_the_result_of_one(
    pairs: list[Pair], codec: Codec
) -> None:
    batch = keyed(*pairs, codec=codec)
    header = parse_header(batch)
    expected_keys, expected_rewriter = compacting(batch)
    keys, rewriter = compacting(batch)
    taken, pauses, works = counted(keys.taking(header, batch))
    assert taken == expected_keys.take(header, batch) == COUNT
    assert pauses == COUNT // PER_STEP
    assert works == (codec is not Codec.NONE)
    pieces, pauses, works = counted(rewriter.rewriting(header, batch))
    assert pieces == expected_rewriter.rewrite(header, batch)
    assert pauses >= COUNT // PER_STEP
    assert works == (0 if codec is Codec.NONE else 1 if pairs is ALL_STAY else 2)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("horizon_ms", [1, 1_000, 1 << 40])
@pytest.mark.parametrize("is_append_time", [False, True])
def test_a_horizon_is_set_as_by_encoding_each_record_anew(
    codec: Codec, horizon_ms: int, is_append_time: bool
) -> None:
    batch = keyed(*TOMBSTONES, codec=codec)
    header = parse_header(batch)
    if is_append_time:
        flags = header.attributes | LOG_APPEND_TIME_FLAG
        batch = but(batch, attributes=flags, max_timestamp=NOW_MS)
        header = parse_header(batch)
    data, kept = at_once(inflate(header, batch)), Kept()
    for rows in row_slices(header, data):
        kept.add([row for row in rows if row[0] % 4])
    records = [record for record in iter_records(batch) if record.offset % 4]
    assert kept.count == len(records)
    expected = rebuild_batch(header, records, delete_horizon_ms=horizon_ms)
    assert at_once(with_horizon(header, data, kept, horizon_ms)) == expected


class CountingWorkers:
    def __init__(self) -> None:
        self.works = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        self.works += 1
        return work()


@pytest.mark.parametrize(("count", "is_large"), [(30, False), (3 * COUNT, True)])
async def test_a_large_batchs_codecs_run_on_workers(
    open_log: OpenLog, count: int, is_large: bool
) -> None:
    log = await open_log(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
    pairs: list[Pair] = [(b"%d" % (n // 2), b"%d" % n * 50) for n in range(count)]
    put(log, *pairs, codec=Codec.SNAPPY)
    roll(log)
    workers = CountingWorkers()
    result = await LogCleaner(StillClock(NOW_MS), CleanerConfig(), workers).run_once([log])
    assert result is not None
    assert result.records_dropped == count // 2
    assert [one.key for one in held(log)][: count // 2] == [b"%d" % n for n in range(count // 2)]
    assert workers.works == (3 if is_large else 0), "inflated twice, compressed once"
