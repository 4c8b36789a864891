"""The term in which this node is the active controller, and the two proofs that it was.

A decision with records is proven by their commit: they are void at any other offset than the one
they were decided on. A decision without any is proven by a read barrier. Both hold in one Raft
term, which is the controller epoch. Owns the term in which this node is active; decides nothing.
"""

from __future__ import annotations

from tidelog.core.env import Clock, Random
from tidelog.core.errors import KafkaError, NotControllerError
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.state_machine import MetadataStateMachine
from tidelog.raft.replicated_log import CommittedEntry, ProposalUnknownError, ReplicatedLog
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord

_BATCH_ID_BYTES = 16
_NOWHERE = -1
"""A base offset that no image has, so that the batch is void."""


class ActiveTerm:
    """`is_outcome_unknown` says that a batch of this node may have committed, or may yet."""

    def __init__(
        self,
        *,
        log: ReplicatedLog,
        machine: MetadataStateMachine,
        clock: Clock,
        random: Random,
        config: ControllerConfig,
    ) -> None:
        self.is_outcome_unknown = False
        self._log = log
        self._machine = machine
        self._clock = clock
        self._random = random
        self._timeout_ms = config.commit_timeout_ms
        self._term: int | None = None

    @property
    def is_active(self) -> bool:
        """True when this node leads and has replayed all that was committed before it did.

        As far as it knows: good enough to choose the controller to ask.
        """
        return self._term is not None and self._log.is_leader

    def update(self) -> int | None:
        """Look at the log's leadership; return the term when this node has become active in it."""
        before, self._term = self._term, self._log.term if self._log.is_leader else None
        return None if self._term == before else self._term

    def end(self) -> None:
        """End this node's part: it is not active from now on."""
        self._term = None

    def current(self) -> int:
        """Return the term to decide in; raises NOT_CONTROLLER while this node is not active."""
        term = self._term
        if term is None or not self.is_active or term != self._log.term:
            raise self.refusal()
        return term

    async def confirm(self) -> int:
        """Return the term in which a majority confirmed, since this call, that this node leads.

        Every batch committed before the call has applied. Errors: a `TidelogError`, mostly
        NOT_CONTROLLER; nothing was decided.
        """
        term = self.current()
        await self._log.read_barrier(timeout_ms=self._timeout_ms)
        if self.current() != term:
            raise self.refusal()
        return term

    async def commit(self, records: list[MetadataRecord], *, base_offset: int, term: int) -> int:
        """Commit a batch and return its offset; it has applied then. Errors as `propose`."""
        entry = await self._propose(records, base_offset=base_offset, term=term)
        if not self._machine.has_applied(entry.index):
            raise void_error()
        return entry.index

    async def settle(self) -> None:
        """Resolve the last batch's outcome by committing a void batch after it.

        The log is in order: once the void batch is committed, the last one has applied or never
        will.
        """
        term = self.current()
        try:
            await self._propose([], base_offset=_NOWHERE, term=term)
        except ProposalUnknownError:
            raise self.refusal() from None  # nothing of the waiting commands was proposed
        self.is_outcome_unknown = False

    def refusal(self) -> KafkaError:
        """NOT_CONTROLLER, with the active controller where it is known."""
        leader_id = self._log.leader_id
        is_known = leader_id is not None and leader_id != self._log.node_id
        where = f"controller {leader_id} leads" if is_known else "no controller leads yet"
        return NotControllerError(
            f"node {self._log.node_id} is not the active controller: {where}, try again",
        )

    async def _propose(
        self, records: list[MetadataRecord], *, base_offset: int, term: int
    ) -> CommittedEntry:
        batch = MetadataBatch(
            controller_id=self._log.node_id,
            controller_epoch=term,
            base_offset=base_offset,
            records=records,
            command_id=self._random.randbytes(_BATCH_ID_BYTES),
            decided_ms=self._clock.wall_ms(),
        )
        return await self._log.propose(
            batch.SerializeToString(deterministic=True), timeout_ms=self._timeout_ms
        )


def void_error() -> KafkaError:
    """The error of a decision that did not happen and never will."""
    return NotControllerError(
        "another controller decided first and this decision is void: try again",
    )
