"""Seeds of a simulated test, one after another: each a run, a failing one with fewer faults too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from tidelog.testing.sim.errors import NotDeterministicError
from tidelog.testing.sim.seed_run import Outcome, Plan, run_seed
from tidelog.testing.sim.storm import Struck

SHRINK_RUNS_MAX = 20
SHRINK_STEPS_MAX = 400_000
"""Steps of all these runs together: one that waits for its limit of time takes many."""
TIMELINE_LINES = 40
CAUSES = (
    "datetime.now (time.time follows the seed, C code's clocks do not), a C extension's clock or "
    "threads, iteration over a set of strings or objects, state that an earlier seed or test left"
)


@dataclass(frozen=True, slots=True)
class SeedFailure:
    """A seed that failed, and the least that makes it fail."""

    seed: int
    error: BaseException
    faults: tuple[str, ...]
    """Faults of the storm, in words."""
    needed: tuple[str, ...] | None
    """Faults with which alone it still fails; None: not looked for."""
    virtual_s: float
    trace: str
    timeline: tuple[str, ...]

    def lines(self, replay: str, *, timeline_lines: int | None = TIMELINE_LINES) -> list[str]:
        """Report it, with the command that replays it; None: the whole timeline."""
        name = type(self.error).__name__
        lines = [f"tidelog: seed {self.seed} failed after {self.virtual_s:.1f} virtual s: {name}"]
        lines.append(f"tidelog: faults: {'; '.join(self.faults) or 'none'}")
        if self.needed is not None and self.faults:
            lines.append(f"tidelog: still fails with only: {'; '.join(self.needed) or 'no fault'}")
        if replay:
            lines.append(f"tidelog: replay: {replay}")
        shown = self.timeline if timeline_lines is None else self.timeline[-timeline_lines:]
        return [*lines, *shown]


@dataclass(slots=True)
class SimulationReport:
    """Report on the seeds of one test."""

    test: str
    seeds: list[int] = field(default_factory=list)
    """Those that ran, in order."""
    failed: list[SeedFailure] = field(default_factory=list)
    left_over: dict[str, int] = field(default_factory=dict)
    """Tasks of the test that still ran at its end, with the first seed that left each."""

    def check(self) -> None:
        """Raise the error of the first seed that failed; nothing if all passed."""
        if self.failed:
            raise self.failed[0].error

    def __str__(self) -> str:
        head = f"tidelog: {self.test}: {len(self.seeds)} seeds, {len(self.failed)} failed"
        failures = ("\n".join([*one.lines(""), f"tidelog: {one.error}"]) for one in self.failed)
        return "\n".join([head, *failures])


def run_seeds(
    plan: Plan,
    seeds: Iterable[int],
    *,
    shrinks: bool = True,
    failures_max: int | None = 1,
) -> SimulationReport:
    """Run the seeds until so many have failed; the first one, and each that fails, runs twice."""
    report = SimulationReport(plan.name)
    for seed in seeds:
        is_first = not report.seeds
        outcome = run_seed(plan, seed)
        report.seeds.append(seed)
        _stop_if_asked(plan, outcome.error)
        for task in outcome.left_over:
            report.left_over.setdefault(task, seed)
        if is_first or outcome.error is not None:
            difference = _difference(plan, outcome)
            if difference is not None:
                outcome.error = difference
        if outcome.error is None:
            continue
        report.failed.append(_failure(plan, outcome, shrinks=shrinks))
        if failures_max is not None and len(report.failed) >= failures_max:
            break
    return report


def _stop_if_asked(plan: Plan, error: BaseException | None) -> None:
    """Let what is no failure of a seed go its way: Ctrl-C, pytest's skip."""
    if isinstance(error, plan.ends):
        raise error


def _difference(plan: Plan, outcome: Outcome) -> NotDeterministicError | None:
    """Run the seed again; an error that names the first event that came otherwise."""
    again = run_seed(plan, outcome.seed, keeps_events=True)
    if again.trace == outcome.trace:
        return None
    third = run_seed(plan, outcome.seed, keeps_events=True)
    for one, other in zip_longest(again.events, third.events, fillvalue="(the end)"):
        if one != other:
            where = f"first difference:\n  {one}\n  {other}"
            break
    else:
        where = "its first run differs from all later ones: something was there before the test"
    return NotDeterministicError(
        f"not deterministic: seed {outcome.seed} ran in two ways; {where}\nUsual causes: {CAUSES}."
    )


def _failure(plan: Plan, outcome: Outcome, *, shrinks: bool) -> SeedFailure:
    error = outcome.error
    assert error is not None  # the caller has looked
    needed: tuple[str, ...] | None = None
    if shrinks and outcome.struck and not isinstance(error, NotDeterministicError):
        needed = tuple(map(str, _shrink(plan, outcome)))
    return SeedFailure(
        seed=outcome.seed,
        error=error,
        faults=tuple(map(str, outcome.struck)),
        needed=needed,
        virtual_s=outcome.virtual_s,
        trace=outcome.trace,
        timeline=tuple(outcome.timeline),
    )


def _shrink(plan: Plan, outcome: Outcome) -> Sequence[Struck]:
    """Leave out all faults, halves of them, then one by one, while the same error comes."""
    runs_left, steps_left = SHRINK_RUNS_MAX, SHRINK_STEPS_MAX
    least = outcome
    left_out: frozenset[int] = frozenset()
    size = len(outcome.struck)
    while size:
        at = 0  # what lies before it is needed: it is not tried again with the same size
        while at < len(least.struck):
            if not runs_left or steps_left <= 0:
                return least.struck
            runs_left -= 1
            without = left_out | {one.number for one in least.struck[at : at + size]}
            tried = run_seed(plan, outcome.seed, left_out=without)
            _stop_if_asked(plan, tried.error)
            steps_left -= tried.steps
            if type(tried.error) is type(outcome.error):
                least, left_out = tried, without
            else:
                at += size
        size //= 2
    return least.struck
