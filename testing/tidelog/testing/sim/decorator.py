"""`@simulated` and `simulate`: somebody's async test in a simulated cluster, seed after seed."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, overload

from tidelog.testing.sim.errors import SimulatedTestError
from tidelog.testing.sim.runs import SimulationReport, run_seeds
from tidelog.testing.sim.seed_run import Body, Plan
from tidelog.testing.sim.storm import kinds_of
from tidelog.testing.sim.target import STEPS_MAX, VIRTUAL_S_MAX, ClusterOptions
from tidelog.testing.sim.user_frames import users_traceback

SIM = "sim"
SEED = "tidelog_seed"
MARK = "__tidelog_simulated__"

TestFunction: TypeAlias = Callable[..., Coroutine[Any, Any, object]]


class SimulatedTestWarning(UserWarning):
    """Something a simulated test should mend, although it passes."""


@dataclass(frozen=True, slots=True)
class SimulatedTest:
    """Options of one test function."""

    function: TestFunction
    options: ClusterOptions
    kinds: tuple[str, ...]
    seeds: tuple[int, ...]
    has_items: bool

    @property
    def name(self) -> str:
        """Name that the seeds come from: the file's and the function's, wherever they lie."""
        module = self.function.__module__.rpartition(".")[2]
        return f"{module}::{self.function.__qualname__}"


@overload
def simulated(function: TestFunction, /) -> Callable[..., None]: ...


@overload
def simulated(
    *,
    seeds: int | Iterable[int] = 50,
    faults: str | Sequence[str] = "standard",
    brokers: int = 3,
    controllers: int | None = None,
    configs: Mapping[str, object] | None = None,
    virtual_s: float = VIRTUAL_S_MAX,
    steps: int = STEPS_MAX,
    items: bool = False,
) -> Callable[[TestFunction], Callable[..., None]]: ...


def simulated(
    function: TestFunction | None = None,
    /,
    *,
    seeds: int | Iterable[int] = 50,
    faults: str | Sequence[str] = "standard",
    brokers: int = 3,
    controllers: int | None = None,
    configs: Mapping[str, object] | None = None,
    virtual_s: float = VIRTUAL_S_MAX,
    steps: int = STEPS_MAX,
    items: bool = False,
) -> Any:  # a decorator, or the test that it decorates
    """Run an async test function in a simulated cluster, once for each seed: `@simulated()`.

    The function's parameter `sim` is a `Simulation`; others are fixtures of pytest, which all seeds
    share. Runs until a seed fails. Raises `SimulatedTestError` for what makes no sense.
    - `seeds`: how many, numbered from 0 on, or which; `items`: a test item for each, for xdist.
    - `faults`: "none", "standard" (nodes and processes killed, paused and cut off, slow and lossy
      links, rolling restarts, drifting clocks), "harsh" (power cuts, full and slow disks as well),
      or kinds of these. They keep to a budget: none may cost an acknowledged record.
    - `brokers`, `controllers`, `configs`: as of `LocalCluster`.
    - `virtual_s`, `steps`: limits of a seed; beyond them it fails and says what its tasks wait for.
    """

    def decorate(function: TestFunction) -> Callable[..., None]:
        _check(function)
        options = ClusterOptions(brokers, controllers, dict(configs or {}), virtual_s, steps)
        options.check()
        test = SimulatedTest(function, options, kinds_of(faults), _numbers(seeds), items)
        return _test_function(test)

    return decorate if function is None else decorate(function)


def simulate(
    main: Body,
    *,
    seeds: int | Iterable[int] = 100,
    faults: str | Sequence[str] = "standard",
    brokers: int = 3,
    controllers: int | None = None,
    configs: Mapping[str, object] | None = None,
    virtual_s: float = VIRTUAL_S_MAX,
    steps: int = STEPS_MAX,
    failures_max: int | None = 1,
    quiet: bool = False,
) -> SimulationReport:
    """Run `main(sim)` in a simulated cluster for each seed, without pytest; report on all.

    See `simulated`. Ends when `failures_max` seeds have failed; None: runs them all. A failure is
    in the report, and written to stderr unless `quiet`; the report's `check()` raises it.
    """
    options = ClusterOptions(brokers, controllers, dict(configs or {}), virtual_s, steps)
    options.check()
    name = getattr(main, "__qualname__", type(main).__qualname__)
    plan = Plan(name, main, options, kinds_of(faults))
    report = run_seeds(plan, _numbers(seeds), failures_max=failures_max)
    if report.failed and not quiet:
        sys.stderr.write(f"{report}\n")
    return report


def _numbers(seeds: int | Iterable[int]) -> tuple[int, ...]:
    numbers: tuple[object, ...] = ()
    if isinstance(seeds, int | Iterable):
        numbers = tuple(range(seeds) if isinstance(seeds, int) else seeds)
    found = tuple(one for one in numbers if isinstance(one, int) and one >= 0)
    if not found or found != numbers:
        raise SimulatedTestError(f"seeds={seeds!r}: at least one seed, each a number from 0 on")
    return found


def _check(function: TestFunction) -> None:
    name = getattr(function, "__qualname__", repr(function))
    if not inspect.iscoroutinefunction(function):
        raise SimulatedTestError(
            f"@simulated: {name} is no `async def`: a simulated test runs on virtual time"
        )
    if SIM not in inspect.signature(function).parameters:
        raise SimulatedTestError(f"@simulated: {name} has no parameter `{SIM}`, its cluster")


def _test_function(test: SimulatedTest) -> Callable[..., None]:
    @functools.wraps(test.function)
    def run_test(*args: Any, **fixtures: Any) -> None:
        __tracebackhide__ = True
        _run(test, args, fixtures)

    signature = inspect.signature(test.function)
    parameters = [one for one in signature.parameters.values() if one.name != SIM]
    if test.has_items:
        parameters.append(inspect.Parameter(SEED, inspect.Parameter.KEYWORD_ONLY))
    run_test.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=None
    )
    setattr(run_test, MARK, test)
    return run_test


def _run(test: SimulatedTest, args: tuple[Any, ...], fixtures: dict[str, Any]) -> None:
    """Run the seeds that pytest's options ask for, or the test's own, and raise the failure."""
    __tracebackhide__ = True
    plugin = sys.modules.get("tidelog.testing.plugin")
    run = None if plugin is None else plugin.current_run()
    seed = fixtures.pop(SEED, None)
    suffix = "" if run is None else run.parameters

    async def body(sim: object) -> None:
        await test.function(*args, **{**fixtures, SIM: sim})

    ends = (KeyboardInterrupt, *(() if run is None else run.ends))
    plan = Plan(test.name + suffix, body, test.options, test.kinds, ends)
    seeds = _chosen(test, run) if seed is None else [seed]
    report = run_seeds(plan, seeds, shrinks=run is None or run.shrinks)
    if run is not None:
        run.take(report)
    if report.failed:
        failure = report.failed[0]
        if run is None:
            sys.stderr.write("\n".join(["", *failure.lines("")]) + "\n")
        _raise(failure.error, run)
    for task, first in report.left_over.items():  # after a failure, which says more
        what = f"task left over at the end of seed {first}: {task}; await it, or cancel it"
        warnings.warn(SimulatedTestWarning(what), stacklevel=2)


def _chosen(test: SimulatedTest, run: Any) -> Iterable[int]:  # the plugin's SimulatedRun
    return test.seeds if run is None else run.seeds(test.seeds)


def _raise(error: BaseException, run: Any) -> NoReturn:  # the plugin's SimulatedRun
    """Raise it as the test itself would have: with its frames, and none of a simulation's."""
    __tracebackhide__ = True
    traceback = users_traceback(error)
    if traceback is None and run is not None:
        run.fail(error)
    raise error.with_traceback(traceback)
