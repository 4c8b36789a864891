"""Node 1 of a quorum on a clock that moves by hand, and messages of the others, written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.raft.raft_stage import ENGINES, FixedRandom

from tidelog.core.chance import SeededRandom
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import NO_OP, REGULAR, SnapshotId
from tidelog.raft.engine import ConfirmedRead, EngineEntry, Ready
from tidelog.raft.storage import Storage
from tidelog.raft.wal import Wal
from tidelog.simulation.engine.disk import SimDisk
from tidelog.v1.raft_pb2 import (
    AppendEntries,
    AppendEntriesReply,
    InstallSnapshot,
    InstallSnapshotReply,
    LogEntry,
    PreVote,
    PreVoteReply,
    RaftMessage,
    Rejoin,
    RejoinReply,
    RequestVote,
    VoteGranted,
)

Entry = tuple[int, bytes]  # term, command
CONFIG = RaftConfig(
    election_timeout_min_ms=300,
    election_timeout_max_ms=600,
    retained_entries=1,
    wal_reserve_bytes=16_384,
    snapshot_interval_bytes=8_192,
)
DIRECTORY = "/data/meta"


class OneVoter:
    """Syncs after every step, as the driver does; all peers are connected at first."""

    engine_name = "tidelog"

    def __init__(self, *, voters: int = 3, **settings: int | str) -> None:
        self.now_s = 100.0
        self.disk = SimDisk(SeededRandom(1), sync_latency_s=0)
        self.config = replace(CONFIG, **settings)  # type: ignore[arg-type]
        self.voters = list(range(1, voters + 1))
        self.connected = self.voters[1:]
        self.random = FixedRandom(1)
        self.committed: list[EngineEntry] = []
        self.reads: list[ConfirmedRead] = []

    async def start(self, *, is_new: bool = False) -> OneVoter:
        """A process; unless `is_new`, its disk was in use before."""
        self.storage = await Storage.open(
            disk=self.disk,
            directory=DIRECTORY,
            node_id=1,
            wall_ms=0,
            reserve_bytes=self.config.wal_reserve_bytes,
            cluster_id=self.config.cluster_id,
        )
        if not is_new and self.wal.is_rejoining:
            self.wal.write_rejoined()
        self.engine = ENGINES[self.engine_name](
            self.voters,
            log=self.wal,
            snapshots=self.storage.snapshots,
            random=self.random,
            config=self.config,
        )
        await self.storage.sync()
        await self.step()
        return self

    @property
    def wal(self) -> Wal:
        return self.storage.wal

    async def restart(self) -> None:
        self.storage.close()
        self.disk.crash()
        await self.start()

    async def step(
        self,
        *received: RaftMessage,
        proposals: tuple[bytes, ...] = (),
        reads: tuple[int, ...] = (),
    ) -> Ready:
        ready = self.engine.step(
            now_s=self.now_s,
            connected=self.connected,
            received=received,
            proposals=proposals,
            reads=reads,
        )
        if self.storage.is_dirty:
            await self.storage.sync()
        self.committed += ready.committed
        self.reads += ready.reads
        return ready

    async def pass_time(self, time_s: float, *received: RaftMessage) -> Ready:
        self.now_s += time_s
        return await self.step(*received)

    async def stand(self) -> Ready:
        """Miss the leader, and win the pre-vote."""
        await self.pass_time(0.601)
        term = self.wal.term
        majority = self.voters[1 : len(self.voters) // 2 + 1]
        return await self.step(*(pre_vote_reply(peer, term) for peer in majority))

    async def lead(self) -> Ready:
        """Win the election by a bare majority; only the own no-op follows the log."""
        await self.stand()
        majority = self.voters[1 : len(self.voters) // 2 + 1]
        return await self.step(*(vote(peer, self.wal.term) for peer in majority))

    async def lead_and_commit(self) -> None:
        """Lead, and have the no-op on all voters."""
        await self.lead()
        await self.step(*(self.agree(peer) for peer in self.voters[1:]))

    def agree(self, peer_id: int, index: int | None = None, *, round_: int = 0) -> RaftMessage:
        """The peer holds this node's log, all of it by default."""
        index = self.wal.last_index if index is None else index
        return holds(peer_id, self.wal.term, index=index, round_=round_)

    def log(self) -> list[Entry]:
        return [(entry.term, entry.command) for entry in self.wal.entries]

    async def snapshot(self, *records: bytes, index: int) -> None:
        """Keep a snapshot, and cut the log right behind it."""
        term = self.wal.term_at(index) or 0
        await self.storage.snapshots.write(SnapshotId(index, term), iter(records))
        await self.wal.compact(base_index=index)


def to_me(sender_id: int, term: int, *, incarnation: int = 1) -> dict[str, Any]:
    return {
        "sender_id": sender_id,
        "receiver_id": 1,
        "term": term,
        "incarnation": incarnation,
    }


def append(
    sender_id: int,
    term: int,
    *,
    after: tuple[int, int] = (0, 0),
    entries: tuple[Entry, ...] = (),
    commit_index: int = 0,
    incarnation: int = 1,
    round_: int = 0,
) -> RaftMessage:
    """`after` is index and term of the previous entry."""
    return RaftMessage(
        **to_me(sender_id, term, incarnation=incarnation),
        append_entries=AppendEntries(
            previous_index=after[0],
            previous_term=after[1],
            commit_index=commit_index,
            entries=[LogEntry(term=entry[0], command=entry[1]) for entry in entries],
            round=round_,
        ),
    )


def holds(
    sender_id: int, term: int, *, index: int, round_: int = 0, incarnation: int = 1
) -> RaftMessage:
    return RaftMessage(
        **to_me(sender_id, term, incarnation=incarnation),
        append_entries_reply=AppendEntriesReply(
            next_index=index + 1, is_success=True, round=round_
        ),
    )


def wants(
    sender_id: int, term: int, *, index: int, round_: int = 0, incarnation: int = 1
) -> RaftMessage:
    return RaftMessage(
        **to_me(sender_id, term, incarnation=incarnation),
        append_entries_reply=AppendEntriesReply(next_index=index, is_reset=True, round=round_),
    )


def pre_vote(sender_id: int, term: int, *, last: tuple[int, int] = (0, 0)) -> RaftMessage:
    """`last` is index and term of the candidate's last entry."""
    return RaftMessage(
        **to_me(sender_id, term), pre_vote=PreVote(last_log_index=last[0], last_log_term=last[1])
    )


def pre_vote_reply(
    sender_id: int, term: int, *, asked_term: int | None = None, is_granted: bool = True
) -> RaftMessage:
    asked_term = term if asked_term is None else asked_term
    return RaftMessage(
        **to_me(sender_id, term),
        pre_vote_reply=PreVoteReply(asked_term=asked_term, is_granted=is_granted),
    )


def request_vote(sender_id: int, term: int, *, last: tuple[int, int] = (0, 0)) -> RaftMessage:
    """`last` is index and term of the candidate's last entry."""
    return RaftMessage(
        **to_me(sender_id, term),
        request_vote=RequestVote(last_log_index=last[0], last_log_term=last[1]),
    )


def vote(sender_id: int, term: int, *, incarnation: int = 1) -> RaftMessage:
    return RaftMessage(
        **to_me(sender_id, term, incarnation=incarnation), vote_granted=VoteGranted()
    )


def rejoin(sender_id: int, *, incarnation: int) -> RaftMessage:
    return RaftMessage(**to_me(sender_id, 0, incarnation=incarnation), rejoin=Rejoin())


def rejoin_reply(
    sender_id: int, term: int, *, asked: int, last_index: int = 0, commit_index: int = 0
) -> RaftMessage:
    """`asked` is the incarnation of the question."""
    return RaftMessage(
        **to_me(sender_id, term),
        rejoin_reply=RejoinReply(
            asked_incarnation=asked, last_index=last_index, commit_index=commit_index
        ),
    )


def piece(
    sender_id: int,
    term: int,
    *,
    snapshot: tuple[int, int],
    content: bytes,
    offset: int = 0,
    length: int | None = None,
) -> RaftMessage:
    """`snapshot` is index and term of its last entry, `content` the whole file."""
    end = len(content) if length is None else offset + length
    return RaftMessage(
        **to_me(sender_id, term),
        install_snapshot=InstallSnapshot(
            last_index=snapshot[0],
            last_term=snapshot[1],
            total_bytes=len(content),
            offset=offset,
            data=content[offset:end],
        ),
    )


def piece_taken(sender_id: int, term: int, *, index: int, next_offset: int) -> RaftMessage:
    return RaftMessage(
        **to_me(sender_id, term),
        install_snapshot_reply=InstallSnapshotReply(last_index=index, next_offset=next_offset),
    )


async def snapshot_content(
    snapshot: tuple[int, int], *records: bytes, cluster_id: str = ""
) -> bytes:
    """The file a leader would send."""
    voter = await OneVoter(cluster_id=cluster_id).start()
    await voter.storage.snapshots.write(SnapshotId(*snapshot), iter(records))
    return voter.storage.snapshots.read_chunk(0, voter.storage.snapshots.size_bytes)


def messages_in(ready: Ready) -> list[RaftMessage]:
    """Everything a step says, now or once it is stored."""
    return [*ready.at_once, *ready.messages]


def kinds(ready: Ready) -> list[str | None]:
    return [message.WhichOneof("body") for message in messages_in(ready)]


def replies(ready: Ready) -> list[AppendEntriesReply]:
    return [
        m.append_entries_reply for m in messages_in(ready) if m.HasField("append_entries_reply")
    ]


def appends(ready: Ready, receiver_id: int) -> list[AppendEntries]:
    return [
        message.append_entries
        for message in messages_in(ready)
        if message.receiver_id == receiver_id and message.HasField("append_entries")
    ]


def pieces(ready: Ready, receiver_id: int) -> list[InstallSnapshot]:
    return [
        message.install_snapshot
        for message in messages_in(ready)
        if message.receiver_id == receiver_id and message.HasField("install_snapshot")
    ]


def command(name: str) -> bytes:
    """What the log holds for a proposal."""
    return REGULAR + name.encode()


A, B, C = (1, command("a")), (1, command("b")), (1, command("c"))
NO_OP_1 = (1, NO_OP)
