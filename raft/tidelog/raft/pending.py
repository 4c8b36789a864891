"""Pending proposals and reads of a voter's callers, bounded, each with exactly one outcome.

Owns the futures and the index each one waits for; never decides what is committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.core.errors import MessageTooLargeError, ThrottlingQuotaExceededError
from tidelog.raft.config import RaftConfig
from tidelog.raft.engine import ConfirmedRead, EngineEntry
from tidelog.raft.replicated_log import CommittedEntry, NotLeaderError, ProposalUnknownError


@dataclass(slots=True)
class Proposal:
    """A pending command; `term` is that of its append, 0 before."""

    command: bytes
    result: asyncio.Future[CommittedEntry]
    term: int = 0


class Proposals:
    """Commands that wait to be appended, and appended ones that wait to be committed."""

    def __init__(self, config: RaftConfig) -> None:
        self._config = config
        self._waiting: list[Proposal] = []
        self._taken: list[Proposal] = []
        self._appended: dict[int, Proposal] = {}

    def add(self, command: bytes) -> Proposal:
        """Queue a command for the next step. Raises `ReplicatedLog.propose`'s definite errors."""
        limit = self._config.max_command_bytes
        if len(command) > limit:
            raise MessageTooLargeError(
                f"a command of {len(command)} bytes exceeds the limit of {limit}"
            )
        _check_room(
            len(self._waiting) + len(self._appended),
            self._config.max_pending_proposals,
            "proposals",
        )
        proposal = Proposal(command, asyncio.get_running_loop().create_future())
        self._waiting.append(proposal)
        return proposal

    async def outcome(self, proposal: Proposal, *, timeout_ms: int) -> CommittedEntry:
        """Wait. Raises `ProposalUnknownError` after `timeout_ms`, or the proposal's error."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await proposal.result
        except TimeoutError:
            raise ProposalUnknownError(f"not committed within {timeout_ms} ms") from None

    def take(self) -> list[Proposal]:
        """Take the unappended proposals that callers still wait for; `keep` or `refuse` them."""
        self._taken = [proposal for proposal in self._waiting if not proposal.result.done()]
        self._waiting.clear()
        return self._taken

    def keep(self, proposals: Sequence[Proposal], indexes: Sequence[int], *, term: int) -> None:
        """Record that the proposals were appended at these indexes."""
        self._taken = []
        for index, proposal in zip(indexes, proposals, strict=True):
            proposal.term = term
            self._appended[index] = proposal

    def refuse(self, proposals: Iterable[Proposal], error: NotLeaderError) -> None:
        """Fail proposals that were certainly not appended."""
        self._taken = []
        for proposal in proposals:
            if not proposal.result.done():
                proposal.result.set_exception(error)

    def on_committed(self, entry: EngineEntry) -> None:
        """Complete the proposal at this entry's index, which another entry may have replaced."""
        proposal = self._appended.pop(entry.index, None)
        if proposal is None or proposal.result.done():
            return
        if proposal.term == entry.term:
            proposal.result.set_result(
                CommittedEntry(index=entry.index, term=entry.term, command=proposal.command)
            )
        else:
            proposal.result.set_exception(
                ProposalUnknownError("another leader's entry replaced it")
            )

    def on_leadership_lost(self) -> None:
        """Fail the appended proposals: their outcome cannot be learned here for certain."""
        self._fail_appended("this node lost the leadership")

    def fail_all(self, why: str, error: NotLeaderError) -> None:
        """Fail all proposals when the node stops."""
        self._fail_appended(why)  # and those of an unfinished step
        self.refuse(self.take(), error)

    def _fail_appended(self, why: str) -> None:
        for proposal in [*self._taken, *self._appended.values()]:
            if not proposal.result.done():
                proposal.result.set_exception(
                    ProposalUnknownError(f"{why}: the command may still be committed")
                )
        self._taken = []
        self._appended.clear()


class Reads:
    """Reads that wait for a majority's answer, and confirmed ones that wait for applied entries."""

    def __init__(self, config: RaftConfig) -> None:
        self._config = config
        self._next_id = 0
        self._new: list[int] = []
        self._asked: dict[int, asyncio.Future[int]] = {}
        self._confirmed: list[tuple[int, asyncio.Future[int]]] = []

    def add(self) -> asyncio.Future[int]:
        """Queue a read for the next step. Raises `KafkaError` when too many wait."""
        waiting = len(self._asked) + len(self._confirmed)
        _check_room(waiting, self._config.max_pending_proposals, "reads")
        self._next_id += 1
        read_id = self._next_id
        self._new.append(read_id)
        read = self._asked[read_id] = asyncio.get_running_loop().create_future()
        read.add_done_callback(lambda _: self._asked.pop(read_id, None))  # as when it timed out
        return read

    def take(self) -> list[int]:
        """Take the ids requested since the last call."""
        new, self._new = self._new, []
        return new

    def on_confirmed(self, reads: Iterable[ConfirmedRead]) -> None:
        """Move reads on to waiting for their index: this node led when they were requested."""
        asked = ((read.index, self._asked.pop(read.read_id, None)) for read in reads)
        self._confirmed += [(index, result) for index, result in asked if result is not None]

    def on_applied(self, applied_index: int) -> None:
        """Answer the confirmed reads up to `applied_index`."""
        waiting = [read for read in self._confirmed if not read[1].done()]
        self._confirmed = [read for read in waiting if read[0] > applied_index]
        for index, result in waiting:
            if index <= applied_index:
                result.set_result(index)

    def fail_all(self, error: NotLeaderError) -> None:
        """Fail all reads when this node no longer leads, untaken ones too: ids are not reused."""
        waiting = [*self._asked.values(), *(result for _, result in self._confirmed)]
        self._new.clear()
        self._asked.clear()
        self._confirmed.clear()
        for result in waiting:
            if not result.done():
                result.set_exception(error)


def _check_room(waiting: int, limit: int, what: str) -> None:
    if waiting >= limit:
        raise ThrottlingQuotaExceededError(
            f"{limit} {what} are pending already: try again later",
        )
