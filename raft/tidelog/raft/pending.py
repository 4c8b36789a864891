"""What callers of a voter wait for: proposals and reads, each bounded, each with one outcome.

Owns the futures and who waits for which index; never decides what is committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.core.errors import KafkaError, MessageTooLargeError
from tidelog.raft.config import RaftConfig
from tidelog.raft.engine import ConfirmedRead, EngineEntry
from tidelog.raft.replicated_log import CommittedEntry, NotLeaderError, ProposalUnknownError
from tidelog.v1 import common_pb2


@dataclass(slots=True)
class Proposal:
    """A command on its way; `term` is that of its append, 0 before."""

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
        """Queue a command for the next step. Errors: as of `ReplicatedLog.propose`, definite."""
        limit = self._config.max_command_bytes
        if len(command) > limit:
            raise MessageTooLargeError(f"a command of {len(command)} bytes; the limit is {limit}")
        _check_room(
            len(self._waiting) + len(self._appended),
            self._config.max_pending_proposals,
            "proposals",
        )
        proposal = Proposal(command, asyncio.get_running_loop().create_future())
        self._waiting.append(proposal)
        return proposal

    async def outcome(self, proposal: Proposal, *, timeout_ms: int) -> CommittedEntry:
        """Wait. Errors: `ProposalUnknownError` after `timeout_ms`, or what ended the proposal."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await proposal.result
        except TimeoutError:
            raise ProposalUnknownError(f"not committed within {timeout_ms} ms") from None

    def take(self) -> list[Proposal]:
        """Those that nobody appended yet and somebody still waits for; `keep` or `refuse` them."""
        self._taken = [proposal for proposal in self._waiting if not proposal.result.done()]
        self._waiting.clear()
        return self._taken

    def keep(self, proposals: Sequence[Proposal], indexes: Sequence[int], *, term: int) -> None:
        """They were appended at these indexes."""
        self._taken = []
        for index, proposal in zip(indexes, proposals, strict=True):
            proposal.term = term
            self._appended[index] = proposal

    def refuse(self, proposals: Iterable[Proposal], error: NotLeaderError) -> None:
        """They were certainly not appended."""
        self._taken = []
        for proposal in proposals:
            if not proposal.result.done():
                proposal.result.set_exception(error)

    def on_committed(self, entry: EngineEntry) -> None:
        """An entry was committed and applied: perhaps one of these, perhaps in its place."""
        proposal = self._appended.pop(entry.index, None)
        if proposal is None or proposal.result.done():
            return
        if proposal.term == entry.term:
            proposal.result.set_result(
                CommittedEntry(index=entry.index, term=entry.term, command=proposal.command)
            )
        else:
            proposal.result.set_exception(ProposalUnknownError("another leader's entry took over"))

    def on_leadership_lost(self) -> None:
        """Nobody here learns for certain what became of those that were appended."""
        self._fail_appended("this node lost the leadership")

    def fail_all(self, why: str, error: NotLeaderError) -> None:
        """The node stops."""
        self._fail_appended(why)  # and those of a step that did not end
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
    """Reads that wait for a majority's answer, and confirmed ones that wait to be applied."""

    def __init__(self, config: RaftConfig) -> None:
        self._config = config
        self._next_id = 0
        self._new: list[int] = []
        self._asked: dict[int, asyncio.Future[int]] = {}
        self._confirmed: list[tuple[int, asyncio.Future[int]]] = []

    def add(self) -> asyncio.Future[int]:
        """Queue a read for the next step. Errors: `KafkaError` when too many wait."""
        waiting = len(self._asked) + len(self._confirmed)
        _check_room(waiting, self._config.max_pending_proposals, "reads")
        self._next_id += 1
        self._new.append(self._next_id)
        self._asked[self._next_id] = asyncio.get_running_loop().create_future()
        return self._asked[self._next_id]

    def take(self) -> list[int]:
        """The ids asked for since the last call."""
        new, self._new = self._new, []
        return new

    def on_confirmed(self, reads: Iterable[ConfirmedRead]) -> None:
        """This node led when they were asked."""
        self._confirmed += [(read.index, self._asked.pop(read.read_id)) for read in reads]

    def on_applied(self, applied_index: int) -> None:
        """Answer the confirmed reads for which enough is applied."""
        ready = [read for read in self._confirmed if read[0] <= applied_index]
        self._confirmed = [read for read in self._confirmed if read[0] > applied_index]
        for index, result in ready:
            if not result.done():
                result.set_result(index)

    def fail_all(self, error: NotLeaderError) -> None:
        """This node no longer leads. What was not taken yet fails as well: ids are not reused."""
        waiting = [*self._asked.values(), *(result for _, result in self._confirmed)]
        self._new.clear()
        self._asked.clear()
        self._confirmed.clear()
        for result in waiting:
            if not result.done():
                result.set_exception(error)


def _check_room(waiting: int, limit: int, what: str) -> None:
    if waiting >= limit:
        raise KafkaError(
            common_pb2.THROTTLING_QUOTA_EXCEEDED,
            f"{limit} {what} wait already: try again later",
        )
