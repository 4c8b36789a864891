"""Response bytes nobody has read: bounded for a node and a connection, waited for, given back."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.net.unread_responses import (
    PROGRESS_BYTES_MIN,
    ROOM_BYTES_MIN,
    UnreadLimits,
    UnreadResponse,
    UnreadResponses,
)

MIB = 1 << 20
TIMEOUT_MS = 1_000


class Clock:
    def __init__(self) -> None:
        self.ms = 0


def responses(
    *, bytes_max: int = 40 * MIB, connection_bytes_max: int = 16 * MIB, clock: Clock | None = None
) -> UnreadResponses:
    limits = UnreadLimits(bytes_max, connection_bytes_max, TIMEOUT_MS)
    of = clock or Clock()
    return UnreadResponses(limits, lambda: of.ms)


def taken(unread: UnreadResponses, owner: str, size_bytes: int) -> UnreadResponse:
    """A response of `size_bytes`, for which there was room."""
    response = unread.begin(owner)
    assert response.grow(size_bytes) == size_bytes
    response.settle(size_bytes)
    response.leave()
    return response


def noting(woken: list[str], owner: str) -> Callable[[], None]:
    return lambda: woken.append(owner)


def test_a_connection_gets_its_own_share_and_half_of_what_is_free() -> None:
    unread = responses()
    assert unread.room("a") == 16 * MIB
    taken(unread, "a", 16 * MIB)
    assert unread.room("a") == 0
    assert unread.room("b") == 12 * MIB, "half of 24"
    taken(unread, "b", 12 * MIB)
    assert unread.room("c") == 6 * MIB


def test_no_number_of_connections_takes_more_than_the_node_has() -> None:
    unread = responses()
    for number in range(300):
        response = unread.begin(str(number))
        response.settle(response.grow(8 * MIB))
    assert unread.size_bytes <= 40 * MIB
    assert unread.size_bytes > 36 * MIB, "nearly all of it can be used"


def test_a_grant_smaller_than_the_least_room_is_none_unless_less_was_asked_for() -> None:
    unread = responses(bytes_max=4 * MIB)
    taken(unread, "a", 2 * MIB)
    taken(unread, "b", MIB)
    assert 0 < unread.room("c") < ROOM_BYTES_MIN
    assert unread.begin("c").grow(8 * MIB) == 0
    assert unread.begin("c").grow(1000) == 1000


def test_room_that_was_not_needed_is_given_back_and_a_larger_batch_counts_as_it_is() -> None:
    unread = responses()
    response = unread.begin("a")
    response.grow(8 * MIB)
    response.settle(100)
    assert unread.size_bytes == 100
    response.settle(3 * MIB)
    assert unread.size_bytes == 3 * MIB
    response.release()
    assert unread.size_bytes == 0
    assert unread.has_room("a")


def test_who_finds_no_room_is_woken_when_there_is_some_one_after_the_other() -> None:
    unread = responses(bytes_max=4 * MIB, connection_bytes_max=2 * MIB)
    first, second = taken(unread, "a", 2 * MIB), taken(unread, "b", MIB)
    woken: list[str] = []
    waiting = {}
    for owner in ("c", "d"):
        waiting[owner] = unread.begin(owner)
        assert waiting[owner].grow(8 * MIB) == 0
        waiting[owner].wait(8 * MIB, noting(woken, owner))
    assert woken == []
    first.release()
    assert woken == ["c"], "one is woken, not the herd"
    waiting["c"].settle(waiting["c"].grow(8 * MIB))
    assert woken == ["c"], "the room is taken"
    second.release()
    assert woken == ["c", "d"]


def test_who_gives_up_while_it_waits_or_after_it_was_woken_hides_the_room_from_nobody() -> None:
    unread = responses(bytes_max=4 * MIB, connection_bytes_max=2 * MIB)
    held = [taken(unread, "a", 2 * MIB), taken(unread, "b", MIB)]
    woken: list[str] = []
    waiting = {}
    for owner in ("c", "d", "e"):
        waiting[owner] = unread.begin(owner)
        waiting[owner].wait(8 * MIB, noting(woken, owner))
    waiting["c"].release()
    held[0].release()
    assert woken == ["d"]
    waiting["d"].release()
    assert woken == ["d", "e"]


def test_a_connection_over_its_share_does_not_block_the_queue() -> None:
    unread = responses(connection_bytes_max=2 * MIB)
    taken(unread, "a", 2 * MIB)
    woken: list[str] = []
    greedy, other = unread.begin("a"), unread.begin("b")
    greedy.wait(MIB, lambda: woken.append("a"))
    other.wait(MIB, lambda: woken.append("b"))
    taken(unread, "c", 1).release()
    assert woken == ["b"]


def test_who_holds_nothing_is_never_refused_and_who_does_is_without_room() -> None:
    unread = responses(bytes_max=4 * MIB, connection_bytes_max=2 * MIB)
    for owner in ("a", "b", "c"):
        unread.hold(owner, 2 * MIB)
    assert unread.has_room("d")
    assert not unread.has_room("a")
    assert unread.is_over("a")
    assert not unread.is_over("d")


def test_a_connection_that_takes_nothing_for_the_time_out_is_told_of_once_it_is_sure() -> None:
    clock = Clock()
    unread = responses(clock=clock)
    taken(unread, "a", MIB)
    assert unread.late_owners() == []
    clock.ms = TIMEOUT_MS // 2
    assert unread.late_owners() == ["a"]
    assert unread.find_stalled({"a": 10}) == [], "seen for the first time"
    clock.ms = TIMEOUT_MS
    assert unread.find_stalled({"a": 9 + PROGRESS_BYTES_MIN}) == ["a"]
    assert unread.hang_ups == 1


def test_a_slow_connection_that_takes_some_is_left_alone() -> None:
    clock = Clock()
    unread = responses(clock=clock)
    taken(unread, "a", 8 * MIB)
    for step in range(1, 50):
        clock.ms = step * TIMEOUT_MS // 2
        assert unread.late_owners() == ["a"]
        assert unread.find_stalled({"a": step * PROGRESS_BYTES_MIN}) == []


def test_one_whose_old_response_was_taken_begins_anew() -> None:
    clock = Clock()
    unread = responses(clock=clock)
    old = taken(unread, "a", MIB)
    clock.ms = TIMEOUT_MS // 2
    unread.late_owners()
    unread.find_stalled({"a": 10})
    old.release()
    taken(unread, "a", MIB)
    clock.ms = TIMEOUT_MS
    assert unread.late_owners() == ["a"]
    assert unread.find_stalled({"a": 10}) == []


def test_replicas_have_a_share_each_whatever_the_others_hold() -> None:
    limits = UnreadLimits(40 * MIB, 16 * MIB, TIMEOUT_MS).of_replicas(4 * MIB)
    unread = UnreadResponses(limits, lambda: 0)
    for number in range(100):
        taken(unread, str(number), 4 * MIB)
    assert unread.room("100") == 4 * MIB
    assert unread.room("0") == 0
