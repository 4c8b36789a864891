"""What a voter says is compared with what its disk certainly holds, message by message."""

from __future__ import annotations

from tidelog.core.chance import SeededRandom
from tidelog.raft.wal import FILE_NAME, Wal
from tidelog.simulation.raft.disk import VoterDisk
from tidelog.simulation.raft.disk_checks import DiskChecks
from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import (
    AppendEntries,
    AppendEntriesReply,
    PreVote,
    RaftMessage,
    RequestVote,
    VoteGranted,
)

FOLDER = "/data/raft"


class Three:
    """Three disks and the logs on them; `checks` looks at the disks alone."""

    def __init__(self, *, is_calm: bool = False) -> None:
        self.findings = Findings()
        self.checks = DiskChecks(
            self.findings, voters=3, path=f"{FOLDER}/{FILE_NAME}", is_calm=is_calm
        )
        self.disks = {node_id: _disk(node_id) for node_id in (1, 2, 3)}
        self.wals: dict[int, Wal] = {}

    async def open(self) -> Three:
        for node_id, disk in self.disks.items():
            self.wals[node_id] = await Wal.open(
                disk=disk, directory=FOLDER, node_id=node_id, wall_ms=1, reserve_bytes=16_384
            )
            self.wals[node_id].write_vote(term=1, voted_for=1)
            await self.wals[node_id].sync()
            self.checks.begin_life(node_id, disk)
        return self

    def says(self, node_id: int, **body: object) -> str | None:
        """What is complained of when this voter says so, in its present term or in `term`."""
        wal = self.wals[node_id]
        before = len(self.findings.violations)
        message = RaftMessage(
            sender_id=node_id,
            receiver_id=body.pop("to", 1),  # type: ignore[arg-type]  # an id
            incarnation=wal.incarnation,
            term=body.pop("term", wal.term),  # type: ignore[arg-type]  # a number
            **body,  # type: ignore[arg-type]  # one of the bodies
        )
        self.checks.on_sent(message, wal)
        new = self.findings.violations[before:]
        assert all(violation.invariant == "I19" for violation in new)
        return new[0].what if new else None

    def append(self, node_id: int) -> None:
        wal = self.wals[node_id]
        wal.write_entry(b"\0a", index=wal.last_index + 1, term=wal.term)


def _disk(node_id: int) -> VoterDisk:
    return VoterDisk(
        SeededRandom(node_id), sync_latency_s=0, on_power_cut=_nothing, on_killed=_nothing
    )


def _nothing() -> None:
    pass


def acknowledging(index: int) -> AppendEntriesReply:
    return AppendEntriesReply(is_success=True, next_index=index + 1)


async def test_an_acknowledgement_needs_its_entry_on_the_disk() -> None:
    three = await Three().open()
    three.append(2)
    assert "entry 1 is not stored" in str(three.says(2, append_entries_reply=acknowledging(1)))
    await three.wals[2].sync()
    assert three.says(2, append_entries_reply=acknowledging(1)) is None


async def test_an_entry_that_another_took_the_place_of_does_not_count() -> None:
    three = await Three().open()
    three.append(2)
    await three.wals[2].sync()
    three.wals[2].write_vote(term=2, voted_for=None)
    await three.wals[2].sync()
    three.wals[2].write_truncation(1)
    three.append(2)
    assert three.says(2, append_entries_reply=acknowledging(1)) is not None
    await three.wals[2].sync()
    assert three.says(2, append_entries_reply=acknowledging(1)) is None


async def test_votes_and_requests_for_them_need_the_vote_on_the_disk() -> None:
    three = await Three().open()
    assert three.says(2, vote_granted=VoteGranted()) is None
    assert three.says(2, to=3, vote_granted=VoteGranted()) is not None
    assert three.says(1, request_vote=RequestVote()) is None
    assert three.says(2, request_vote=RequestVote()) is not None


async def test_a_vote_of_an_older_term_needs_no_more_than_the_greater_term() -> None:
    three = await Three().open()
    three.wals[2].write_vote(term=2, voted_for=3)
    three.wals[2].write_vote(term=3, voted_for=None)
    said = {"to": 3, "term": 2, "vote_granted": VoteGranted()}
    assert three.says(2, **said) is not None
    await three.wals[2].compact(base_index=0)  # which keeps the last term alone
    assert three.says(2, **said) is None
    three.wals[2].write_vote(term=3, voted_for=3)
    assert three.says(2, **(said | {"term": 3})) == (
        "n2 says vote_granted in term 3, but this vote is not stored"
    )


async def test_an_acknowledgement_of_an_older_term_needs_no_more_than_the_greater_term() -> None:
    three = await Three().open()
    three.append(2)
    three.wals[2].write_vote(term=2, voted_for=3)
    three.wals[2].write_truncation(1)
    said = {"term": 1, "append_entries_reply": acknowledging(1)}
    assert three.says(2, **said) is not None
    await three.wals[2].compact(base_index=0)  # which keeps no entry
    assert three.says(2, **said) is None
    assert three.says(2, append_entries_reply=acknowledging(1)) is not None


async def test_a_new_file_counts_when_its_name_is_stored() -> None:
    three = await Three().open()
    disk, path = three.disks[2], f"{FOLDER}/{FILE_NAME}"
    old = disk.stored(path)
    disk.open(f"{path}.next", create=True)
    disk.rename(f"{path}.next", path)
    assert disk.stored(path) is old
    await disk.sync_directory(FOLDER)
    assert disk.stored(path) == bytearray()


async def test_nothing_is_said_in_a_term_that_is_not_on_the_disk() -> None:
    three = await Three().open()
    three.wals[2].write_vote(term=2, voted_for=None)
    assert "its disk has term 1" in str(three.says(2, pre_vote=PreVote()))
    await three.wals[2].sync()
    assert three.says(2, pre_vote=PreVote()) is None


async def test_what_is_told_as_committed_is_on_the_disks_of_a_majority() -> None:
    three = await Three().open()
    for node_id in (1, 2):
        three.append(node_id)
    await three.wals[2].sync()
    said = AppendEntries(commit_index=1)
    assert "stored by [2] alone" in str(three.says(1, append_entries=said))

    three = await Three().open()
    for node_id in (2, 3):
        three.append(node_id)
        await three.wals[node_id].sync()
    three.append(1)  # the leader's own copy is not needed
    assert three.says(1, append_entries=said) is None


async def test_a_log_is_read_on_after_a_compaction_and_on_a_new_disk() -> None:
    three = await Three().open()
    for _ in range(3):
        three.append(2)
    await three.wals[2].sync()
    await three.wals[2].compact(base_index=2)
    assert three.says(2, append_entries_reply=acknowledging(3)) is None
    three.append(2)
    assert three.says(2, append_entries_reply=acknowledging(4)) is not None
    three.checks.begin_life(2, _disk(9))
    assert three.says(2, append_entries_reply=acknowledging(3)) is not None


async def test_where_nothing_is_ever_lost_nothing_is_looked_at() -> None:
    three = await Three(is_calm=True).open()
    three.append(2)
    assert three.says(2, append_entries_reply=acknowledging(1)) is None
