"""Committed offsets: what is taken, refused, expired, deleted, and what a load gives back."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, decode, encode
from tidelog.broker.coordinator.offset_retention import Retention
from tidelog.broker.coordinator.offsets import (
    NOTHING_COMMITTED,
    CommittedOffset,
    CommittedOffsets,
    Decision,
    TopicPartition,
)
from tidelog.broker.coordinator.subscribed_topics import digest_of
from tidelog.core.errors import code_name
from tidelog.v1.coordinator_records_pb2 import OffsetCommitValue

NOW_MS = 1_000_000
NEWEST_EPOCH = 3
"""Leader epoch of each partition."""
RETENTION_MS = 60_000
METADATA_MAX = 8
ORDERS, TIDES, GONE = (bytes([n]) * 16 for n in (1, 2, 9))


class OfTest:
    """Topics of an image that tests change: id by name, number of partitions by id."""

    def __init__(self) -> None:
        self.ids = {"orders": ORDERS, "tides": TIDES}
        self.counts = {ORDERS: 3, TIDES: 2}

    def topic_id(self, topic: str) -> bytes | None:
        return self.ids.get(topic)

    def name(self, topic_id: bytes) -> str | None:
        return next((name for name, one in self.ids.items() if one == topic_id), None)

    def partition_count(self, topic_id: bytes) -> int:
        return self.counts.get(topic_id, 0)

    def leader_epoch(self, topic_id: bytes, partition: int) -> int:
        del topic_id, partition
        return NEWEST_EPOCH

    def matching(self, pattern: str) -> frozenset[str]:
        return frozenset(name for name in self.ids if re.fullmatch(pattern, name))

    def digest(self, topic: str) -> int:
        topic_id = self.ids.get(topic)
        return 0 if topic_id is None else digest_of(topic, topic_id, self.counts[topic_id])

    @property
    def revision(self) -> object:
        return object()  # tests change it at any time


TOPICS = OfTest()


def orders(partition: int) -> TopicPartition:
    return TopicPartition("orders", ORDERS, partition)


def tides(partition: int) -> TopicPartition:
    return TopicPartition("tides", TIDES, partition)


def fresh() -> CommittedOffsets:
    return CommittedOffsets(metadata_bytes_max=METADATA_MAX)


def replay(offsets: CommittedOffsets, records: Iterable[CoordinatorRecord]) -> None:
    """Replay records as a load does: from their bytes."""
    for record in records:
        again = decode(*encode(record))
        assert again is not None
        assert again.value is None or isinstance(again.value, OffsetCommitValue)
        offsets.replay(again.key.offset_commit, again.value)


def committed(
    offsets: CommittedOffsets, partition: TopicPartition, offset: int, now_ms: int = NOW_MS
) -> Decision:
    decision = offsets.commit("g", [(partition, CommittedOffset(offset))], TOPICS, now_ms)
    replay(offsets, decision.records)
    return decision


def fetched(offsets: CommittedOffsets, partition: TopicPartition, group_id: str = "g") -> int:
    (result,) = offsets.fetch(group_id, [partition], TOPICS)
    assert result.error is None
    return result.committed.offset


def refusals(decision: Decision) -> list[str]:
    return [code_name(one.error.code) if one.error else "" for one in decision.results]


# Commits


def test_a_commit_is_read_again_with_all_that_was_said() -> None:
    offsets = fresh()
    said = CommittedOffset(7, leader_epoch=3, metadata="at noon")
    replay(offsets, offsets.commit("g", [(orders(1), said)], TOPICS, NOW_MS).records)
    (result,) = offsets.fetch("g", [orders(1)], TOPICS)
    assert result.committed == said._replace(committed_ms=NOW_MS)
    assert fetched(offsets, orders(1), "another") == -1


def test_any_epoch_is_stored_as_it_came() -> None:
    offsets = fresh()
    said = CommittedOffset(7, leader_epoch=NEWEST_EPOCH + 1)
    decision = offsets.commit("g", [(orders(0), said)], TOPICS, NOW_MS)
    assert refusals(decision) == [""]
    replay(offsets, decision.records)
    (result,) = offsets.fetch("g", [orders(0)], TOPICS)
    assert result.committed.leader_epoch == NEWEST_EPOCH + 1


def test_deciding_changes_nothing() -> None:
    offsets = fresh()
    offsets.commit("g", [(orders(0), CommittedOffset(7))], TOPICS, NOW_MS)
    assert fetched(offsets, orders(0)) == -1
    assert not offsets.has_offsets("g")
    committed(offsets, orders(0), 7)
    offsets.delete("g", [orders(0)], TOPICS, ())
    offsets.delete_group("g")
    offsets.expire("g", Retention(0), NOW_MS)
    offsets.forget_topics("g", lambda _: True)
    assert fetched(offsets, orders(0)) == 7


def test_a_later_commit_replaces_an_earlier_one_even_by_a_smaller_offset() -> None:
    offsets = fresh()
    committed(offsets, orders(0), 9)
    committed(offsets, orders(0), 4)
    assert fetched(offsets, orders(0)) == 4


@pytest.mark.parametrize(
    "asked", [TopicPartition("orders", b"", 2), TopicPartition("", ORDERS, 2), orders(2)]
)
def test_a_partition_is_named_by_name_or_id_or_both(asked: TopicPartition) -> None:
    offsets = fresh()
    assert committed(offsets, asked, 5).results[0].partition == orders(2)
    assert fetched(offsets, asked) == 5


@pytest.mark.parametrize(
    ("asked", "said", "code"),
    [
        (TopicPartition("nosuch", b"", 0), CommittedOffset(1), "UNKNOWN_TOPIC_OR_PARTITION"),
        (TopicPartition("", GONE, 0), CommittedOffset(1), "UNKNOWN_TOPIC_ID"),
        (TopicPartition("orders", GONE, 0), CommittedOffset(1), "UNKNOWN_TOPIC_ID"),
        (TopicPartition("orders", TIDES, 0), CommittedOffset(1), "INCONSISTENT_TOPIC_ID"),
        (orders(3), CommittedOffset(1), "UNKNOWN_TOPIC_OR_PARTITION"),
        (orders(-1), CommittedOffset(1), "UNKNOWN_TOPIC_OR_PARTITION"),
        (orders(0), CommittedOffset(-1), "INVALID_REQUEST"),
        (orders(0), CommittedOffset(1 << 63), "INVALID_REQUEST"),
        (orders(0), CommittedOffset(1, metadata="ä" * 5), "OFFSET_METADATA_TOO_LARGE"),
    ],
)
def test_what_is_wrong_is_refused_alone(
    asked: TopicPartition, said: CommittedOffset, code: str
) -> None:
    offsets = fresh()
    right = (tides(0), CommittedOffset(2, metadata="ä" * 4))
    decision = offsets.commit("g", [(asked, said), right], TOPICS, NOW_MS)
    assert refusals(decision) == [code, ""]
    replay(offsets, decision.records)
    assert fetched(offsets, tides(0)) == 2
    assert offsets.fetch_all("g", TOPICS, limit=9)[0].partition == tides(0)


# Reads


def test_nothing_committed_is_minus_one_without_an_error() -> None:
    (result,) = fresh().fetch("g", [orders(0)], TOPICS)
    assert (result.committed, result.error) == (NOTHING_COMMITTED, None)


def test_a_read_of_a_topic_that_does_not_exist_is_an_error() -> None:
    (result,) = fresh().fetch("g", [TopicPartition("nosuch", b"", 0)], TOPICS)
    assert result.error is not None


def test_all_are_read_page_by_page_in_order() -> None:
    offsets = fresh()
    held = [tides(1), orders(2), orders(0), tides(0), orders(1)]
    for partition in held:
        committed(offsets, partition, partition.partition)
    first = offsets.fetch_all("g", TOPICS, limit=2)
    assert [one.partition for one in first] == [orders(0), orders(1)]
    last = first[-1].partition
    rest = offsets.fetch_all("g", TOPICS, after=(last.topic, last.partition), limit=9)
    assert [one.partition for one in first + rest] == sorted(held)


def test_a_page_costs_what_it_has_and_not_what_the_group_has() -> None:
    offsets, topics = fresh(), OfTest()
    topics.counts[ORDERS] = 3_000
    said = [(orders(number), CommittedOffset(number)) for number in range(3_000)]
    replay(offsets, offsets.commit("g", said, topics, NOW_MS).records)
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        page = offsets.fetch_all("g", topics, after=("orders", 9), limit=5)
    finally:
        sys.setprofile(None)
    assert [one.partition for one in page] == [orders(number) for number in range(10, 15)]
    assert calls < 3 * 3_000


def test_offsets_of_a_deleted_topic_do_not_apply_to_a_later_one_of_its_name() -> None:
    offsets, topics = fresh(), OfTest()
    committed(offsets, orders(0), 7)
    topics.ids["orders"], topics.counts[GONE] = GONE, 3
    (result,) = offsets.fetch("g", [TopicPartition("orders", b"", 0)], topics)
    assert (result.committed.offset, result.error) == (-1, None)
    assert offsets.fetch_all("g", topics, limit=9) == []


# Deletion and expiry


def test_offsets_are_deleted_but_those_of_subscribed_topics() -> None:
    offsets = fresh()
    for partition in (orders(0), orders(1), tides(0)):
        committed(offsets, partition, 5)
    asked = [orders(0), tides(0), orders(2), orders(9)]
    decision = offsets.delete("g", asked, TOPICS, {"tides"})
    assert refusals(decision) == [
        *("", "GROUP_SUBSCRIBED_TO_TOPIC"),
        *("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    replay(offsets, decision.records)
    assert [fetched(offsets, one) for one in (orders(0), orders(1), tides(0))] == [-1, 5, 5]


def test_a_deleted_group_has_no_offset_and_others_keep_theirs() -> None:
    offsets = fresh()
    committed(offsets, orders(0), 5)
    other = offsets.commit("other", [(orders(0), CommittedOffset(6))], TOPICS, NOW_MS)
    replay(offsets, other.records)
    assert offsets.groups == ["g", "other"]
    replay(offsets, offsets.delete_group("g"))
    assert offsets.groups == ["other"]
    assert fetched(offsets, orders(0), "other") == 6


@pytest.mark.parametrize(
    ("retention", "age_ms", "is_kept"),
    [
        (Retention(RETENTION_MS), RETENTION_MS - 1, True),
        (Retention(RETENTION_MS), RETENTION_MS, False),
        (Retention(RETENTION_MS, subscribed={"orders"}), 9 * RETENTION_MS, True),
        (Retention(RETENTION_MS, subscribed={"tides"}), RETENTION_MS, False),
        (Retention(RETENTION_MS, empty_since_ms=NOW_MS + 5), RETENTION_MS + 4, True),
        (Retention(RETENTION_MS, empty_since_ms=NOW_MS + 5), RETENTION_MS + 5, False),
        (Retention(RETENTION_MS, empty_since_ms=NOW_MS - 5), RETENTION_MS - 1, True),
    ],
)
def test_age_counts_from_the_commit_and_from_the_groups_last_member(
    retention: Retention, age_ms: int, *, is_kept: bool
) -> None:
    offsets = fresh()
    committed(offsets, orders(0), 5)
    replay(offsets, offsets.expire("g", retention, NOW_MS + age_ms))
    assert (fetched(offsets, orders(0)) == 5) is is_kept
    assert offsets.has_offsets("g") is is_kept


@pytest.mark.parametrize(
    ("own_ms", "retention", "age_ms", "is_kept"),
    [
        (50, Retention(RETENTION_MS), 49, True),
        (50, Retention(RETENTION_MS, empty_since_ms=NOW_MS + 40), 50, False),
        (50, Retention(RETENTION_MS, subscribed={"orders"}), 50, True),
        (0, Retention(RETENTION_MS), 0, False),
        (9 * RETENTION_MS, Retention(RETENTION_MS), 9 * RETENTION_MS - 1, True),
        (1 << 62, Retention(RETENTION_MS), 9 * RETENTION_MS, True),
    ],
)
def test_a_retention_of_its_own_counts_from_the_commit_alone(
    own_ms: int, retention: Retention, age_ms: int, *, is_kept: bool
) -> None:
    offsets = fresh()
    said = CommittedOffset(5, retention_ms=own_ms)
    replay(offsets, offsets.commit("g", [(orders(0), said)], TOPICS, NOW_MS).records)
    replay(offsets, offsets.expire("g", retention, NOW_MS + age_ms))
    assert offsets.has_offsets("g") is is_kept


def test_offsets_of_deleted_topics_go() -> None:
    offsets = fresh()
    committed(offsets, orders(0), 5)
    committed(offsets, tides(0), 6)
    replay(offsets, offsets.forget_topics("g", lambda topic_id: topic_id == ORDERS))
    assert [fetched(offsets, one) for one in (orders(0), tides(0))] == [-1, 6]


# Loads

changes = st.lists(
    st.tuples(
        st.sampled_from(["g", "h"]), st.integers(0, 2), st.one_of(st.none(), st.integers(0, 9))
    ),
    max_size=30,
)


def written_by(given_changes: list[tuple[str, int, int | None]]) -> list[CoordinatorRecord]:
    """Records of a history of commits, and of deletions where the offset is None."""
    offsets, written = fresh(), []
    for group_id, partition, offset in given_changes:
        if offset is None:
            records = offsets.delete(group_id, [orders(partition)], TOPICS, ()).records
        else:
            said = [(orders(partition), CommittedOffset(offset))]
            records = offsets.commit(group_id, said, TOPICS, NOW_MS).records
        replay(offsets, records)
        written += records
    return written


def loaded(records: Iterable[CoordinatorRecord]) -> dict[str, list[int]]:
    offsets = fresh()
    replay(offsets, records)
    return {
        group_id: [fetched(offsets, orders(partition), group_id) for partition in range(3)]
        for group_id in offsets.groups
    }


@given(changes, st.data())
def test_every_compacted_subset_of_the_log_loads_to_the_same_state(
    given_changes: list[tuple[str, int, int | None]], data: st.DataObject
) -> None:
    records = written_by(given_changes)
    last = {encode(record).key: at for at, record in enumerate(records)}
    left = [
        record
        for at, record in enumerate(records)
        if last[encode(record).key] == at or data.draw(st.booleans())
    ]
    assert loaded(left) == loaded(records)
