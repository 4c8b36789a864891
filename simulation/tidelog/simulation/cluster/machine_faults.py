"""The faults of machines: power, and disks that forget, lie, fail, fill up or slow down.

Owns how each is done and taken back; whether it may happen is asked of the fault budget.
"""

from __future__ import annotations

from tidelog.chaos.faults.bit_flip import HARMLESS, FlipAt
from tidelog.chaos.faults.disk_full import DiskFull
from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.chaos.faults.fault import Fault, lasting
from tidelog.chaos.faults.power import EndAtWrite, PowerCut
from tidelog.chaos.faults.slow_disks import SlowDisks
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.log.file_names import LOG
from tidelog.simulation.cluster.fault_actions import DOWN_S, FaultActions, SwarmDraw
from tidelog.simulation.cluster.inside import (
    folder_of,
    has_failed_log,
    is_unguarded,
    vouched_bytes,
)

OPERATIONS_MAX = 80


class MachineFaults:
    """The kinds, for `Faults`."""

    def __init__(self, actions: FaultActions, run: ScenarioRun) -> None:
        self._actions = actions
        self._run = run
        self._simulation = actions.simulation
        self.kinds: list[Kind[SwarmDraw]] = [
            Kind("power_cut", self._power_cut, DOWN_S),
            Kind("crash_at_write", self._crash_at_write),
            Kind("kill_at_write", self._kill_at_write),
            Kind("last_standing", self._last_standing),
            Kind("bit_flip", self._bit_flip),
            Kind("disk_full", self._disk_full),
            Kind("disk_error", self._disk_error),
            Kind("slow_disk", self._slow_disk, Span(0.5, 4.0)),
        ]

    # Power

    def _power_cut(self) -> Fault | None:
        victim = self._actions.victim()
        return PowerCut(victim) if self._simulation.budget.may_lose_power(victim) else None

    async def _crash_at_write(self) -> None:
        victim = self._actions.victim()
        if self._may_strike_disk(victim) and self._simulation.budget.may_lose_power(victim):
            await self._end_at_write(victim, has_power_cut=True)

    async def _kill_at_write(self) -> None:
        victim = self._actions.victim()
        if self._may_strike_disk(victim):
            await self._end_at_write(victim, has_power_cut=False)

    async def _end_at_write(self, victim: int, *, has_power_cut: bool) -> None:
        """Until the disk ended the process, or something else did, or nothing for long."""
        machine = self._simulation.machine(victim)
        host, number = machine.host, self._actions.random.randrange(1, OPERATIONS_MAX)
        with self._actions.disks.holding(victim):
            async with lasting(self._run, EndAtWrite(victim, number, has_power_cut)):
                await self._actions.until(lambda: machine.host is not host, within_s=4.0)
        await self._actions.start_later(victim)

    async def _last_standing(self) -> None:
        """Replicas go one by one; the last one loses power; the others return first (KIP-966)."""
        found = self._actions.a_partition()
        if found is None or found[1].leader_id is None:
            return
        leader, replicas = found[1].leader_id, found[1].replicas
        others = [one for one in replicas if one != leader]
        self._actions.count("last_standing", f"node {leader} of {replicas}")
        for node_id in others:
            self._actions.kill(node_id)
            await self._actions.last(0.3, 3.0)
        if not self._actions.cut_power(leader):
            self._actions.kill(leader)
        for node_id in self._actions.shuffled([*others, leader]):
            await self._actions.last(0.2, 2.0)
            self._simulation.start(node_id)

    # Bits

    async def _bit_flip(self) -> None:
        found = self._actions.a_partition()
        if found is None:
            return
        topic, state = found
        node_id = self._actions.one_of(state.replicas)
        disk = self._simulation.machine(node_id).disk
        folder = folder_of(topic, state.partition)
        files = [name for name in disk.names(folder) if disk.length(f"{folder}/{name}")]
        logs = [name for name in files if name.endswith(".log")]
        if not logs:
            return
        name = self._actions.one_of(logs if self._actions.happens(0.7) else files)
        is_harmless = name.endswith(HARMLESS)
        if is_harmless or self._simulation.budget.may_damage(node_id, topic, state.partition):
            path = f"{folder}/{name}"
            fault = self._flip(node_id, topic, state.partition, path)
            if fault is None:
                return
            await fault.inject(self._run)
            if not is_harmless and not name.endswith(LOG) and fault.flip is not None:
                self._simulation.budget.note_flip(topic, state.partition, fault.flip)

    def _flip(self, node_id: int, topic: str, partition: int, path: str) -> FlipAt | None:
        """Draw a bit; None for a byte whose change nothing could notice."""
        machine, random = self._simulation.machine(node_id), self._actions.random
        byte, bit = random.randrange(0, machine.disk.length(path)), random.randrange(0, 8)
        is_vouched = byte < vouched_bytes(machine, topic, partition, path)
        if path.endswith(".log") and not is_vouched and is_unguarded(machine.disk, path, byte):
            return None
        return FlipAt(node_id, path, byte, bit)

    # Errors

    async def _disk_full(self) -> None:
        victim = self._actions.victim()
        if not self._may_strike_disk(victim):
            return
        room_bytes = self._actions.random.randrange(0, 4096)
        with self._actions.disks.holding(victim):
            async with lasting(self._run, DiskFull(victim, room_bytes)):
                await self._actions.last(0.3, 4.0)
        await self._mend(victim)

    async def _disk_error(self) -> None:
        found = self._actions.a_partition()
        if found is None:
            return
        topic, state = found
        victim = self._actions.one_of(state.replicas)
        folder = folder_of(topic, state.partition)
        disk = self._simulation.machine(victim).disk
        logs = [name for name in disk.names(folder) if name.endswith(".log")]
        if not logs or not self._may_strike_disk(victim):
            return
        may_lose = self._simulation.budget.may_damage(victim, topic, state.partition)
        action = self._actions.one_of(("read", "write", "sync" if may_lose else "write"))
        path = f"{folder}/{logs[-1]}"
        self._actions.count("disk_error", f"node {victim}: {action} {path}")
        if action == "sync":
            self._simulation.budget.note_failed_sync(victim, topic, state.partition)
        machine = self._simulation.machine(victim)
        with self._actions.disks.holding(victim):
            disk.faults.fail(action, path, spared=self._actions.random.randrange(0, 4), count=1)
            await self._actions.until(lambda: has_failed_log(machine), within_s=3.0)
            disk.faults.heal()
        await self._mend(victim)

    async def _mend(self, victim: int) -> None:
        """An operator starts a node again whose logs are out of service."""
        if has_failed_log(self._simulation.machine(victim)) and self._actions.kill(victim):
            await self._actions.start_later(victim)

    def _slow_disk(self) -> Fault:
        victim = self._actions.victim()
        latency_s = self._actions.random.uniform(0.02, 0.6)
        label = f"node {victim}: {latency_s:.3f} s a sync"
        return SlowDisks([victim], latency_s, kind="slow_disk", label=label)

    def _may_strike_disk(self, node_id: int) -> bool:
        return self._simulation.is_up(node_id) and self._actions.disks.is_free(node_id)
