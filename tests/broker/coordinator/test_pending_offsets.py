"""Offsets in transactions: pending until the marker, equal to a model, live and loaded again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.coordinator.consumer_groups import joining
from tests.broker.coordinator.test_group_shard import CONFIG, MINUTE_MS, Shards
from tests.broker.coordinator.test_offsets import NOW_MS, TOPICS, fresh, orders
from tests.log.cleaned_logs import Cleaned, but
from tests.virtual_loop import run_virtual

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.offset_records import offset_tombstone
from tidelog.broker.coordinator.offsets import CommittedOffset, TopicPartition
from tidelog.broker.coordinator.record_batches import encode_batches
from tidelog.broker.coordinator.slice_replay import replay_slice
from tidelog.broker.partition.partition_loader import PartitionSlice
from tidelog.broker.partition_adder import Producer
from tidelog.core.errors import NonEmptyGroupError, TidelogError, code_name
from tidelog.records.batch import iter_batches, parse_header
from tidelog.records.records import ControlMarker, encode_marker
from tidelog.simulation.mutants.transactions import ALL

PARTITIONS = 3
PRODUCERS = (5, 6, 7)


@dataclass
class Row:
    """A record of one partition's offset, in the log's order."""

    partition: int
    offset: int | None
    """None: a deletion."""
    transaction: tuple[int, int] | None = None
    """Producer id, and the number of its transaction."""


@dataclass
class Model:
    """What the log says, by its definition alone."""

    rows: list[Row] = field(default_factory=list)
    outcomes: dict[tuple[int, int], bool] = field(default_factory=dict)

    def committed(self, partition: int) -> int:
        """The newest record that is in no transaction, or in one that was committed."""
        for row in reversed(self.rows):
            decided = row.transaction is None or self.outcomes.get(row.transaction, False)
            if row.partition == partition and decided:
                return -1 if row.offset is None else row.offset
        return -1

    def is_unstable(self, partition: int) -> bool:
        """True if the end of an open transaction may change it."""
        for row in reversed(self.rows):
            if row.partition != partition:
                continue
            if row.transaction is None or self.outcomes.get(row.transaction, False):
                return False
            if row.transaction not in self.outcomes:
                return True
        return False


class Machine:
    """A live shard with its log, beside the model."""

    def __init__(self) -> None:
        self.shards = Shards(GroupConfig())
        self.shard = self.shards.shard
        self.log: list[bytes] = []
        self.first_dirty_offset = 0
        self.end = 0
        self.model = Model()
        self.numbers = dict.fromkeys(PRODUCERS, 0)

    def write(self, batch: bytes) -> None:
        self.log.append(but(batch, base_offset=self.end))
        self.end += parse_header(batch).records_count

    def commit(self, partition: int, offset: int, producer_id: int | None = None) -> None:
        asked = TopicPartition("orders", b"", partition)
        decision = self.shard.commit(
            "g",
            Committer(),
            [(asked, CommittedOffset(offset))],
            self.shards.now,
            producer_id=producer_id,
        )
        assert not decision.results[0].error
        transaction = None
        for record in decision.records:
            if producer_id is None:
                self.shard.replay(record)
            else:
                self.shard.replay_pending(record, producer_id)
                transaction = (producer_id, self.numbers[producer_id])
        producer = None if producer_id is None else Producer(producer_id, 0)
        self.write(*encode_batches(decision.records, 1, producer))
        self.model.rows.append(Row(partition, offset, transaction))

    def delete(self, partition: int) -> None:
        topic_id = self.shards.topics.topic_id("orders")
        assert topic_id
        record = offset_tombstone("g", topic_id, partition)
        self.shard.replay(record)
        self.write(*encode_batches([record], 1))
        self.model.rows.append(Row(partition, None))

    def end_of(self, producer_id: int, *, is_commit: bool) -> None:
        self.shard.replay_end(producer_id, is_commit=is_commit)
        marker = ControlMarker(is_commit, 0)
        self.write(encode_marker(marker, producer_id=producer_id, producer_epoch=1, timestamp_ms=1))
        self.model.outcomes[producer_id, self.numbers[producer_id]] = is_commit
        self.numbers[producer_id] += 1

    def compact(self, end: int, now_ms: int) -> None:
        cleaned = Cleaned(self.log, self.first_dirty_offset).clean(end=end, now_ms=now_ms)
        self.log, self.first_dirty_offset = cleaned.batches, cleaned.first_dirty_offset

    def reload(self, cuts: Random) -> None:
        self.shard = self.shards.loaded([], leader_epoch=2)
        load(self.shard, self.log, cuts)

    def check(self) -> None:
        asked = [TopicPartition("orders", b"", one) for one in range(PARTITIONS)]
        plain = self.shard.fetch("g", Committer(), asked)
        assert [one.error for one in plain] == [None] * PARTITIONS
        expected = [self.model.committed(one) for one in range(PARTITIONS)]
        assert [one.committed.offset for one in plain] == expected
        stable = self.shard.fetch("g", Committer(), asked, require_stable=True)
        assert [bool(one.error) for one in stable] == [
            self.model.is_unstable(one) for one in range(PARTITIONS)
        ]
        pages = self.shard.fetch_all("g", Committer(), after=("", -1), limit=9, require_stable=True)
        assert {one.partition.partition: bool(one.error) for one in pages} == {
            one: self.model.is_unstable(one)
            for one in range(PARTITIONS)
            if expected[one] >= 0 or self.model.is_unstable(one)
        }
        assert self.shard.exists("g") == any(one >= 0 for one in expected)


def load(shard: GroupShard, log: Sequence[bytes], cuts: Random) -> None:
    """Load a log in slices of some batches each."""
    at = 0
    while at < len(log):
        some = log[at : at + cuts.randint(1, 4)]
        at += len(some)
        start, end = parse_header(some[0]).base_offset, parse_header(some[-1]).next_offset
        run_virtual(replay_slice(shard, PartitionSlice(start, end, b"".join(some))))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_a_shard_equals_the_model_live_and_loaded_from_any_compacted_log(seed: int) -> None:
    random, machine = Random(seed), Machine()
    for step in range(40):
        partition, producer_id = random.randrange(PARTITIONS), random.choice(PRODUCERS)
        match random.choice("pptttmmdcr"):
            case "p":
                machine.commit(partition, step)
            case "t":
                machine.commit(partition, step, producer_id)
            case "m":
                machine.end_of(producer_id, is_commit=random.random() < 0.6)
            case "d":
                machine.delete(partition)
            case "c":
                machine.compact(random.randint(0, machine.end), random.choice([0, 10**6]))
            case "r":
                machine.reload(random)
        machine.check()
    machine.reload(random)
    machine.check()
    for producer_id in PRODUCERS:
        machine.end_of(producer_id, is_commit=True)
        machine.check()
    assert not machine.shard.offsets.pending
    assert machine.shard.offsets.pending.state_bytes == 0


def test_the_mutant_whose_look_ups_do_not_wait_is_noticed() -> None:
    machine = Machine()
    machine.commit(0, 1)
    machine.commit(0, 2, 5)
    machine.check()
    with ALL["pending_offsets_ignored"].applied(), pytest.raises(AssertionError):
        machine.check()


def test_the_log_of_a_model_has_transactions_of_several_producers() -> None:
    machine = Machine()
    machine.commit(0, 1, 5)
    machine.commit(0, 2, 6)
    batches = [header for one in machine.log for header, _ in iter_batches(one)]
    assert [(one.producer_id, one.base_offset) for one in batches] == [(5, 0), (6, 1)]


def pend(shards: Shards, partition: int, offset: int = 7, *, producer_id: int = 5) -> list[str]:
    """Commit in a transaction; the names of the errors."""
    asked = (TopicPartition("orders", b"", partition), CommittedOffset(offset))
    decision = shards.shard.commit("g", Committer(), [asked], shards.now, producer_id=producer_id)
    for record in decision.records:
        shards.shard.replay_pending(record, producer_id)
    return [code_name(one.error.code) if one.error else "" for one in decision.results]


def test_an_aborted_offset_was_never_committed() -> None:
    shards = Shards()
    shards.commit(0, offset=3)
    pend(shards, 0)
    shards.shard.replay_end(5, is_commit=False)
    (found,) = shards.shard.fetch("g", Committer(), [TopicPartition("orders", b"", 0)])
    assert found.committed.offset == 3


def test_nothing_shows_a_group_of_which_all_is_pending_and_nobody_deletes_it() -> None:
    shards = Shards()
    pend(shards, 0)
    shard = shards.shard
    assert not shard.group_ids
    assert not shard.exists("g")
    assert not list(shard.offsets.held_by("g"))
    assert not shard.retain("g", shards.now)
    shards.commit(1)
    with pytest.raises(NonEmptyGroupError, match="open transaction"):
        shard.delete_group("g")
    shard.replay_end(5, is_commit=False)
    assert shard.delete_group("g")


def test_an_offset_does_not_expire_while_a_transaction_is_about_to_replace_it() -> None:
    shards = Shards()
    shards.commit(0)
    shards.commit(1)
    pend(shards, 0)
    shards.now_ms += 10 * MINUTE_MS
    expired = [one.key.offset_commit.partition for one in shards.shard.retain("g", shards.now)]
    assert expired == [1]
    shards.shard.replay_end(5, is_commit=False)
    assert len(shards.shard.retain("g", shards.now)) == 2


def test_pending_offsets_of_a_deleted_topic_are_forgotten_with_the_others() -> None:
    shards = Shards()
    pend(shards, 0)
    assert not shards.shard.forget_topics("g")
    shards.topics.counts.clear()
    shards.topics.ids.clear()
    records: list[CoordinatorRecord] = shards.shard.forget_topics("g")
    assert shards.shard.committing_ids == ["g"]
    for record in records:
        shards.shard.replay(record)
    shards.shard.replay_end(5, is_commit=True)
    assert not shards.shard.committing_ids


def test_a_groups_pending_offsets_count_among_those_it_may_have() -> None:
    shards = Shards()
    assert CONFIG.group_offsets_max == 3
    assert pend(shards, 0) == [""]
    assert pend(shards, 0, producer_id=6) == [""]
    assert pend(shards, 1) == [""]
    assert shards.commit(2) == ["NONE"]
    assert shards.commit(3) == ["INVALID_REQUEST"]
    assert pend(shards, 3) == ["INVALID_REQUEST"]
    assert shards.commit(0) == ["NONE"]


def test_only_so_many_offsets_are_pending() -> None:
    offsets = fresh()
    asked = [(orders(one), CommittedOffset(1)) for one in range(3)]
    decision = offsets.commit("g", asked, TOPICS, NOW_MS, producer_id=5, pending_max=2)
    codes = [one.error and code_name(one.error.code) for one in decision.results]
    assert codes == [None, None, "THROTTLING_QUOTA_EXCEEDED"]
    assert not offsets.commit("g", asked, TOPICS, NOW_MS, pending_max=0).results[2].error


@pytest.mark.parametrize(
    ("committer", "code"),
    [
        (Committer(), ""),
        (Committer("stranger", 1), "UNKNOWN_MEMBER_ID"),
        (Committer("m", 0), "STALE_MEMBER_EPOCH"),
        (Committer("m", -1), "STALE_MEMBER_EPOCH"),
        (Committer("m", 99), "STALE_MEMBER_EPOCH"),
    ],
)
def test_the_epoch_of_a_member_is_checked_in_a_transaction(committer: Committer, code: str) -> None:
    shards = Shards()
    shards.ask(joining("m"))
    try:
        shards.shard.check_committer("g", committer, shards.now, is_transactional=True)
        found = ""
    except TidelogError as error:
        found = code_name(error.code)
    assert found == code


def test_the_mutant_that_compares_no_members_is_noticed() -> None:
    with ALL["members_not_compared"].applied(), pytest.raises(AssertionError):
        test_the_epoch_of_a_member_is_checked_in_a_transaction(
            Committer("m", 0), "STALE_MEMBER_EPOCH"
        )
