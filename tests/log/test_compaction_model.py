"""Many cleanings of a log that grows, while time passes: each key keeps its last value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.cleaned_logs import RETENTION_MS, Cleaned, Pair, keyed

from tidelog.log.compaction import BYTES_PER_KEY
from tidelog.records.batch import parse_header
from tidelog.records.compression import Codec
from tidelog.records.records import Record, iter_records


@dataclass
class Story:
    """A log that is appended to and cleaned, beside what was ever appended."""

    log: Cleaned = field(default_factory=lambda: Cleaned([]))
    appended: list[Record] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    first_cleaned_ms: dict[int, int] = field(default_factory=dict)
    """When a cleaning first covered a record, by offset."""
    now_ms: int = 0

    def append(self, pairs: Sequence[Pair], *, epoch_step: int, codec: Codec) -> None:
        epoch = (self.epochs[-1] if self.epochs else 0) + epoch_step
        batch = keyed(*pairs, at=self.log.end, epoch=epoch, codec=codec, time_ms=self.now_ms)
        self.log.batches.append(batch)
        self.appended += iter_records(batch)
        self.epochs += [epoch] * len(pairs)

    def clean(self, *, share: float, keys: int, segments: Sequence[int]) -> None:
        before = self.log
        ends = [0, *(header.next_offset for header in before.headers)]
        bound = max(before.first_dirty_offset, ends[int((len(ends) - 1) * share)])
        self.log = before.clean(
            end=bound, max_bytes=keys * BYTES_PER_KEY, now_ms=self.now_ms, flush_at=segments
        )
        end = self.log.first_dirty_offset
        for offset in range(end):
            self.first_cleaned_ms.setdefault(offset, self.now_ms)
        untouched = [batch for batch in before.batches if parse_header(batch).base_offset >= end]
        assert self.log.batches[len(self.log.batches) - len(untouched) :] == untouched
        assert before.first_dirty_offset <= end <= bound
        assert end > before.first_dirty_offset or bound == before.first_dirty_offset

    def check(self) -> None:
        self.check_frame()
        first_dirty = self.log.first_dirty_offset
        held = {record.offset: record for record in self.log.records}
        newest: dict[bytes | None, Record] = {}
        for record in self.appended:
            newest[record.key] = record
            assert held.get(record.offset, record) == record
            assert record.offset < first_dirty or record.offset in held
        for key, record in newest.items():
            found = [r.offset for r in held.values() if r.key == key]
            if key is None:
                assert min(found, default=first_dirty) >= first_dirty
            elif record.offset not in held:
                assert record.value is None
                assert self.now_ms >= self.first_cleaned_ms[record.offset] + RETENTION_MS
                assert found == []
            else:
                assert sum(offset < first_dirty for offset in found) <= 1

    def check_frame(self) -> None:
        """No offset is missing, and each is still of its epoch."""
        next_offset = 0
        for header in self.log.headers:
            assert header.base_offset == next_offset
            next_offset = header.next_offset
            epochs = set(self.epochs[header.base_offset : next_offset])
            assert epochs == {header.partition_leader_epoch}
        assert next_offset == len(self.appended)


PAIRS = st.tuples(
    st.sampled_from([b"", b"a", b"b", b"c", b"k" * 16, b"k" * 17, None]),
    st.sampled_from([b"value", b"newer", b"", None]),
)
APPENDS = st.tuples(
    st.just("append"),
    st.lists(PAIRS, min_size=1, max_size=5),
    st.sampled_from([0, 0, 0, 1, 3]),
    st.sampled_from(list(Codec)),
)
CLEANINGS = st.tuples(
    st.just("clean"),
    st.sampled_from([1.0, 1.0, 0.7, 0.3]),
    st.sampled_from([1, 2, 3, 100]),
    st.lists(st.integers(0, 20), max_size=3),
)
WAITS = st.tuples(st.just("wait"), st.sampled_from([1, RETENTION_MS // 2, RETENTION_MS]))


@settings(max_examples=150)
@given(st.lists(st.one_of(APPENDS, APPENDS, CLEANINGS, WAITS), max_size=25))
def test_every_cleaning_keeps_the_last_value_of_each_key(
    steps: Sequence[tuple[object, ...]],
) -> None:
    story = Story()
    for step in steps:
        match step:
            case ("append", list(pairs), int(epoch_step), Codec() as codec):
                story.append(pairs, epoch_step=epoch_step, codec=codec)
            case ("clean", float(share), int(keys), list(segments)):
                story.clean(share=share, keys=keys, segments=segments)
            case ("wait", int(wait_ms)):
                story.now_ms += wait_ms
        story.check()
    assert_deleted_keys_go_in_the_end(story)


def assert_deleted_keys_go_in_the_end(story: Story) -> None:
    for _ in range(2):
        story.clean(share=1.0, keys=100, segments=())
        story.check()
        story.now_ms += RETENTION_MS
    story.clean(share=1.0, keys=100, segments=())
    last = {record.key: record for record in story.appended if record.key is not None}
    alive = [record for record in last.values() if record.value is not None]
    assert story.log.records == sorted(alive)
