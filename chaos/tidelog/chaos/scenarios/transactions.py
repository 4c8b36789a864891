"""Stories: transactions, their producers and their coordinator.

Besides the stories' own promises the history's checks hold: no transaction seen in part, nothing
shown that was aborted or not committed yet, no circles.
"""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scenario_run import ON_THE_WAY_S, ScenarioRun
from tidelog.chaos.story.transaction_run import TransactionRun
from tidelog.chaos.workloads.plans import TransactionPlan
from tidelog.client.admin.transaction_views import TransactionDescription

STILL_S = 0.5
"""Time after which it shows that a producer is paused."""
CATCHES_MAX = 10
"""Attempts to pause a producer while a transaction of it is open."""


@scenario("F42", Needs(transactions=TransactionPlan(has_processes=True)))
async def zombie_producer(run: ScenarioRun) -> None:
    """A paused producer has a successor under its id: the successor's start aborts what it left.

    Whatever it does from then on is refused, by any broker.
    """
    transactions = TransactionRun(run)
    port = transactions.port
    for number in run.rounds(reduced=1, full=10):
        name = f"shared-{number}"
        zombie = port.start_writer(name)
        await run.must_come(partial(_has_committed, transactions, zombie), "it commits")
        known = await _paused_amid(run, transactions, zombie, name)
        paused_s = run.now_s
        successor = port.producer(name)
        await transactions.do(successor.start(), "a successor starts")
        await transactions.commit_one(successor, transactions.all)
        run.expect(_stands_still(transactions, zombie, paused_s), "it stands still")
        await transactions.is_refused_late(known, transactions.all)
        await port.resume(zombie)
        run.over("pause-producer", zombie)
        await run.must_come(
            partial(_was_fenced, transactions, zombie), "it hears that it is fenced"
        )
        await transactions.commit_one(successor, transactions.some())
        await transactions.is_refused_late(known, transactions.some())


async def _paused_amid(
    run: ScenarioRun, transactions: TransactionRun, zombie: str, name: str
) -> TransactionDescription:
    """Pause it, and go on only if its coordinator has a transaction of it open by then."""
    for _ in range(CATCHES_MAX):
        await run.last(0.0, 0.5)
        run.strike("pause-producer", zombie)
        await transactions.port.pause(zombie)
        await run.last(ON_THE_WAY_S, STILL_S)
        known = await transactions.described(name, lambda _: True, "it is described")
        if known.state == "Ongoing":
            return known
        await transactions.port.resume(zombie)
        run.over("pause-producer", zombie)
    run.expect(None, "it is paused while a transaction is open")
    raise LookupError(name)


def _has_committed(transactions: TransactionRun, zombie: str) -> bool:
    return any(
        one.process.startswith(f"{zombie}.") and one.outcome == "ok"
        for one in transactions.port.ended
    )


def _was_fenced(transactions: TransactionRun, zombie: str) -> bool:
    return any(
        one.process.startswith(f"{zombie}.") and one.reason.startswith("ProducerFencedError")
        for one in transactions.port.ended
    )


def _stands_still(transactions: TransactionRun, zombie: str, since_s: float) -> bool:
    """True if nothing of it was heard since then."""
    last_s = transactions.port.last_calls_s
    return all(at_s <= since_s for one, at_s in last_s.items() if one.startswith(f"{zombie}."))
