"""A voter beside one of another cluster whose log looks alike: nothing of it is heard or taken."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.raft.one_voter import (
    CONFIG,
    OneVoter,
    append,
    command,
    kinds,
    messages_in,
    piece,
    pre_vote,
    rejoin,
    rejoin_reply,
    replies,
    request_vote,
    snapshot_content,
    vote,
)

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.raft.durable_state import REGULAR, SnapshotId, WalEntry
from tidelog.raft.log_origin import are_own, cluster_named, term_start
from tidelog.raft.snapshots import SnapshotStore
from tidelog.simulation.engine.disk import SimDisk
from tidelog.v1.raft_pb2 import RaftMessage

OWN, FOREIGN = "own", "foreign"
FIRST = (1, term_start(OWN))
A = (1, command("a"))


def of(cluster_id: str, message: RaftMessage) -> RaftMessage:
    message.cluster_id = cluster_id
    return message


async def voter_with_a_log() -> OneVoter:
    """Two entries of term 1, committed, from voter 2."""
    voter = await OneVoter(cluster_id=OWN).start()
    await voter.step(of(OWN, append(2, 1, entries=(FIRST, A), commit_index=2)))
    assert voter.log() == [FIRST, A]
    return voter


FOREIGN_MESSAGES = [
    append(3, 7, after=(2, 1), entries=((7, command("x")),), commit_index=3),
    append(3, 7),
    request_vote(3, 7, last=(99, 6)),
    pre_vote(3, 7, last=(99, 6)),
    vote(3, 7),
    rejoin(3, incarnation=9),
    rejoin_reply(3, 7, asked=1),
    piece(3, 7, snapshot=(50, 6), content=b"x" * 600),
]


@pytest.mark.parametrize("cluster_id", [FOREIGN, ""])
@pytest.mark.parametrize("message", FOREIGN_MESSAGES, ids=lambda m: m.WhichOneof("body"))
async def test_no_message_of_another_cluster_is_heard_or_answered(
    message: RaftMessage, cluster_id: str
) -> None:
    voter = await voter_with_a_log()

    ready = await voter.step(of(cluster_id, message))

    assert kinds(ready) == []
    assert voter.log() == [FIRST, A]
    assert (voter.wal.term, voter.wal.voted_for, ready.commit_index) == (1, None, 2)
    # Not even its incarnation: the true voter 3 is heard as before.
    ready = await voter.step(of(OWN, append(3, 8, after=(2, 1))))
    assert replies(ready)[-1].is_success


async def test_all_a_voter_says_names_its_cluster() -> None:
    voter = await voter_with_a_log()
    ready = await voter.pass_time(0.601)
    assert {message.cluster_id for message in messages_in(ready)} == {OWN}


async def test_a_leader_begins_its_term_with_the_clusters_name() -> None:
    voter = await OneVoter(voters=1, cluster_id=OWN).start()
    await voter.pass_time(0.601)
    assert voter.log() == [(1, term_start(OWN))]


async def test_what_another_cluster_wrote_is_not_taken_whoever_sends_it() -> None:
    """Such as a voter of this cluster whose folder was mixed up."""
    voter = await voter_with_a_log()
    x, y = (2, term_start(FOREIGN)), (2, command("x"))

    ready = await voter.step(of(OWN, append(3, 2, after=(2, 1), entries=(x, y), commit_index=4)))

    assert voter.log() == [FIRST, A]
    assert ready.commit_index == 2
    assert not any(answer.is_success or answer.is_reset for answer in replies(ready))


async def test_an_empty_log_takes_no_foreign_beginning() -> None:
    voter = await OneVoter(cluster_id=OWN).start()
    await voter.step(of(OWN, append(2, 1, entries=((1, term_start(FOREIGN)), A), commit_index=2)))
    assert voter.log() == []


async def test_another_clusters_snapshot_is_not_installed() -> None:
    voter = await voter_with_a_log()
    content = await snapshot_content((9, 1), b"theirs", cluster_id=FOREIGN)

    ready = await voter.step(of(OWN, piece(2, 1, snapshot=(9, 1), content=content)))

    assert ready.restored is None
    assert voter.storage.snapshots.latest is None
    own = await snapshot_content((9, 1), b"ours", cluster_id=OWN)
    await voter.step(of(OWN, piece(2, 1, snapshot=(9, 1), content=own)))
    ready = await voter.step()
    assert ready.restored == SnapshotId(9, 1)


async def test_a_voter_does_not_start_with_another_clusters_log() -> None:
    voter = await voter_with_a_log()
    voter.storage.close()
    voter.config = replace(CONFIG, cluster_id=FOREIGN)
    with pytest.raises(StorageError, match="the write-ahead log is not of cluster 'foreign'"):
        await voter.start()


async def test_a_voter_does_not_start_with_another_clusters_snapshot() -> None:
    disk = SimDisk(SeededRandom(1), sync_latency_s=0)
    store = await SnapshotStore.open(disk=disk, directory="/data", cluster_id=FOREIGN)
    await store.write(SnapshotId(9, 1), iter([b"theirs"]))
    store.close()
    with pytest.raises(
        StorageError, match="contains the metadata of cluster 'foreign', not of 'own'"
    ):
        await SnapshotStore.open(disk=disk, directory="/data", cluster_id=OWN)


def test_a_command_that_begins_no_term_names_nobody() -> None:
    assert cluster_named(REGULAR + b"own") is None
    assert cluster_named(term_start("own")) == "own"
    assert are_own([WalEntry(term_start(OWN), 1, 1), WalEntry(REGULAR, 2, 1)], OWN)
    assert not are_own([WalEntry(REGULAR, 1, 1), WalEntry(term_start(FOREIGN), 2, 2)], OWN)
