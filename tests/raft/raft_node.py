"""Node 1 of three behind its driver, on virtual time, with followers that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from tidelog.core.chance import SeededRandom
from tidelog.raft.config import RaftConfig
from tidelog.raft.driver import RaftDriver
from tidelog.raft.factory import build_replicated_log
from tidelog.raft.replicated_log import CommittedEntry
from tidelog.raft.transport import RaftReceiver
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.v1.raft_pb2 import (
    AppendEntriesReply,
    PreVoteReply,
    RaftMessage,
    RejoinReply,
    RequestVote,
    VoteGranted,
)

Run = Callable[[Coroutine[Any, Any, None]], None]
SYNC_S = 0.05
DIRECTORY = "/data/meta"
CONFIG = RaftConfig(
    election_timeout_min_ms=300,
    election_timeout_max_ms=600,
    wal_reserve_bytes=64 * 1024,
    snapshot_interval_bytes=32 * 1024,
    retained_entries=2,
)


class Followers:
    """Implements `RaftTransport`: nodes 2 and 3, who elect and acknowledge unless told not to."""

    def __init__(self) -> None:
        self.peer_ids = [2, 3]
        self.acknowledge = True
        self.elect = True
        self.rejoin = True
        self.sent: list[tuple[float, RaftMessage]] = []
        self.receiver: RaftReceiver | None = None

    async def start(self, receiver: RaftReceiver) -> None:
        self.receiver = receiver
        for peer_id in self.peer_ids:
            receiver.on_connected(peer_id)

    async def stop(self) -> None:
        self.receiver = None

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        self.sent.append((asyncio.get_running_loop().time(), message))
        answer = self._answer(peer_id, message)
        if answer is not None and self.receiver is not None:
            self.receiver.on_message(peer_id, answer)
        return True

    def _answer(self, peer_id: int, message: RaftMessage) -> RaftMessage | None:
        answer = RaftMessage(sender_id=peer_id, receiver_id=1, incarnation=1, term=message.term)
        match message.WhichOneof("body"):
            case "rejoin" if self.rejoin:
                answer.rejoin_reply.CopyFrom(RejoinReply(asked_incarnation=message.incarnation))
            case "pre_vote" if self.elect:
                answer.pre_vote_reply.CopyFrom(
                    PreVoteReply(asked_term=message.term, is_granted=True)
                )
            case "request_vote":
                answer.vote_granted.CopyFrom(VoteGranted())
            case "append_entries" if self.acknowledge:
                body = message.append_entries
                answer.append_entries_reply.CopyFrom(
                    AppendEntriesReply(
                        next_index=body.previous_index + len(body.entries) + 1,
                        is_success=True,
                        round=body.round,
                    )
                )
            case _:
                return None
        return answer


class Commands:
    """Implements `StateMachine`: all commands, in order; `happened` says what it was told."""

    def __init__(self) -> None:
        self.entries: list[CommittedEntry] = []
        self.restored: list[bytes] = []
        self.happened: list[str] = []
        self.frozen: list[bytes] = []
        """The state when `records` was last called."""

    def apply(self, entry: CommittedEntry) -> None:
        self.happened.append(f"apply {entry.index}")
        self.entries.append(entry)

    def records(self) -> Iterator[bytes]:
        self.happened.append("records")
        self.frozen = self.state
        return iter(self.frozen)

    def restore(self, records: Iterable[bytes], *, index: int, term: int) -> None:
        self.happened.append(f"restore {index}/{term}")
        self.restored, self.entries = list(records), []

    @property
    def state(self) -> list[bytes]:
        return [*self.restored, *(entry.command for entry in self.entries)]


class Node:
    """Node 1 with all it needs."""

    def __init__(self, scheduler: Scheduler, *, config: RaftConfig | None = None) -> None:
        self.loop = scheduler.new_loop("n1")
        self.disk = SimDisk(SeededRandom(3), sync_latency_s=SYNC_S)
        self.followers = Followers()
        self.machine = Commands()
        self.fatal: list[BaseException] = []
        self.config = config or CONFIG
        self.log = self.build()

    def build(self, *, voters: int = 3) -> RaftDriver:
        return build_replicated_log(
            node_id=1,
            voters={node_id: f"n{node_id}" for node_id in range(1, voters + 1)},
            directory=DIRECTORY,
            disk=self.disk,
            clock=self.loop.clock,
            random=SeededRandom(5),
            transport=self.followers,
            config=self.config,
            on_fatal=self.fatal.append,
        )

    async def lead(self) -> None:
        await self.log.start(self.machine)
        await until_leading(self.log)

    async def restart(self) -> None:
        """Another process on the same disk, with a machine of its own; it leads."""
        await self.log.stop()
        self.log, self.machine = self.build(), Commands()
        await self.lead()

    def hear(self, message: RaftMessage) -> None:
        assert self.followers.receiver is not None
        self.followers.receiver.on_message(message.sender_id, message)


async def until_leading(log: RaftDriver) -> None:
    changed = asyncio.Event()
    log.on_leadership(changed.set)
    while not log.is_leader:
        await changed.wait()
        changed.clear()


def vote_request() -> RaftMessage:
    return RaftMessage(
        sender_id=2,
        receiver_id=1,
        incarnation=1,
        term=5,
        request_vote=RequestVote(last_log_index=1, last_log_term=0),
    )
