"""Time-outs, markers and expiry of the ids of a partition; another coordinator at each state."""

from __future__ import annotations

import pytest
from tests.broker.transactions.coordinated_ids import P0, P1, TIMEOUT_MS, CoordinatedIds, refusal

from tidelog.broker.partition_adder import Producer
from tidelog.broker.transactions.transaction import (
    EPOCH_LAST,
    GROWTH_BYTES_MAX,
    State,
    Transaction,
)
from tidelog.simulation.mutants.transactions import ALL

DAY_MS = 86_400_000


@pytest.fixture
def ids() -> CoordinatedIds:
    return CoordinatedIds()


def test_an_open_transaction_is_aborted_after_its_time_out(ids: CoordinatedIds) -> None:
    producer = ids.begun()
    assert ids.tick() == []
    ids.pass_ms(TIMEOUT_MS - 1)
    ids.add(producer, P1)  # no new time
    assert ids.tick() == []
    ids.pass_ms(1)
    assert ids.tick() == ["a"]
    assert ids.state() is State.PrepareAbort
    assert ids.tick() == []


def test_a_commit_that_meets_a_time_outs_abort_is_refused_and_an_abort_goes_on(
    ids: CoordinatedIds,
) -> None:
    producer = ids.begun()
    ids.tick()
    ids.pass_ms(TIMEOUT_MS)
    ids.tick()
    for _ in range(2):
        assert refusal(lambda: ids.end(producer)) == "ProducerFenced"
        assert refusal(lambda: ids.add(producer)) == "InvalidProducerEpoch"
        assert ids.end(producer, is_commit=False) == Producer(100, 1)
        ids.complete()
    assert ids.init(expected=producer) == Producer(100, 1)
    ids.add(Producer(100, 1))


def test_a_time_out_never_ends_what_is_decided(ids: CoordinatedIds) -> None:
    ids.begun("open")
    producer = ids.begun()
    ids.tick()
    ids.end(producer)
    ids.pass_ms(10 * TIMEOUT_MS)
    assert ids.tick() == ["open"]
    assert ids.shard.abort("a", iter(()), ids.now) == []
    assert ids.state() is State.PrepareCommit


def test_the_time_counts_from_the_recorded_start_however_often_the_coordinator_moves(
    ids: CoordinatedIds,
) -> None:
    ids.begun()
    for _ in range(4):
        ids.pass_ms(TIMEOUT_MS // 4 - 1)
        ids.move()
        assert ids.tick() == []
    ids.pass_ms(3)
    assert ids.tick() == []
    ids.pass_ms(1)
    assert ids.tick() == ["a"]


def test_a_transaction_whose_time_was_over_before_a_load_is_aborted_at_the_first_look(
    ids: CoordinatedIds,
) -> None:
    ids.begun()
    ids.pass_ms(TIMEOUT_MS)
    ids.move()
    assert ids.tick() == ["a"]


def test_a_wall_clock_that_jumps_changes_no_time_of_a_coordinator_that_stays(
    ids: CoordinatedIds,
) -> None:
    ids.begun()
    ids.tick()
    ids.now = ids.now._replace(wall_ms=ids.now.wall_ms + DAY_MS)
    ids.pass_ms(TIMEOUT_MS - 1)
    assert ids.tick() == []


def test_a_next_coordinator_whose_wall_clock_is_behind_gives_the_whole_time_and_no_more(
    ids: CoordinatedIds,
) -> None:
    ids.begun()
    ids.now = ids.now._replace(wall_ms=ids.now.wall_ms - DAY_MS)
    ids.move()
    assert ids.tick() == []
    ids.pass_ms(TIMEOUT_MS)
    assert ids.tick() == ["a"]


def test_the_mutant_whose_times_begin_with_the_coordinator_is_noticed(ids: CoordinatedIds) -> None:
    with ALL["time_begins_with_the_coordinator"].applied(), pytest.raises(AssertionError):
        test_the_time_counts_from_the_recorded_start_however_often_the_coordinator_moves(ids)


def test_each_transaction_has_a_time_of_its_own(ids: CoordinatedIds) -> None:
    producer = ids.begun()
    ids.tick()
    ids.pass_ms(TIMEOUT_MS - 1)
    after = ids.end(producer)
    ids.complete()
    ids.add(after)
    ids.tick()
    ids.pass_ms(TIMEOUT_MS - 1)
    assert ids.tick() == []


def test_a_time_out_at_the_last_epoch_gives_another_id(ids: CoordinatedIds) -> None:
    producer = Producer(7, EPOCH_LAST)
    ids.write([Transaction("a", producer, timeout_ms=9, update_ms=1).record()])
    ids.add(producer)
    ids.tick()
    ids.pass_ms(9)
    assert ids.tick() == ["a"]
    ids.complete()
    assert ids.shard.transactions["a"].producer == Producer(100, 0)


def test_a_transaction_is_complete_once_each_partition_has_its_marker(ids: CoordinatedIds) -> None:
    ids.end(ids.begun("a", P0, P1))
    [attempt] = ids.shard.prepared
    assert attempt.coordinator_epoch == 5
    assert ids.shard.unmarked(attempt) == [P0, P1]
    ids.mark(attempt, P0)
    assert ids.state() is State.PrepareCommit
    ids.mark(attempt, P0)
    assert ids.shard.unmarked(attempt) == [P1]
    ids.mark(attempt, P1)
    assert ids.state() is State.CompleteCommit
    assert ids.shard.prepared == []


def test_answers_to_another_attempt_change_nothing(ids: CoordinatedIds) -> None:
    after = ids.end(ids.begun())
    [first] = ids.shard.prepared
    ids.move()
    ids.mark(first, P0)
    assert ids.state() is State.PrepareCommit
    [second] = ids.shard.prepared
    assert second == first._replace(coordinator_epoch=6)
    assert ids.shard.unmarked(first) == []
    ids.mark(second, P0)
    ids.add(after)
    ids.end(after, is_commit=False)
    ids.mark(second, P0)
    assert ids.state() is State.PrepareAbort
    ids.mark(second._replace(transactional_id="unknown"), P0)


def test_the_coordinator_may_move_at_each_state(ids: CoordinatedIds) -> None:
    seen: list[State] = []

    def moved() -> None:
        before = dict(ids.shard.transactions)
        ids.move()
        assert ids.shard.transactions == before
        seen.append(ids.state())

    producer = ids.init()
    moved()
    for is_commit in (True, False):
        ids.add(producer, P0, P1)
        moved()
        producer = ids.end(producer, is_commit=is_commit)
        moved()
        [attempt] = ids.shard.prepared
        ids.mark(attempt, P0)
        moved()
        [attempt] = ids.shard.prepared
        # The markers of both are written again, in the new coordinator's epoch.
        assert ids.shard.unmarked(attempt) == [P0, P1]
        assert attempt.coordinator_epoch == ids.epoch
        ids.mark(attempt, P0, P1)
        moved()
    assert set(seen) == set(State) - {State.Dead, State.PrepareEpochFence}


def test_only_idle_ids_expire(ids: CoordinatedIds) -> None:
    ids.init("empty")
    ids.begun("open")
    ids.end(ids.begun("prepared"), name="prepared")
    ids.begun("complete")
    ids.end(ids.shard.transactions["complete"].producer, name="complete")
    [attempt] = [one for one in ids.shard.prepared if one.transactional_id == "complete"]
    ids.mark(attempt, P0)

    def expire() -> None:
        for name in list(ids.shard.transactions):
            ids.write(ids.shard.expire(name, ids.now))

    ids.pass_ms(7 * DAY_MS - 1)
    expire()
    assert len(ids.shard.transactions) == 4
    ids.pass_ms(1)
    expire()
    assert sorted(ids.shard.transactions) == ["open", "prepared"]
    ids.move()
    assert sorted(ids.shard.transactions) == ["open", "prepared"]
    assert ids.shard.expire("gone", ids.now) == []
    assert ids.init("empty").epoch == 0


@pytest.mark.parametrize("epoch", [0, 127, EPOCH_LAST])
def test_no_decision_is_larger_than_the_room_that_is_left_for_it(epoch: int) -> None:
    largest = 2**63 - 1
    idle = Transaction("a", Producer(largest, epoch), timeout_ms=2**31 - 1, update_ms=largest)
    added = idle.add(iter([P0, P1]), now_ms=largest)
    decided = [
        added.prepare(iter([largest]), is_commit=True, now_ms=largest),
        added.prepare(iter([largest]), is_commit=False, now_ms=largest),
        added.fence(iter([largest]), now_ms=largest, is_final=False),
    ]
    followed = [one.complete(now_ms=largest) for one in decided]

    def size(one: Transaction) -> int:
        value = one.record().value
        return 0 if value is None else value.ByteSize()

    growth = max(size(one) - size(added) for one in (*decided, *followed))
    assert 0 < growth <= GROWTH_BYTES_MAX
