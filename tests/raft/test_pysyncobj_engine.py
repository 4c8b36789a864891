"""What is PySyncObj's alone: its pace, its place in our log, and the library that is overridden.

The rules of one voter are those of our own engine, and so are their tests: see `conftest.py`.
"""

from __future__ import annotations

import ast
import inspect

import pytest
from tests.raft.one_voter import NO_OP_1, A, B, C, OneVoter, append, appends, command, pieces, wants

from tidelog.core.errors import InvariantError
from tidelog.raft.pysyncobj import engine, installed, replication, voting
from tidelog.raft.pysyncobj.installed import check_library
from tidelog.raft.pysyncobj.journal import LogJournal


@pytest.fixture(autouse=True)
def _second_engine(_engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneVoter, "engine_name", "pysyncobj")


async def leading() -> OneVoter:
    voter = await OneVoter().start()
    await voter.lead_and_commit()
    return voter


def journal_of(voter: OneVoter) -> LogJournal:
    return LogJournal(voter.wal, cluster_id="own", commit_index=0)


# Its pace


async def test_all_that_a_follower_lacks_is_sent_once_in_bounded_appends() -> None:
    voter = await leading()

    sent = appends(await voter.step(proposals=(b"x",) * 5000), 2)

    assert [len(message.entries) for message in sent] == [4096, 904]
    assert appends(await voter.pass_time(0.02), 2) == []


async def test_a_refusal_is_followed_by_what_lacks_soon_but_not_at_every_answer() -> None:
    voter = await leading()
    await voter.step(proposals=(b"a", b"b"))
    refusal = wants(3, 1, index=2)

    at_once = await voter.step(refusal)
    assert appends(at_once, 3) == []
    assert at_once.next_step_in_s < 0.012

    ready = await voter.pass_time(0.011, refusal)
    assert [entry.command for entry in appends(ready, 3)[0].entries] == [
        command("a"),
        command("b"),
    ]


async def test_a_sole_voter_counts_a_proposal_only_in_a_step_after_its_sync() -> None:
    voter = await OneVoter(voters=1).start()
    await voter.pass_time(0.601)

    ready = await voter.step(proposals=(b"a",))
    assert [entry.command for entry in ready.committed if entry.command] == []

    assert [entry.command for entry in (await voter.step()).committed] == [b"a"]


async def test_a_follower_below_the_logs_begin_hears_a_heartbeat_while_a_piece_is_under_way() -> (
    None
):
    voter = await leading()
    await voter.step(proposals=(b"a", b"b"))
    await voter.step(voter.agree(2))
    await voter.snapshot(b"a", index=2)
    first = await voter.step(wants(3, 1, index=1))
    assert [piece.offset for piece in pieces(first, 3)] == [0]

    ready = await voter.pass_time(0.081)

    assert pieces(ready, 3) == []
    assert [(m.previous_index, len(m.entries)) for m in appends(ready, 3)] == [(2, 0)]


async def test_reads_write_nothing() -> None:
    voter = await leading()
    before = voter.wal.last_index

    ready = await voter.step(reads=(7, 8))
    rounds = {message.round for message in appends(ready, 2)}
    await voter.step(voter.agree(2, round_=max(rounds)))

    assert [(read.read_id, read.index) for read in voter.reads] == [(7, 1), (8, 1)]
    assert ready.appended == []
    assert voter.wal.last_index == before


async def test_reads_of_an_earlier_term_stay_void_when_it_leads_again() -> None:
    voter = await leading()
    await voter.step(reads=(7,))
    await voter.step(append(3, 2, after=(1, 1), entries=((2, NO_OP_1[1]),)))
    await voter.lead()

    ready = await voter.step(reads=(8,))
    round_ = max(message.round for message in appends(ready, 2))
    await voter.step(voter.agree(2, round_=round_))

    assert [read.read_id for read in voter.reads] == [8]


# Its place in our log


@pytest.mark.parametrize("names", [("tidelog", "pysyncobj"), ("pysyncobj", "tidelog")])
async def test_either_engine_goes_on_with_what_the_other_left(
    names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OneVoter, "engine_name", names[0])
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(NO_OP_1, A, B, C), commit_index=3))
    await voter.snapshot(b"a", b"b", index=3)

    monkeypatch.setattr(OneVoter, "engine_name", names[1])
    await voter.restart()
    assert voter.log() == [C]
    led = await voter.lead()
    assert {message.commit_index for message in appends(led, 2)} == {3}
    await voter.step(voter.agree(3))

    assert [(entry.index, entry.command) for entry in voter.committed[-2:]] == [
        (4, b"c"),
        (5, None),
    ]


async def test_an_empty_log_stays_empty_until_somebody_leads() -> None:
    voter = await OneVoter().start()

    await voter.pass_time(0.601)

    assert (voter.wal.last_index, len(journal_of(voter))) == (0, 1)


async def test_the_journal_refuses_what_the_reviewed_library_does_not_ask() -> None:
    journal = journal_of(await OneVoter().start())

    with pytest.raises(InvariantError, match="position 1"):
        journal[1]
    with pytest.raises(InvariantError, match="an entry of the library"):
        journal.add(b"\0pickled", 1, 0)


# The library


def test_another_pysyncobj_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_library()
    monkeypatch.setattr(installed, "KNOWN_SHA256", "0" * 64)

    with pytest.raises(InvariantError, match=r"install pysyncobj==0\.3\.17"):
        check_library()


async def test_every_private_name_of_the_library_used_here_exists() -> None:
    used: set[str] = set()
    for part in (voting, replication, engine):
        tree = ast.parse(inspect.getsource(part.SyncObj))
        used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    private = {name for name in used if name.startswith("__") and not name.endswith("__")}
    fresh = (await OneVoter().start()).engine
    library = {*vars(voting.SyncObj.__mro__[1]), *vars(fresh)}

    assert len(private) > 20
    assert {f"_SyncObj{name}" for name in private} <= library
