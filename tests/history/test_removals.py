"""Topics that lose records: what may be gone and what must be there, by the history alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tidelog.history.checks.delivery import complaints
from tidelog.history.history import Deletion, History, Keeping, Outcome, Parts, Poll, Send
from tidelog.history.history_lines import from_lines, to_lines

WALL_S, NOW_S = 1_000_000.0, 100.0
HOUR_MS = 3_600_000


def a_send(number: int, key: bytes | None = None, **fields: object) -> Send:
    """The nth record, acknowledged at the offset of its number; its timestamp is the time."""
    parts = Parts(key=key, timestamp_ms=int((WALL_S + number) * 1000))
    send = Send("p", number, "t", 0, 0, b"%d" % number, -1, True, number, "ok", number + 0.5)
    return replace(send, offset=number, parts=parts, **fields)


def final(sends: list[Send], *offsets: int, start: int = 0, **fields: object) -> Poll:
    """The final poll shows these offsets of them."""
    shown = [sends[offset] for offset in offsets]
    poll = Poll(
        process="last",
        number=1_000,
        topic="t",
        incarnation=0,
        partition=0,
        invoked_s=NOW_S,
        ended_s=NOW_S + 1,
        position=start,
        records=tuple((one.offset or 0, one.value) for one in shown),
        is_final=True,
        end=len(sends),
        parts=tuple(one.parts or Parts() for one in shown),
    )
    return replace(poll, **fields)


def kinds(history: History) -> set[str]:
    history.wall_s = WALL_S
    read = from_lines(to_lines(history))
    assert read == history
    return {one.kind for one in complaints(read)}


def a_deletion(before: int, outcome: Outcome = "ok", **fields: object) -> Deletion:
    deletion = Deletion("a", 500, "t", 0, 0, before, 50.0, outcome, 51.0, offset=before)
    return replace(deletion, **fields)


LOST = {"lost-write"}


@pytest.mark.parametrize(
    ("deletion", "found"),
    [
        (a_deletion(3), set[str]()),
        (a_deletion(3, "unknown", offset=None), set[str]()),
        (a_deletion(2), LOST),
        (a_deletion(3, "fail", offset=None), LOST),
        (a_deletion(3, invoked_s=NOW_S + 2, ended_s=NOW_S + 3), LOST),
    ],
)
def test_only_what_lies_below_a_deletion_may_be_gone(deletion: Deletion, found: set[str]) -> None:
    sends = [a_send(number) for number in range(5)]
    history = History(sends=sends, polls=[final(sends, 3, 4, start=3)], deletions=[deletion])

    assert kinds(history) == found


def test_nothing_is_served_below_a_log_start_that_was_acknowledged() -> None:
    sends = [a_send(number) for number in range(5)]
    history = History(sends=sends, polls=[final(sends, *range(5))], deletions=[a_deletion(3)])

    assert kinds(history) == {"undeleted"}


@pytest.mark.parametrize(
    ("named_ms", "found"),
    [
        (int((WALL_S + NOW_S) * 1000) - HOUR_MS - 10_000, set[str]()),
        (int((WALL_S + NOW_S) * 1000) - HOUR_MS + 10_000, LOST),
        (None, LOST),
        (-1, LOST),
    ],
)
def test_what_is_within_its_retention_must_be_there(named_ms: int | None, found: set[str]) -> None:
    sends = [a_send(number) for number in range(3)]
    sends[0].parts = Parts(timestamp_ms=named_ms)
    keeping = {"t": Keeping(retention_ms=HOUR_MS, skew_ms=1_000)}
    history = History(sends=sends, polls=[final(sends, 1, 2, start=1)], keeping=keeping)

    assert kinds(history) == found


@pytest.mark.parametrize(
    ("expired", "found"), [({1}, set[str]()), ({3}, set[str]()), (set[int](), LOST)]
)
def test_a_record_without_a_timestamp_may_go_with_the_nearest_that_has_one(
    expired: set[int], found: set[str]
) -> None:
    """The newest timestamp of a segment is its age, as in Kafka."""
    sends = [a_send(number) for number in range(5)]
    for number in expired:
        sends[number].parts = Parts(timestamp_ms=0)
    sends[2].parts = Parts(timestamp_ms=-1)
    keeping = {"t": Keeping(retention_ms=HOUR_MS, skew_ms=1_000)}
    shown = {0, 1, 3, 4} - expired
    history = History(sends=sends, polls=[final(sends, *sorted(shown))], keeping=keeping)

    assert kinds(history) & LOST == found


def test_what_fits_into_the_retained_bytes_must_be_there() -> None:
    sends = [a_send(number) for number in range(10)]
    lost = final(sends, *range(6, 10), start=6)

    for retained, found in ((10_000, LOST), (300, set[str]())):
        keeping = {"t": Keeping(retention_bytes=retained)}
        assert kinds(History(sends=sends, polls=[lost], keeping=keeping)) == found


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ((2, 3, 4), set[str]()),
        ((0, 1, 2, 3, 4), set[str]()),
        ((2, 4), {"lost-write", "poll-skip"}),
        ((3, 4), {"lost-write", "poll-skip"}),
    ],
)
def test_the_newest_of_each_key_must_be_there(shown: tuple[int, ...], found: set[str]) -> None:
    keys = [b"a", b"a", b"b", b"c", b"a"]
    sends = [a_send(number, key) for number, key in enumerate(keys)]
    keeping = {"t": Keeping(is_compacted=True)}

    assert kinds(History(sends=sends, polls=[final(sends, *shown)], keeping=keeping)) == found


def test_a_record_is_not_there_when_the_tombstone_that_removed_it_had_gone() -> None:
    sends = [a_send(number, key) for number, key in enumerate([b"a", b"b", b"a", b"c"])]
    sends[2].parts = Parts(key=b"a", is_null=True)
    before = final(sends, 0, 1, 3, process="before", invoked_s=90, ended_s=91, is_final=False)
    keeping = {"t": Keeping(is_compacted=True)}

    gone = History(sends=sends, polls=[before, final(sends, 1, 3)], keeping=keeping)
    back = History(sends=sends, polls=[before, final(sends, 0, 1, 3)], keeping=keeping)

    assert kinds(gone) == set()
    assert kinds(back) == {"resurrected"}


def test_without_rules_and_deletions_every_record_must_be_there() -> None:
    sends = [a_send(number, b"a") for number in range(3)]

    assert kinds(History(sends=sends, polls=[final(sends, 1, 2)])) == {"lost-write", "poll-skip"}
