"""Each rule of groups finds its anomaly; a right group has no complaints; old files are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.history.group_histories import GROUP_KINDS, GroupHistoryMaker, spoil_group

from tidelog.history.checks.delivery import complaints, counts
from tidelog.history.history import Assignment, Change, Commit, Committed, History, Poll
from tidelog.history.history_file import HistoryWriter, read_history
from tidelog.history.history_lines import HistoryFormatError, from_lines, to_lines

SEEDS = range(60)


def a_change(change: Change, number: int, **fields: object) -> Assignment:
    """Something that comes to member a at epoch 3, or goes, in second `number`."""
    plain = Assignment("a", number, "g", "id-a", 3, "t", 0, 0, float(number), change)
    return replace(plain, **fields)


def a_poll(number: int, *offsets: int, process: str = "a", epoch: int = 3) -> Poll:
    """Records that are handed out in second `number`."""
    records = tuple((offset, b"%d" % offset) for offset in offsets)
    at_s = float(number)
    return Poll(
        *(process, number, "t", 0, 0, at_s - 0.2, at_s, offsets[0], records),
        group="g",
        member=f"id-{process}",
        epoch=epoch,
    )


def a_commit(number: int, offset: int, **fields: object) -> Commit:
    """A commit of member a that is acknowledged within second `number`."""
    at_s = float(number)
    where = "a", number, "g", "t", 0, 0
    plain = Commit(*where, offset, at_s, "ok", at_s + 0.5, member="id-a", epoch=3)
    return replace(plain, **fields)


def a_look(number: int, offset: int | None, *, is_final: bool = False) -> Committed:
    at_s = float(number)
    where = "admin", number, "g", "t", 0, 0
    return Committed(*where, at_s, at_s + 0.5, offset, is_final=is_final)


def handed_over() -> list[object]:
    """Member a reads two records and commits; its partition goes to b, which goes on from there."""
    return [
        a_change("assigned", 1),
        a_poll(2, 0, 1),
        a_commit(3, 2),
        a_change("revoked", 5),
        a_change("assigned", 6, process="b", member="id-b", epoch=4),
        a_poll(7, 2, process="b", epoch=4),
        a_commit(8, 3, process="b", member="id-b", epoch=4),
        a_look(9, 3),
    ]


def history_of(*calls: object) -> History:
    history = History()
    for call in calls:
        history.add(call)  # type: ignore[arg-type]
    return history


def kinds(*calls: object) -> set[str]:
    """Kinds of complaints, but for those about records that nobody sent here."""
    found = complaints(history_of(*calls))
    assert all(one.operations and str(one) for one in found)
    return {one.kind for one in found} - {"unwritten"}


def test_a_partition_that_goes_in_order_has_no_complaints() -> None:
    assert kinds(*handed_over()) == set()


@pytest.mark.parametrize(
    ("at", "call"),
    [
        (4, a_change("assigned", 6, process="b", member="id-b", epoch=4, at_s=4.5)),
        (4, a_change("assigned", 6, process="b", member="id-b", epoch=4, at_s=1.5)),
    ],
    ids=["before it was let go", "while its owner was handed out records"],
)
def test_a_partition_given_before_it_is_let_go_has_two_owners(at: int, call: Assignment) -> None:
    calls = handed_over()
    calls[at] = call

    assert "two-owners" in kinds(*calls)


def test_one_that_lost_a_partition_may_notice_late_but_not_read_on() -> None:
    calls = handed_over()
    calls[3] = a_change("lost", 20)
    assert kinds(*calls) == set()

    late = a_poll(10, 2)
    assert kinds(*calls, late) == {"two-owners"}
    history = history_of(*calls, late)
    history.overlaps_s["g"] = 5.0
    assert {one.kind for one in complaints(history)} == {"unwritten"}
    history.overlaps_s["g"] = 3.5
    assert "two-owners" in {one.kind for one in complaints(history)}


def test_nothing_is_handed_out_after_a_partition_went() -> None:
    assert kinds(*handed_over(), a_poll(10, 2)) == {"handed-out-after"}
    assert kinds(*handed_over(), a_poll(10, 2, process="c")) == {"handed-out-after"}
    lost = handed_over()
    lost[3] = a_change("lost", 5)
    assert kinds(*lost, a_poll(10, 2)) == {"handed-out-after"}


def test_an_epoch_does_not_fall() -> None:
    fallen = a_commit(10, 3, process="b", member="id-b", epoch=3, outcome="fail")
    assert kinds(*handed_over(), fallen) == {"epoch-back"}
    assert kinds(*handed_over(), replace(fallen, epoch=0)) == set()  # it is no member now


def test_an_acknowledged_commit_is_seen_from_then_on() -> None:
    assert kinds(*handed_over(), a_look(10, 2)) == {"commit-lost"}
    assert kinds(*handed_over(), a_look(10, None)) == {"commit-lost"}
    begun_below = handed_over()
    begun_below[5] = a_poll(7, 1, 2, process="b", epoch=4)
    assert kinds(*begun_below) == {"commit-lost"}


def test_a_commit_may_go_back_when_its_member_commits_lower() -> None:
    lower = a_commit(10, 1, process="b", member="id-b", epoch=4)
    assert kinds(*handed_over(), lower, a_look(11, 1)) == set()
    assert kinds(*handed_over(), lower, a_look(11, 3)) == {"commit-lost"}


def test_a_commit_with_an_unknown_outcome_may_be_seen_or_not() -> None:
    unknown = a_commit(10, 9, process="b", member="id-b", epoch=4, outcome="unknown", ended_s=None)
    for offset in (3, 9):
        found = kinds(*handed_over(), unknown, a_look(12, offset))
        assert found - {"commit-ahead"} == set()
    assert "commit-lost" in kinds(*handed_over(), unknown, a_look(12, 8))


def test_one_that_was_given_up_is_not_seen_after_a_later_one() -> None:
    given_up = a_commit(4, 1, outcome="unknown")
    assert kinds(*handed_over(), given_up, a_look(10, 1)) == {"commit-lost"}


def test_a_refused_commit_is_not_seen() -> None:
    refused = a_commit(10, 2, outcome="fail", reason="the member is fenced")
    late = replace(refused, offset=7)
    assert kinds(*handed_over(), late, a_look(11, 3)) == set()
    assert "refused-commit" in kinds(*handed_over(), late, a_look(11, 7))
    first = a_commit(3, 2, outcome="fail")
    assert kinds(a_change("assigned", 1), a_poll(2, 0, 1), first, a_look(5, 2)) == {
        "refused-commit"
    }


def test_no_commit_is_acknowledged_to_one_whose_partition_is_anothers() -> None:
    lost = handed_over()
    lost[3] = a_change("lost", 20, epoch=5)
    assert kinds(*lost, replace(a_commit(7, 2, epoch=5), number=19)) == {"stale-commit"}
    assert "stale-commit" in kinds(*lost, replace(a_commit(10, 3), number=19))


def test_no_commit_is_acknowledged_under_an_older_epoch_than_one_before() -> None:
    calls = [a_change("assigned", 1), a_poll(2, 0, 1), a_commit(3, 1)]
    as_another = a_commit(5, 2, process="x", member="id-x", epoch=2)
    assert "stale-commit" in kinds(*calls, as_another, a_look(6, 2))
    assert kinds(*calls, replace(as_another, epoch=3), a_look(6, 2)) == set()


def test_nothing_is_committed_that_was_not_handed_out() -> None:
    calls = [a_change("assigned", 1), a_commit(2, 1), a_poll(3, 0)]
    assert kinds(*calls) == {"commit-ahead"}
    assert kinds(calls[0], a_poll(2, 0), a_commit(3, 1)) == set()
    assert kinds(calls[0], a_poll(2, 0), a_commit(3, 2)) == {"commit-ahead"}


def test_at_rest_everything_is_handed_out_and_committed() -> None:
    last = Poll(
        *("last", 30, "t", 0, 0, 30.0, 31.0, 0, tuple((one, b"%d" % one) for one in range(3))),
        is_final=True,
    )
    at_rest = a_look(20, 3, is_final=True)
    assert kinds(*handed_over(), last, at_rest) == set()
    further = replace(last, records=(*last.records, (3, b"3")))
    assert kinds(*handed_over(), further, at_rest) == {"not-handed-out"}
    assert kinds(*handed_over(), further, replace(at_rest, is_final=False)) == set()
    calls = [a_change("assigned", 1), a_poll(2, 0, 1, 2), a_commit(3, 2), a_look(4, 2)]
    assert kinds(*calls, last, a_look(20, 2, is_final=True)) == {"not-handed-out"}


def test_a_member_skips_nothing_and_reads_nothing_again_while_it_holds_a_partition() -> None:
    begun = [a_change("assigned", 1), a_poll(2, 0, 1)]
    assert kinds(*begun, a_poll(3, 3)) == {"poll-skip"}
    assert kinds(*begun, a_poll(3, 1)) == {"nonmonotonic-poll"}
    again = [a_change("lost", 3), a_change("assigned", 4), a_poll(5, 0, 1)]
    assert kinds(*begun, *again) == set()
    assert counts(history_of(*begun, *again))["handed_out_again"] == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_right_group_did_has_no_complaints(seed: int) -> None:
    history = GroupHistoryMaker(seed).make()

    assert complaints(history) == []
    assert from_lines(to_lines(history)) == history


@pytest.mark.parametrize("kind", GROUP_KINDS)
def test_every_spoiled_history_of_a_group_is_found(kind: str) -> None:
    spoiled = 0
    for seed in SEEDS:
        history = GroupHistoryMaker(seed).make()
        if spoil_group(kind, history, seed):
            spoiled += 1
            assert kind in {one.kind for one in complaints(history)}, seed

    assert spoiled >= len(SEEDS) // 4


# The file

OLD_FILE = """\
{"version":1,"lossy_topics":["clicks"]}
{"type":"send","process":"p","number":1,"topic":"t","incarnation":0,"partition":0,"value":"dg==",\
"acks":-1,"is_idempotent":true,"invoked_s":1.0,"outcome":"unknown"}
{"type":"end","number":1,"outcome":"ok","ended_s":2.0,"offset":0}
{"type":"poll","process":"c","number":2,"topic":"t","incarnation":0,"partition":0,\
"invoked_s":3.0,"ended_s":4.0,"position":0,"records":[[0,"dg=="]],"is_final":true}
"""
"""As it was written before histories knew groups."""


def test_a_file_from_before_groups_is_read_and_written_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(OLD_FILE)

    history = read_history(path)

    assert complaints(history) == []
    assert (history.commits, history.committed, history.assignments) == ([], [], [])
    with_end = OLD_FILE.splitlines()
    assert [line for line in to_lines(history) if '"poll"' in line] == [with_end[3]]
    assert next(iter(to_lines(history))) == with_end[0]


def test_a_commit_that_began_and_never_ended_is_unknown(tmp_path: Path) -> None:
    path, ended = tmp_path / "history.jsonl", a_commit(3, 2)
    begun = replace(ended, ended_s=None, outcome="unknown")
    writer = HistoryWriter(path)
    writer.begin(begun)
    assert read_history(path).commits == [begun]
    writer.end(ended)
    writer.add(a_look(4, 2))
    writer.add(a_change("assigned", 1))
    writer.close()

    history = read_history(path)

    assert history.commits == [ended]
    assert history.committed == [a_look(4, 2)]
    assert history.assignments == [a_change("assigned", 1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"type":"commit","number":1}', "missing required field"),
        (
            (
                '{"type":"assignment","process":"a","number":1,"group":"g","member":"m","epoch":3,'
                '"topic":"t","incarnation":0,"partition":0,"at_s":1.0,"change":"taken"}'
            ),
            "Invalid enum value 'taken'",
        ),
        (
            (
                '{"type":"committed","process":"a","number":1,"group":"g","topic":"t",'
                '"incarnation":0,"partition":0,"invoked_s":2.0,"ended_s":1.0}'
            ),
            "ended_s is 1.0: before invoked_s",
        ),
        (
            (
                '{"type":"commit","process":"a","number":1,"group":"g","topic":"t","incarnation":0,'
                '"partition":0,"offset":-1,"invoked_s":2.0,"outcome":"ok","ended_s":3.0}'
            ),
            "Expected `int` >= 0",
        ),
        (
            (
                '{"type":"commit","process":"a","number":1,"group":"g","topic":"t","incarnation":0,'
                '"partition":0,"offset":1,"invoked_s":2.0,"outcome":"ok"}'
            ),
            "ended_s is missing, though the outcome is ok",
        ),
    ],
)
def test_a_line_that_is_no_call_of_a_group_is_refused(line: str, message: str) -> None:
    with pytest.raises(HistoryFormatError, match=f"line 2: .*{message}"):
        from_lines(['{"version":1,"lossy_topics":[]}', line])
