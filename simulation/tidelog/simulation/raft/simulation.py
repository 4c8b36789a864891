"""Three or five voters, each a real driver and engine on a machine of its own, on virtual time.

It owns the machines (clock, disk, randomness), which outlive processes, and does to them what
faults ask; it decides nothing about when. What voters say, apply and promise goes to the checks at
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.raft.driver import RaftDriver
from tidelog.raft.factory import build_replicated_log
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace
from tidelog.simulation.raft.checks import Checks
from tidelog.simulation.raft.contact_checks import ContactChecks
from tidelog.simulation.raft.disk import VoterDisk
from tidelog.simulation.raft.disk_checks import DiskChecks
from tidelog.simulation.raft.election_checks import ElectionChecks
from tidelog.simulation.raft.machine import KeyValueMachine
from tidelog.simulation.raft.network import RaftNetwork, VoterTransport
from tidelog.simulation.raft.simulation_config import RaftSimulationConfig
from tidelog.simulation.suites.findings import Findings
from tidelog.simulation.suites.timeline import SIMULATION_LOOP, Timeline
from tidelog.v1.raft_pb2 import RaftMessage

DIRECTORY = "/data/raft"
WAL_PATH = f"{DIRECTORY}/raft.wal"
LIMITS = SchedulerLimits(steps=2_000_000, virtual_s=120.0)
REJOINING = "rejoining"


@dataclass(slots=True)
class Voter:
    """A machine, and the present process on it: `loop` and all below are None while it is down."""

    node_id: int
    clock: SimClock
    random: SeededRandom
    disk: VoterDisk = field(init=False)
    lives: int = 0
    has_disk_error: bool = False
    """An error of its disk was ordered: it ends by itself."""
    was_rejoining: bool = False
    loop: NodeLoop | None = None
    driver: RaftDriver | None = None
    machine: KeyValueMachine | None = None
    has_started: bool = False

    @property
    def name(self) -> str:
        """As in time lines and traces."""
        return f"n{self.node_id}"

    @property
    def is_running(self) -> bool:
        """True if it is up, started and not paused."""
        return self.has_started and self.loop is not None and not self.loop.is_paused

    @property
    def is_rejoining(self) -> bool:
        """True if its disk is new, as far as can be seen."""
        return self.driver is None or self.driver.status().role == REJOINING


class RaftSimulation:
    """Simulation of one seed: voters, their machines, links and clients."""

    def __init__(
        self,
        *,
        random: SeededRandom,
        config: RaftSimulationConfig,
        findings: Findings,
        timeline_sink: Callable[[str], None] | None,
    ) -> None:
        self.config = config
        self.findings = findings
        self.trace = Trace()
        self.scheduler = Scheduler(trace=self.trace, limits=LIMITS)
        self.timeline = Timeline(lambda: self.scheduler.now_s, timeline_sink)
        self.checks = Checks(
            findings,
            self.timeline,
            contacts=ContactChecks(
                findings,
                voters=len(config.voter_ids),
                timeout_s_min=config.raft.election_timeout_min_ms / 1000,
                timeout_s_max=config.raft.election_timeout_max_ms / 1000,
            ),
            disks=DiskChecks(
                findings,
                voters=len(config.voter_ids),
                path=WAL_PATH,
                is_calm=config.is_calm,
            ),
            elections=ElectionChecks(findings, voters=len(config.voter_ids)),
        )
        self.dead: set[int] = set()  # only compared and asked
        """Voters that never start again."""
        self.exempt: set[int] = set()  # only compared and asked
        """Voters of which nothing is asked at the end: a fault stays on them."""
        self.listeners: list[Callable[[RaftMessage], None]] = []
        """Called with what a voter says, before it is on its way; on the voter's loop."""
        self.loop = self.scheduler.new_loop(SIMULATION_LOOP)
        self.network = RaftNetwork(
            scheduler=self.scheduler,
            loop=self.loop,
            random=random.fork("network"),
            kind=config.network,
            on_delivered=self.on_delivered,
        )
        self.voters = {
            node_id: self._new_voter(node_id, random.fork(f"voter-{node_id}"))
            for node_id in config.voter_ids
        }

    # What faults do to a voter

    def start(self, voter: Voter) -> None:
        """Start a process on what the voter's disk holds, unless one runs or the voter is dead."""
        if voter.loop is not None or voter.node_id in self.dead:
            return
        if voter.disk.needs_reboot:
            self._lose_power(voter)
        voter.disk.begin_life()
        voter.lives += 1
        self.note(voter, f"starts, life {voter.lives}")
        voter.loop = self.scheduler.new_loop(voter.name, voter.clock)
        voter.machine = KeyValueMachine(
            on_applied=lambda entry, state: self.checks.states.on_applied(
                voter.node_id, entry, state
            ),
            on_restored=lambda index, term, state: self._on_restored(voter, index, term, state),
        )
        voter.driver = self._build(voter, voter.loop)
        self.checks.begin_life(voter.node_id, voter.driver, voter.disk)
        self.checks.contacts.begin_life(voter.node_id, voter.clock.monotonic_s())
        voter.loop.create_task(self._live(voter, voter.driver, voter.machine), name="start")

    def kill(self, voter: Voter) -> None:
        """SIGKILL: the process is gone, what it wrote is with the operating system."""
        if voter.loop is None:
            return
        if voter.driver is not None:
            self.checks.look(voter.driver)
        voter.loop.kill()
        self.network.detach(voter.node_id)
        voter.loop = voter.driver = voter.machine = None
        voter.has_started = False
        self.note(voter, "is killed")

    def crash(self, voter: Voter) -> None:
        """The machine loses power: un-synced bytes are lost, in whole or in part."""
        self.kill(voter)
        self._lose_power(voter)

    def wipe(self, voter: Voter) -> None:
        """The machine comes back with a new disk."""
        self.kill(voter)
        voter.disk = self._new_disk(voter)
        voter.was_rejoining = True
        self.checks.wire.on_wiped(voter.node_id)
        self.note(voter, "lost its disk")

    def pause(self, voter: Voter) -> None:
        """SIGSTOP."""
        if voter.loop is not None:
            self.note(voter, "is paused")
            voter.loop.pause()

    def resume(self, voter: Voter) -> None:
        """SIGCONT."""
        if voter.loop is not None and voter.loop.is_paused:
            self.note(voter, "goes on")
            voter.loop.resume()
            self.checks.contacts.on_resumed(voter.node_id, voter.clock.monotonic_s())

    def drift(self, voter: Voter, rate: float) -> None:
        """Let its clock run at `rate` seconds a second from now on."""
        self.note(voter, f"has a clock of rate {rate:.2f}")
        if voter.loop is None:
            voter.clock.set_rate(rate)
        else:
            self.scheduler.change_rate(voter.loop, rate)

    # What is seen

    def leader(self) -> Voter | None:
        """The voter of the greatest term that believes to lead."""
        return next(reversed(self.leaders()), None)

    def leaders(self) -> list[Voter]:
        """Voters that believe to lead, by term."""
        found = [
            (voter.driver.term, voter.node_id)
            for voter in self.voters.values()
            if voter.driver is not None and voter.has_started and voter.driver.is_leader
        ]
        return [self.voters[node_id] for _, node_id in sorted(found)]

    def note(self, voter: Voter, what: str) -> None:
        """An event of a voter."""
        self.trace.record(self.scheduler.now_s, voter.name, what)
        self.timeline.note(voter.name, what)

    def look_at_all(self) -> None:
        """Compare all whole logs, and notice who has rejoined."""
        drivers = [voter.driver for voter in self.voters.values() if voter.driver is not None]
        self.checks.look_at_whole(drivers)
        for voter in self.voters.values():
            if voter.was_rejoining and voter.has_started and not voter.is_rejoining:
                voter.was_rejoining = False
                self.findings.coverage["rejoins"] += 1
                self.note(voter, "has rejoined")

    def is_settled(self) -> bool:
        """True if all but exempt ones run, take part and have applied the same, all of it."""
        asked = self.asked()
        if self.leader() is None or not all(voter.is_running for voter in asked):
            return False
        if any(voter.is_rejoining for voter in asked):
            return False
        drivers = [voter.driver for voter in asked if voter.driver is not None]
        return len({(driver.commit_index, driver.applied_index) for driver in drivers}) == 1

    def asked(self) -> list[Voter]:
        """Voters that must come to rest at the end: no fault stays on them."""
        return [voter for voter in self.voters.values() if voter.node_id not in self.exempt]

    def on_delivered(self, node_id: int, message: RaftMessage) -> None:
        """A message of this cluster, a voter's or one that is forged, reached a voter."""
        voter = self.voters[node_id]
        storage = voter.driver.storage if voter.driver is not None else None
        self.checks.contacts.on_delivered(
            node_id,
            message,
            voter.clock.monotonic_s(),
            term=storage.wal.term if storage is not None else 0,
        )

    # Building

    def _new_voter(self, node_id: int, random: SeededRandom) -> Voter:
        clock = SimClock(
            lambda: self.scheduler.now_s,
            offset_s=random.uniform(0, 1000),
            rate=random.uniform(0.97, 1.03),
        )
        voter = Voter(node_id=node_id, clock=clock, random=random)
        voter.disk = self._new_disk(voter)
        return voter

    def _new_disk(self, voter: Voter) -> VoterDisk:
        random = voter.random.fork(f"disk-{voter.lives}")
        latency_s = random.uniform(0.0001, self.config.sync_latency_s_max)
        return VoterDisk(
            random,
            sync_latency_s=latency_s,
            on_power_cut=lambda: self._on_power_cut(voter),
            on_killed=lambda: self.kill(voter),
        )

    def _build(self, voter: Voter, loop: NodeLoop) -> RaftDriver:
        peers = [node_id for node_id in self.voters if node_id != voter.node_id]
        driver: RaftDriver

        def on_fatal(error: BaseException) -> None:
            if not loop.is_dead:  # the dead close their files, and say nothing
                self._on_end(voter, error, "voter_failed")

        transport = VoterTransport(
            network=self.network,
            node_id=voter.node_id,
            peers=peers,
            loop=loop,
            on_sent=lambda message: self._on_sent(voter, driver, message),
        )
        driver = build_replicated_log(
            node_id=voter.node_id,
            voters={node_id: f"n{node_id}" for node_id in self.voters},
            directory=DIRECTORY,
            disk=voter.disk,
            clock=voter.clock,
            random=voter.random.fork(f"life-{voter.lives}"),
            transport=transport,
            config=self.config.raft,
            on_fatal=on_fatal,
        )
        return driver

    # On a voter's loop

    def _on_sent(self, voter: Voter, driver: RaftDriver, message: RaftMessage) -> None:
        self.checks.on_sent(driver, message)
        self.checks.contacts.on_sent(
            message,
            voter.clock.monotonic_s(),
            sync_s=voter.disk.slowest_sync_s,
            can_lose_connections=not self.config.network.is_lawless,
        )
        for listener in list(self.listeners):
            listener(message)

    async def _live(self, voter: Voter, driver: RaftDriver, machine: KeyValueMachine) -> None:
        try:
            await driver.start(machine)
        except Exception as error:  # noqa: BLE001  # whatever a start ends with is judged
            self._on_end(voter, error, "recovery")
        else:
            voter.has_started = True

    def _on_restored(self, voter: Voter, index: int, term: int, state: int) -> None:
        self.checks.states.on_restored(voter.node_id, index, term, state)
        if voter.has_started:
            self.findings.coverage["snapshot_installs"] += 1
            self.note(voter, f"installed a snapshot up to {index}")

    def _on_end(self, voter: Voter, error: BaseException, invariant: str) -> None:
        self.note(voter, f"ends: {error!r}")
        is_expected = voter.has_disk_error or voter.disk.has_failed
        if not (is_expected and isinstance(error, StorageError)):
            self.findings.report(invariant, f"{voter.name}: {error!r}")
        loop = voter.loop
        self.scheduler.deliver(
            self.loop, lambda: self.kill(voter) if voter.loop is loop else None, delay_s=0
        )

    def _on_power_cut(self, voter: Voter) -> None:
        self.note(voter, "loses power in the midst of a write")
        self.findings.coverage["crashes_at_a_write"] += 1
        self.kill(voter)
        # the write that was under way ends first
        self.scheduler.deliver(self.loop, lambda: self._lose_power(voter), delay_s=0)

    def _lose_power(self, voter: Voter) -> None:
        loss = voter.disk.lose_power()
        self.findings.coverage["lossy_crashes"] += loss.is_lossy
        self.findings.coverage["torn_writes"] += loss.is_torn
        self.note(voter, f"lost power{', bytes' * loss.is_lossy}{', torn' * loss.is_torn}")
