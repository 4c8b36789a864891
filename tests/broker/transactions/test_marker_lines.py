"""Markers that cannot be written now delay no others, however many they are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio
from tests.broker.transactions.coordinated_ids import P0, P1

from tidelog.broker.partition_adder import Producer, Topic, TransactionPartition
from tidelog.broker.transactions import marker_lines
from tidelog.broker.transactions.marker_lines import (
    BACKOFF_S_MAX,
    BACKOFF_S_MIN,
    MARKERS_PER_REQUEST,
    Lane,
    Marker,
    MarkerLines,
    Place,
)
from tidelog.broker.transactions.marker_sender import MarkerSender
from tidelog.broker.transactions.transaction_shard import Attempt
from tidelog.core.background import Background
from tidelog.core.errors import NotEnoughReplicasError, TidelogError, UnreachableError
from tidelog.core.turns import PER_TURN

STUCK, HEALTHY = Topic(b"s" * 16, "stuck"), Topic(b"h" * 16, "healthy")
COMMIT_WAIT_S = 4.0


def attempt(number: int) -> Attempt:
    return Attempt(f"id-{number}", Producer(number, 1), is_commit=True, coordinator_epoch=0)


A, B, C = map(attempt, range(3))


def lined_up(*markers: Marker) -> MarkerLines:
    lines = MarkerLines()
    for marker in markers:
        lines.begin(marker.attempt)
        lines.add(marker)
    return lines


def route(lines: MarkerLines, now_s: float = 0.0) -> None:
    while (partition := lines.next_due(now_s)) is not None:
        lines.enter(partition, 1)


def take(lines: MarkerLines, *, has_failed: bool = False) -> list[Marker]:
    return lines.take(Lane(1, has_failed), lambda _: 1)


def test_a_refused_marker_goes_to_the_end_and_its_partition_to_a_lane_of_its_own() -> None:
    lines = lined_up(Marker(A, P0), Marker(B, P0), Marker(C, P1))
    route(lines)
    assert take(lines) == [Marker(A, P0), Marker(B, P0), Marker(C, P1)]
    lines.note(P0, written=[], refused=[A, B], now_s=0.0)
    lines.note(P1, written=[C], refused=[], now_s=0.0)
    route(lines)
    assert lines.lanes == []
    assert lines.next_s == BACKOFF_S_MIN
    lines.add(Marker(C, P0))
    route(lines, BACKOFF_S_MIN)
    assert lines.lanes == [Lane(1, has_failed=True)]
    assert take(lines, has_failed=True) == [Marker(A, P0), Marker(B, P0), Marker(C, P0)]
    lines.note(P0, written=[B], refused=[A, C], now_s=1.0)
    assert lines.next_s == 1.0 + BACKOFF_S_MIN, "one was written: it works again"
    route(lines, 2.0)
    assert take(lines, has_failed=True) == [Marker(A, P0), Marker(C, P0)]
    lines.note(P0, written=[A, C], refused=[], now_s=2.0)
    assert lines.next_due(9.0) is None


def test_a_partition_that_is_refused_again_and_again_waits_longer_each_time_up_to_a_bound() -> None:
    lines, waits, now_s = lined_up(Marker(A, P0)), [], 0.0
    for _ in range(10):
        assert lines.next_due(now_s) == P0
        lines.put_off(P0, now_s)
        assert lines.next_s is not None
        waits.append(lines.next_s - now_s)
        assert lines.next_due(lines.next_s - 0.001) is None
        now_s = lines.next_s
    assert waits[0] == pytest.approx(BACKOFF_S_MIN)
    assert waits[1] == pytest.approx(2 * BACKOFF_S_MIN)
    assert waits[-1] == pytest.approx(BACKOFF_S_MAX)


def test_an_attempt_that_ended_is_sent_no_more() -> None:
    lines = lined_up(Marker(A, P0), Marker(B, P0), Marker(A, P1))
    lines.end(A)
    route(lines)
    assert take(lines) == [Marker(B, P0)]
    assert len(lines) == 1
    lines.end(B)
    lines.note(P0, written=[], refused=[B], now_s=0.0)
    assert lines.next_due(9.0) is None


def test_a_partition_that_moved_before_its_request_goes_to_its_new_leader() -> None:
    lines = lined_up(Marker(A, P0), Marker(B, P1))
    route(lines)
    assert lines.take(Lane(1, has_failed=False), {P0: 2, P1: 1}.__getitem__) == [Marker(B, P1)]
    assert lines.next_due(0.0) == P0


def test_a_long_line_takes_several_requests_and_others_come_in_between() -> None:
    many = [Marker(attempt(number), P0) for number in range(MARKERS_PER_REQUEST + 1)]
    lines = lined_up(*many, Marker(A, P1))
    route(lines)
    assert take(lines) == many[:MARKERS_PER_REQUEST]
    lines.note(
        P0, written=[one.attempt for one in many[:MARKERS_PER_REQUEST]], refused=[], now_s=0.0
    )
    route(lines)
    assert take(lines) == [Marker(A, P1), many[-1]]


class Brokers:
    """Shard and brokers: of topic `stuck` every marker is refused, or not committed in time."""

    def __init__(self) -> None:
        self.lacking: dict[Attempt, set[TransactionPartition]] = {}
        self.sent: Counter[str] = Counter()
        self.is_slow = False
        """The refusals come after the in-sync replicas were waited for."""
        self.dead: set[int] = set()
        self.leaders: dict[TransactionPartition, int | Place] = {}
        self.fatal: list[BaseException] = []
        self.background = Background(self.fatal.append)
        self.sender = MarkerSender(
            writer=self,
            work=self,
            leader_of=lambda one: self.leaders.get(one, 1),
            background=self.background,
        )

    def decide(self, one: Attempt, *partitions: TransactionPartition) -> None:
        self.lacking[one] = set(partitions)
        self.sender.send(one)

    def unmarked(self, attempt: Attempt) -> Sequence[TransactionPartition]:
        return sorted(self.lacking.get(attempt, ()))

    def note_marked(self, attempt: Attempt, partitions: Sequence[TransactionPartition]) -> None:
        if attempt in self.lacking:
            self.lacking[attempt] -= set(partitions)
            if not self.lacking[attempt]:
                del self.lacking[attempt]

    async def write(
        self, broker_id: int, markers: Sequence[Marker]
    ) -> Sequence[TidelogError | None]:
        if broker_id in self.dead:
            raise UnreachableError("dead")
        self.sent.update(one.partition.topic.name for one in markers)
        is_stuck = any(one.partition.topic is STUCK for one in markers)
        await asyncio.sleep(COMMIT_WAIT_S if is_stuck and self.is_slow else 0.002)
        refusal = NotEnoughReplicasError("2 of 3 in sync")
        return [refusal if one.partition.topic is STUCK else None for one in markers]


@pytest_asyncio.fixture
async def brokers() -> AsyncIterator[Brokers]:
    made = Brokers()
    yield made
    await made.background.stop()
    assert made.fatal == []


@pytest.mark.asyncio
@pytest.mark.parametrize("is_slow", [False, True])
async def test_many_markers_that_are_not_written_do_not_starve_healthy_transactions(
    brokers: Brokers, is_slow: bool
) -> None:
    brokers.is_slow = is_slow
    stuck = [TransactionPartition(STUCK, number) for number in range(2 * MARKERS_PER_REQUEST)]
    brokers.decide(attempt(0), *stuck)
    await asyncio.sleep(3 * COMMIT_WAIT_S if is_slow else 0.1)
    healthy = [attempt(number) for number in range(1, 21)]
    for one in healthy:
        brokers.decide(one, TransactionPartition(HEALTHY, 0))
    await asyncio.sleep(0.05)
    assert list(brokers.lacking) == [attempt(0)]
    brokers.sent.clear()
    await asyncio.sleep(10 * BACKOFF_S_MAX)
    assert brokers.sent["stuck"] <= 11 * len(stuck), "no more than once in BACKOFF_S_MAX each"
    assert brokers.sent["stuck"] >= len(stuck)


@pytest.mark.asyncio
async def test_markers_queued_at_a_dead_broker_go_to_the_next_leader(brokers: Brokers) -> None:
    """More of them than fit into a request: those that wait are not tried at the dead one first."""
    brokers.dead = {1}
    many = [TransactionPartition(HEALTHY, number) for number in range(5 * MARKERS_PER_REQUEST)]
    brokers.decide(attempt(0), *many)
    await asyncio.sleep(5 * BACKOFF_S_MAX)
    brokers.leaders = dict.fromkeys(many, 2)
    await asyncio.sleep(2 * BACKOFF_S_MAX)
    assert brokers.lacking == {}
    assert len(brokers.sender) == 0


@pytest.mark.asyncio
async def test_each_step_looks_at_few_partitions_of_many(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of deleted topics, each of whose transactions is completed by a record."""
    looks: list[int] = [0]

    def look(_: object) -> Place:
        looks[-1] += 1
        return Place.GONE

    monkeypatch.setattr(brokers.sender, "_leader_of", look)
    monkeypatch.setattr(marker_lines, "BACKOFF_S_MIN", 0.0)
    for number in range(20 * PER_TURN):
        brokers.decide(attempt(number), TransactionPartition(STUCK, number))
    while brokers.lacking:
        looks.append(0)
        await asyncio.sleep(0)
    assert max(looks) <= PER_TURN
    assert sum(looks) == 20 * PER_TURN
