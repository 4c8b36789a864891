"""Run of one seed: a cluster, the test in it, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

from tidelog.client.ports import OutsidePorts, give_clients
from tidelog.core.logs import context_logging_to
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import DeadlockError, LimitError, UnhandledError
from tidelog.testing.sim.errors import NotSettledError
from tidelog.testing.sim.simulation import Simulation
from tidelog.testing.sim.storm import Struck
from tidelog.testing.sim.surroundings import surroundings
from tidelog.testing.sim.target import ClusterOptions, SimulatedTarget
from tidelog.testing.sim.user_frames import is_of_user, user_place, users_traceback

Body: TypeAlias = Callable[[Simulation], Coroutine[Any, Any, object]]
READY_S_MAX = 60.0


class LimitReachedError(AssertionError):
    """A seed came to its limit of steps or virtual time before the test ended."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a run: the test, the cluster, and which faults strike."""

    name: str
    """Name of the test, from which the seeds come."""
    body: Body
    options: ClusterOptions = field(default_factory=ClusterOptions)
    kinds: tuple[str, ...] = ()
    ends: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    """Exceptions that end the run of seeds, and fail none."""

    def chance(self, number: int) -> int:
        """Derive the chance of a seed: the same in every process and on every machine."""
        digest = blake2b(f"{self.name} {number}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big")


@dataclass(slots=True)
class Outcome:
    """Outcome of a seed; `error` is None when the test passed."""

    seed: int
    error: BaseException | None
    struck: list[Struck]
    virtual_s: float
    steps: int
    trace: str
    """Hash of all events: equal ones mean equal runs."""
    timeline: list[str]
    events: list[str]
    """Every event, where they were asked for."""
    left_over: list[str]
    """Tasks of the test that still ran at its end."""


def run_seed(
    plan: Plan, number: int, *, left_out: frozenset[int] = frozenset(), keeps_events: bool = False
) -> Outcome:
    """Run the test once under seed `number`, without the strikes that are `left_out`."""
    timeline: list[str] = []
    events: list[str] = []
    chance = plan.chance(number)
    target = SimulatedTarget(
        plan.options,
        chance,
        timeline_sink=timeline.append,
        trace_sink=events.append if keeps_events else None,
    )
    run = _Run(plan, target, number, left_out)
    with surroundings(chance, target.cluster.client_host.loop.clock):
        try:
            copy_context().run(run.play)
            return Outcome(
                seed=number,
                error=run.error,
                struck=list(run.simulation.struck),
                virtual_s=round(target.now_s, 3),
                steps=target.cluster.scheduler.steps,
                trace=target.cluster.trace.hexdigest(),
                timeline=list(timeline),
                events=list(events),
                left_over=run.left_over,
            )
        finally:
            # what the dying do and say is of no seed
            run.is_over = True
            context_logging_to(_say_nothing).run(target.cluster.close)


def _say_nothing(level: str, event: str, fields: object) -> None:
    del level, event, fields


class _Ended(BaseException):
    """Something outside the test ended the run; the error is kept."""


class _Run:
    def __init__(
        self, plan: Plan, target: SimulatedTarget, number: int, left_out: frozenset[int]
    ) -> None:
        self.error: BaseException | None = None
        self.is_over = False
        self.left_over: list[str] = []
        self._plan = plan
        self._target = target
        self.simulation = Simulation(
            target,
            number=number,
            left_out=left_out,
            context=copy_context(),
            fail=self._fail,
        )
        target.cluster.scheduler.after_step = self._after_step

    def play(self) -> None:
        """Run the test to its end, however that comes; `error` says."""
        ports = self._target.cluster.client
        recording = self.simulation.recording
        given = OutsidePorts(ports.transport, ports.clock, ports.random, recording)
        give_clients(lambda: given)
        try:
            self._target.cluster.run(self._scenario())
        except _Ended:
            pass
        except (DeadlockError, LimitError) as error:
            self.error = self.error or self._limit_error(error)
        except UnhandledError as error:
            self.error = self.error or self._unseen_error(error) or error
        except SystemExit as error:  # asyncio lets it out of any task, past who awaits that
            self.error = self.error or error
        self.left_over = [] if self.error is not None else self._left_over()

    async def _scenario(self) -> None:
        simulation = self.simulation
        try:
            await self._until_ready()
            if self._plan.kinds:
                simulation.begin_storm(self._plan.kinds)
            await self._plan.body(simulation)
        except BaseException as error:
            if self.is_over:
                raise
            self.error = error  # whatever a test ends with is its outcome

    def _left_over(self) -> list[str]:
        tasks = self._target.cluster.client_host.loop.tasks
        return [
            f"{task.get_name()} at {user_place(task)}"
            for task in tasks
            if not task.done() and is_of_user(task)
        ]

    async def _until_ready(self) -> None:
        try:
            await self.simulation.until(self._is_ready, within_s=READY_S_MAX)
        except NotSettledError:
            raise NotSettledError(
                f"{READY_S_MAX:g} virtual s went by before the cluster was ready: look at `configs`"
            ) from None
        self.simulation.note("the cluster is ready")

    def _is_ready(self) -> bool:
        image = self._target.image
        brokers = self._target.config.broker_ids
        return all(one in image.brokers and image.is_alive(one) for one in brokers)

    def _fail(self, error: BaseException) -> None:
        if not self.is_over:
            self.error = self.error or error

    def _unseen_error(self, reported: UnhandledError) -> BaseException | None:
        """Find the error of a task of the test that nobody awaited, with its traceback."""
        for loop in self._users_loops():
            for task in loop.tasks:
                error = None if not task.done() or task.cancelled() else task.exception()
                line = f"{loop.name}: task {task.get_name()} failed: {error!r}"
                if error is not None and line in str(reported) and users_traceback(error):
                    error.add_note(f"raised in the task {task.get_name()}, which nobody awaited")
                    return error
        return None

    def _users_loops(self) -> list[NodeLoop]:
        return [self._target.cluster.client_host.loop, *self.simulation.process_loops()]

    def _after_step(self) -> None:
        if self.error is not None:
            raise _Ended

    def _limit_error(self, error: Exception) -> AssertionError:
        """Say what the test's own tasks wait for."""
        first = str(error).splitlines()[0]
        return LimitReachedError("\n".join([f"{first}; waiting:", *self._waiting()]))

    def _waiting(self) -> list[str]:
        """List the tasks of the test, then those of its processes, and what each waits for."""
        return [
            f"  {loop.name}: {task.get_name()} waits at {user_place(task)}"
            for loop in self._users_loops()
            for task in loop.tasks
            if not task.done() and is_of_user(task)
        ]
