"""Clients of the Raft suite: each writes, compares-and-sets and reads a few keys, one at a time.

It owns what clients ask of whom, how long they wait and what they then know: the history. A client
follows the leader it was told of, asks another now and then, tries again under the same command id,
and gives up after a while without knowing the outcome.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Literal

from tidelog.core.chance import SeededRandom
from tidelog.simulation.raft.linearizability import Operation
from tidelog.simulation.raft.machine import Command
from tidelog.simulation.raft.service import Answer, Service
from tidelog.simulation.raft.simulation import RaftSimulation, Voter

KEYS = 5
CLIENTS = 5
THINK_S_MAX = 0.25
COMPARE_S_MAX = 0.03
GIVE_UP_S_MIN, GIVE_UP_S_MAX = 0.4, 2.0
ATTEMPT_S = 0.7
REFUSED_WAIT_S = 0.08
CLIENT_LATENCY_S_MIN, CLIENT_LATENCY_S_MAX = 0.0002, 0.003
ASK_ANYONE_PROBABILITY = 0.15
LOST_REQUEST_PROBABILITY = 0.01
PADDING_CHARACTERS_MAX = 120
LARGE_PROBABILITY, LARGE_PADDING_CHARACTERS_MAX = 0.2, 1800


Kind = Literal["read", "write", "compare-and-set"]


class Workload:
    """Clients and the history of what they saw."""

    def __init__(self, simulation: RaftSimulation, random: SeededRandom) -> None:
        self.history: list[Operation] = []
        """Operations that may have happened, in the order of the calls' ends."""
        self.operations = 0
        """Begun, whatever their end."""
        self.is_over = False
        self._simulation = simulation
        self._random = random
        self._events = 0

    async def run(self) -> None:
        """Until `is_over`; on the simulation's loop."""
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                random = self._random.fork(f"client-{number}")
                client = Client(f"client-{number}", self, self._simulation, random)
                group.create_task(client.run(), name=client.name)
            comparer = Client("comparer", self, self._simulation, self._random.fork("comparer"))
            group.create_task(comparer.compare_leaders(), name=comparer.name)

    def witness(self) -> Client:
        """A client that asks only when it is told to; what it sees counts like all the others'."""
        return Client("witness", self, self._simulation, self._random.fork("witness"))

    def next_event(self) -> int:
        """The next place in the order of all calls and ends."""
        self._events += 1
        return self._events

    async def read_all(self) -> None:
        """Read every key once, in the calm at the end."""
        client = Client("reader", self, self._simulation, self._random.fork("reader"))
        for key in range(KEYS):
            await client.do("read", key)


class Client:
    """A client: operations of its own choice, one at a time."""

    def __init__(
        self, name: str, workload: Workload, simulation: RaftSimulation, random: SeededRandom
    ) -> None:
        self.name = name
        self._workload = workload
        self._simulation = simulation
        self._random = random
        self._leader_id: int | None = None
        self._last_found: dict[int, int | None] = {}

    async def run(self) -> None:
        """Until the workload is over."""
        while not self._workload.is_over:
            await asyncio.sleep(self._random.uniform(0, THINK_S_MAX))
            await self.do(*self._draw())

    async def compare_leaders(self) -> None:
        """While two voters believe to lead, write through the newer and read from the older one.

        A client may be so unlucky; here one always is, for such moments are short.
        """
        while not self._workload.is_over:
            await asyncio.sleep(self._random.uniform(0, COMPARE_S_MAX))
            leaders = self._simulation.leaders()
            if len(leaders) > 1:
                key = self._random.randrange(0, KEYS)
                await self.ask("write", key, leaders[-1])
                await self.ask("read", key, leaders[0])

    async def ask(self, kind: Kind, key: int, voter: Voter) -> None:
        """Ask this voter once, leader or not, and write the end down."""
        operation = self._new(kind, key)
        self._end(operation, await self._attempt(operation, 1, voter))

    def _new(self, kind: Kind, key: int, expected: int | None = None) -> Operation:
        workload = self._workload
        workload.operations += 1
        number, called = workload.operations, workload.next_event()
        value = None if kind == "read" else number
        return Operation(number, kind, key, called, value=value, expected=expected)

    async def do(self, kind: Kind, key: int, expected: int | None = None) -> None:
        """Call it, wait for its end, and write both down."""
        operation = self._new(kind, key, expected)
        answer = await self._call_until_known(operation)
        if answer.outcome is not None:
            self._last_found[operation.key] = answer.outcome.previous
            if operation.kind != "read" and answer.outcome.is_done:
                self._last_found[operation.key] = operation.value
        self._end(operation, answer)

    def _end(self, operation: Operation, answer: Answer) -> None:
        if answer.outcome is not None:
            operation = replace(
                operation,
                returned=self._workload.next_event(),
                found=answer.outcome.previous,
                is_done=answer.outcome.is_done,
            )
        self._write_down(operation, answer)

    def _write_down(self, operation: Operation, answer: Answer) -> None:
        coverage = self._simulation.findings.coverage
        is_counted = answer.outcome is not None or (
            operation.kind != "read" and not answer.is_refused
        )
        if answer.outcome is not None:
            coverage["reads"] += operation.kind == "read"
        elif operation.kind != "read":
            coverage["refused_commands" if answer.is_refused else "unknown_outcomes"] += 1
        if is_counted:
            self._workload.history.append(operation)
        what = "refused" if answer.is_refused else ""
        self._simulation.timeline.note(self.name, f"{operation} {what}")

    def _draw(self) -> tuple[Kind, int, int | None]:
        key = self._random.randrange(0, KEYS)
        drawn = self._random.random()
        if drawn < 0.35:
            return "read", key, None
        if drawn < 0.6:
            return "compare-and-set", key, self._last_found.get(key)
        return "write", key, None

    # Attempts

    async def _call_until_known(self, operation: Operation) -> Answer:
        patience_s = self._random.uniform(GIVE_UP_S_MIN, GIVE_UP_S_MAX)
        give_up_s = self._simulation.scheduler.now_s + patience_s
        attempt = 0
        is_unknown = False
        while self._simulation.scheduler.now_s < give_up_s:
            attempt += 1
            answer = await self._attempt(operation, attempt, self._choose())
            if answer.outcome is not None:
                self._simulation.findings.coverage["retried_commands"] += is_unknown
                return answer
            is_unknown |= not answer.is_refused
            self._leader_id = answer.leader_id
            await asyncio.sleep(self._random.uniform(0, REFUSED_WAIT_S))
        return Answer(is_refused=not is_unknown)

    async def _attempt(self, operation: Operation, attempt: int, voter: Voter) -> Answer:
        loop = voter.loop
        if loop is None or self._random.random() < LOST_REQUEST_PROBABILITY:
            await asyncio.sleep(self._latency_s())
            return Answer(is_refused=loop is None)
        reply: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        is_large = self._random.random() < LARGE_PROBABILITY
        most = LARGE_PADDING_CHARACTERS_MAX if is_large else PADDING_CHARACTERS_MAX
        padding = "x" * self._random.randrange(0, most)
        command = Command(
            command_id=operation.number,
            attempt=attempt,
            key=operation.key,
            value=operation.value or 0,
            is_conditional=operation.kind == "compare-and-set",
            expected=operation.expected,
            padding=padding,
        )
        service = Service(self._simulation, voter, operation, command)
        delay_s, back_s = self._latency_s(), self._latency_s()

        def arrive(result: Answer) -> None:
            if not reply.done():
                reply.set_result(result)

        def answer(result: Answer) -> None:
            scheduler = self._simulation.scheduler
            scheduler.deliver(self._simulation.loop, lambda: arrive(result), delay_s=back_s)

        self._simulation.scheduler.deliver(
            loop, lambda: service.begin(loop, answer), delay_s=delay_s
        )
        try:
            async with asyncio.timeout(ATTEMPT_S):
                return await reply
        except TimeoutError:
            return Answer()

    def _choose(self) -> Voter:
        voters = self._simulation.voters
        leader_id = self._leader_id
        if leader_id is None or self._random.random() < ASK_ANYONE_PROBABILITY:
            ids = list(voters)
            leader_id = ids[self._random.randrange(0, len(ids))]
        self._leader_id = leader_id
        return voters[leader_id]

    def _latency_s(self) -> float:
        return self._random.uniform(CLIENT_LATENCY_S_MIN, CLIENT_LATENCY_S_MAX)
