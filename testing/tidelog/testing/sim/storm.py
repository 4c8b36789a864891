"""Storm of a simulated test: strikes drawn before it begins, so that any can be left out.

Each strike has a moment, a kind, and a stream of chance of its own, from which it draws its victim
and how long it lasts: leaving one out moves no other. Faults keep to the fault budget, so no storm
may cost an acknowledged record.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidelog.chaos.faults.budget import Claims
from tidelog.chaos.faults.drawer import Kind, Plan, Span
from tidelog.chaos.faults.fault import FaultError
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.client.admin import Admin
from tidelog.client.errors import TidelogError
from tidelog.core.chance import SeededRandom, one_of
from tidelog.simulation.cluster.cluster import ClientPorts
from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.cluster.fault_actions import DOWN_S, FaultActions, SwarmDraw
from tidelog.simulation.cluster.machine_faults import MachineFaults
from tidelog.simulation.cluster.process_faults import (
    FROZEN_S,
    LINKS_S,
    LinkAndProcessFaults,
    strike,
)
from tidelog.simulation.engine.network import Host
from tidelog.testing.sim.errors import SimulatedTestError
from tidelog.testing.sim.processes import SimulatedProcess
from tidelog.testing.sim.target import SimulatedTarget

STANDARD = (
    *("kill", "stop", "pause", "pause_controller", "rolling_restart", "leader_move"),
    *("partition", "one_way", "isolate", "isolate_controller", "cut_from_clients"),
    *("clog", "weather", "clock_drift", "process_kill", "process_pause", "process_cut"),
)
HARSH = (
    *STANDARD,
    *("power_cut", "crash_at_write", "kill_at_write", "restart_all", "disk_full", "slow_disk"),
)
SETS = {"none": (), "standard": STANDARD, "harsh": HARSH}

PLAN = Plan(kinds_min=2, kinds_max=6, gap=Span(0.02, 1.2))
LED_AGAIN_S_MAX = 5.0
STRIKES_MAX = 12
"""Strikes of a storm at most: its faults end by themselves within seconds."""
BETWEEN_NODES = ("partition", "one_way", "isolate", "isolate_controller")
"""Kinds that a cluster of one node has not."""
AT_A_MOMENT = ("kill", "stop", "process_kill", "power_cut", "leader_move", "clock_drift")
WORDS = {
    "partition": "cut",
    "process_kill": "kill",
    "process_pause": "pause",
    "process_cut": "cut",
    "one_way": "lose",
}


def kinds_of(faults: str | Sequence[str]) -> tuple[str, ...]:
    """Kinds of faults by the name of a set, or by their own. Raises `SimulatedTestError`."""
    if isinstance(faults, str):
        if faults in SETS:
            return SETS[faults]
        faults = (faults,)
    unknown = [one for one in faults if one not in HARSH]
    if unknown:
        raise SimulatedTestError(
            f"faults: there is no {unknown[0]!r}; there are the sets {', '.join(SETS)}, and the "
            f"kinds {', '.join(HARSH)}"
        )
    return tuple(faults)


@dataclass(frozen=True, slots=True)
class Strike:
    """A strike that is planned: its number within the seed, its kind, its moment in a storm."""

    number: int
    kind: str
    at_s: float


@dataclass(slots=True)
class Struck:
    """A strike that came to something."""

    number: int
    kind: str
    what: str
    began_s: float
    ended_s: float | None = None

    def __str__(self) -> str:
        words = f"{WORDS.get(self.kind, self.kind.replace('_', ' '))} {_plain(self.what)}".rstrip()
        if self.kind in AT_A_MOMENT:
            return f"{words} at {self.began_s:.2f} s"
        end = "" if self.ended_s is None else f"{self.ended_s:.2f}"
        return f"{words} {self.began_s:.2f}–{end} s"


def draw_strikes(random: SeededRandom, kinds: Sequence[str], *, first: int) -> list[Strike]:
    """Draw the strikes of a storm: some of the kinds, one after another, gaps short or long."""
    rows = [Kind(name, None) for name in kinds]
    if not rows:
        return []
    used = [kind.name for kind in PLAN.draw_kinds(random, rows)]
    strikes, at_s = [], 0.0
    for number in range(first, first + random.randrange(1, STRIKES_MAX + 1)):
        # as often of the order of a request as of a session
        at_s += PLAN.gap.low * (PLAN.gap.high / PLAN.gap.low) ** random.random()
        strikes.append(Strike(number, one_of(random, used), at_s))
    return strikes


@dataclass(frozen=True, slots=True)
class Field:
    """Parts that the storms of a seed share: the target, the processes, a host of their own."""

    target: SimulatedTarget
    processes: Sequence[SimulatedProcess]
    host: Host
    ports: ClientPorts
    left_out: Collection[int]
    struck: list[Struck]
    disks: Claims


class Storm:
    """Strikes from `begin` to `end`; what lasts then goes on to its own end."""

    def __init__(self, field: Field, strikes: Sequence[Strike], random: SeededRandom) -> None:
        self._field = field
        self._strikes = strikes
        self._random = random
        self._tasks: set[asyncio.Task[None]] = set()
        self._count = 0
        self._is_ending = False

    @property
    def is_over(self) -> bool:
        """True when the last fault of it has ended."""
        return self._count == 0

    def begin(self) -> None:
        """Begin to strike, on a loop beside the test's."""
        self._count += 1
        self._spawn(self._strike_all(), "storm")

    def end(self) -> None:
        """Begin no other strike."""
        self._is_ending = True

    def _spawn(self, work: object, name: str) -> None:
        loop = self._field.host.loop
        loop.create_task(work, name=name, context=loop.context.copy())  # type: ignore[arg-type]

    async def _strike_all(self) -> None:
        begun_s = self._field.target.now_s
        for planned in self._strikes:
            await asyncio.sleep(max(0.0, begun_s + planned.at_s - self._field.target.now_s))
            if self._is_ending:
                break
            if planned.number not in self._field.left_out:
                self._count += 1
                self._spawn(self._strike(planned), f"strike {planned.number}")
        self._count -= 1

    async def _strike(self, planned: Strike) -> None:
        actions = _Actions(self._field, planned, self._random.fork(f"strike {planned.number}"))
        run = ScenarioRun(SimClusterPort(actions))
        rows = (
            *LinkAndProcessFaults(actions, actions.random).kinds,
            *MachineFaults(actions, run).kinds,
            *_ProcessFaults(self._field, actions).kinds,
        )
        try:
            await strike(next(row for row in rows if row.name == planned.kind), actions, run)
        except (FaultError, LookupError, TidelogError) as error:
            self._field.target.note("fault", f"{planned.kind}: not now: {error}")
        finally:
            actions.end()
            self._count -= 1


class _Actions(FaultActions):
    """Actions of one strike, noted for the report."""

    def __init__(self, field: Field, planned: Strike, random: SeededRandom) -> None:
        super().__init__(field.target, random)
        self.disks = field.disks
        self._field = field
        self._planned = planned
        self._struck: Struck | None = None

    def count(self, kind: str, what: str = "") -> None:
        """See `FaultActions`."""
        super().count(kind, what)
        if self._struck is None and not self._is_void(what):
            self._struck = Struck(self._planned.number, self._planned.kind, what, self.now_s)
            self._field.struck.append(self._struck)

    def end(self) -> None:
        """The strike is over; one that ended as it began struck nothing, as a second pause."""
        struck = self._struck
        if struck is None:
            return
        struck.ended_s = self.now_s
        if struck.ended_s == struck.began_s and struck.kind not in AT_A_MOMENT:
            self._field.struck.remove(struck)

    def _is_void(self, what: str) -> bool:
        """True for a stop of a node that is down."""
        if self._planned.kind != "stop":
            return False
        return not self._field.target.is_up(int(what.removeprefix("node ")))


class _ProcessFaults:
    """Faults of the test's own processes, and moves of leaders."""

    def __init__(self, field: Field, actions: FaultActions) -> None:
        self._field = field
        self._actions = actions
        self.kinds: list[Kind[SwarmDraw]] = [
            Kind("process_kill", self._kill),
            Kind("process_pause", self._pause),
            Kind("process_cut", self._cut),
            Kind("leader_move", self._move_leaders),
        ]

    async def _kill(self) -> None:
        process = self._victim()
        if process is not None:
            self._actions.count("process_kill", process.name)
            process.kill()
            await asyncio.sleep(DOWN_S.draw(self._actions.random))
            if not process.has_ended:
                process.start()

    async def _pause(self) -> None:
        process = self._victim()
        if process is not None and not process.is_paused:
            self._actions.count("process_pause", process.name)
            process.pause()
            await asyncio.sleep(FROZEN_S.draw(self._actions.random))
            process.resume()

    async def _cut(self) -> None:
        process = self._victim()
        if process is None:
            return
        nodes = list(self._field.target.config.node_ids)
        if self._actions.happens(0.5):
            nodes = [self._actions.one_of(nodes)]
        self._actions.count("process_cut", f"{process.name} from {nodes}")
        to = [(process.name, self._actions.host(node)) for node in nodes]
        back = [link[::-1] for link in to]
        links = [to, back, to + back][self._actions.random.randrange(0, 3)]
        await self._actions.cut(links, *LINKS_S)

    async def _move_leaders(self) -> None:
        """Stop a leader in order, which hands over what it leads, and let it lead again."""
        target = self._field.target
        node_id = self._actions.victim()
        if not target.is_up(node_id):
            return
        self._actions.count("leader_move", f"node {node_id}")
        await self._actions.stop(node_id)
        target.start(node_id)
        await self._actions.until(lambda: target.image.is_alive(node_id), within_s=LED_AGAIN_S_MAX)
        ports = self._field.ports
        admin = Admin(
            self._field.target.bootstrap,
            transport=ports.transport,
            clock=ports.clock,
            random=ports.random,
        )
        async with admin:
            await admin.elect_leaders()

    def _victim(self) -> SimulatedProcess | None:
        running = [one for one in self._field.processes if one.is_running]
        return self._actions.one_of(running) if running else None


_LIST = re.compile(r"\[([\d, ]*)\]")
_WEATHER = re.compile(r"Weather\(loss=(\S+), delay_s_max=(\S+), repeat=(\S+)\)")


def _plain(what: str) -> str:
    """`[1] from [2, 3]` as `{1} from {2,3}`, and weather in words."""
    if weather := _WEATHER.fullmatch(what):
        loss, delay_s, repeat = map(float, weather.groups())
        late = f", up to {delay_s * 1000:.0f} ms late" if delay_s else ""
        return f"({loss:.1%} lost{late}, {repeat:.0%} of requests twice)"
    return _LIST.sub(lambda found: "{" + found[1].replace(" ", "") + "}", what)
