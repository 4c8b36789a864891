"""Senders that are no voters and speak as one: a node of another cluster, and a forger.

Every third seed has both, beside its faults and with randomness of their own. They stand at a known
address and say what `workloads.forged_raft` makes: another cluster's leader with a log that matches
by chance, the same in the own cluster's name (a folder that was mixed up), terms from nowhere.
"""

from __future__ import annotations

import asyncio

from tidelog.chaos.workloads.forged_raft import Aim, imitate, leap
from tidelog.core.chance import SeededRandom
from tidelog.raft.log_origin import term_start
from tidelog.simulation.raft.simulation import RaftSimulation, Voter
from tidelog.simulation.raft.simulation_config import CLUSTER_ID
from tidelog.v1.raft_pb2 import RaftMessage

FOREIGN_ID = "foreign"
EVERY = 3
"""Seeds, one of which has strangers."""
PAUSE_S_MIN, PAUSE_S_MAX = 0.3, 2.0
NEXT_START_MS = 1_700_000_200_000
LEAPS_MAX = 3
"""Each costs an election."""


class Strangers:
    """Sends until stopped; there is nothing to heal."""

    def __init__(self, simulation: RaftSimulation, random: SeededRandom, *, seed: int) -> None:
        self._simulation = simulation
        self._random = random
        self._are_there = seed % EVERY == 1
        self._leaps = 0

    async def speak_until(self, end_s: float) -> None:
        """Send messages in a loop; on the simulation's loop."""
        while self._are_there and self._simulation.scheduler.now_s < end_s:
            await asyncio.sleep(self._random.uniform(PAUSE_S_MIN, PAUSE_S_MAX))
            heard = [voter for voter in self._simulation.voters.values() if voter.is_running]
            if heard and not self._simulation.findings.violations:
                self._speak(heard[self._random.randrange(0, len(heard))])

    def _speak(self, voter: Voter) -> None:
        kind = ("stranger", "mixed_up", "leap")[self._random.randrange(0, 3)]
        if kind == "leap" and self._leaps == LEAPS_MAX:
            kind = "stranger"
        aim = self._aim(voter, cluster_id=FOREIGN_ID if kind == "stranger" else CLUSTER_ID)
        match kind:
            case "stranger":
                message = imitate(aim, self._random, first=term_start(CLUSTER_ID))
            case "mixed_up":
                message = imitate(aim, self._random, first=term_start(FOREIGN_ID))
            case _:
                self._leaps += 1
                message = leap(aim, self._random)
        self._simulation.findings.faults[kind] += 1
        self._simulation.note(voter, f"hears a {kind} as n{aim.sender_id}")
        self._deliver(voter, message)

    def _aim(self, voter: Voter, *, cluster_id: str) -> Aim:
        driver = voter.driver
        assert driver is not None
        assert driver.storage is not None
        wal = driver.storage.wal
        others = [one for one in self._simulation.voters.values() if one is not voter]
        sender = others[self._random.randrange(0, len(others))]
        return Aim(
            cluster_id=cluster_id,
            sender_id=sender.node_id,
            receiver_id=voter.node_id,
            term=wal.term,
            last_index=wal.last_index,
            last_term=wal.last_term,
            incarnation=_incarnation(sender),
        )

    def _deliver(self, voter: Voter, message: RaftMessage) -> None:
        loop, driver = voter.loop, voter.driver
        if loop is None or driver is None:
            return

        def arrive() -> None:
            if message.cluster_id == CLUSTER_ID:
                self._simulation.on_delivered(voter.node_id, message)
            driver.on_message(message.sender_id, message)

        loop.call_soon(arrive)


def _incarnation(voter: Voter) -> int:
    """The present one, or of a start whose clock is a little ahead."""
    if voter.driver is None or voter.driver.storage is None:
        return NEXT_START_MS
    return voter.driver.storage.wal.incarnation
