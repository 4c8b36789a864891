"""Service of a voter to clients: propose or prove leadership, then answer.

It runs on the voter's loop, beside its Raft task, as the controller would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.core.errors import TidelogError
from tidelog.raft.replicated_log import NotLeaderError, ReplicatedLog
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.raft.linearizability import Operation
from tidelog.simulation.raft.machine import Command, KeyValueMachine, Outcome
from tidelog.simulation.raft.simulation import RaftSimulation, Voter

PROPOSE_MS = 600


@dataclass(frozen=True, slots=True)
class Answer:
    """An outcome, or `is_refused` (certainly not done by this request), or neither: unknown."""

    outcome: Outcome | None = None
    is_refused: bool = False
    leader_id: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A request at one voter."""

    simulation: RaftSimulation
    voter: Voter
    operation: Operation
    command: Command

    def begin(self, loop: NodeLoop, answer: Callable[[Answer], None]) -> None:
        """The request arrived; `answer` is called once, unless the voter dies before."""
        driver, machine = self.voter.driver, self.voter.machine
        if driver is None or machine is None or not self.voter.has_started:
            answer(Answer(is_refused=True))
            return
        loop.create_task(self._serve(driver, machine, answer), name="request")

    async def _serve(
        self, log: ReplicatedLog, machine: KeyValueMachine, answer: Callable[[Answer], None]
    ) -> None:
        try:
            if self.operation.kind == "read":
                await log.read_barrier(timeout_ms=PROPOSE_MS)
                outcome = Outcome(is_done=True, previous=machine.values.get(self.operation.key))
            else:
                outcome = await self._propose(log, machine)
        except TidelogError as error:
            answer(self._failed(error))
        else:
            answer(Answer(outcome=outcome))

    async def _propose(self, log: ReplicatedLog, machine: KeyValueMachine) -> Outcome:
        entry = await log.propose(self.command.encode(), timeout_ms=PROPOSE_MS)
        self.simulation.checks.states.on_acknowledged(entry)
        return machine.outcomes[self.command.command_id]

    def _failed(self, error: TidelogError) -> Answer:
        leader_id = error.leader_id if isinstance(error, NotLeaderError) else None
        if error.is_outcome_unknown:
            return Answer(leader_id=leader_id)
        if self.operation.kind != "read":
            self.simulation.checks.states.on_refused(self.command)
        return Answer(is_refused=True, leader_id=leader_id)
