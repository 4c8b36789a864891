"""Stories: transactions, their producers and their coordinator.

Besides the stories' own promises the history's checks hold: no transaction seen in part, nothing
shown that was aborted or not committed yet, no circles.
"""

from __future__ import annotations

import asyncio
from functools import partial

from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scenario_run import ON_THE_WAY_S, Counts, ScenarioRun
from tidelog.chaos.story.transaction_run import TransactionRun
from tidelog.chaos.workloads.plans import TransactionPlan
from tidelog.chaos.workloads.transaction_calls import TransactionCalls
from tidelog.client.admin.transaction_views import TransactionDescription
from tidelog.history.history import History

STILL_S = 0.5
"""Time after which it shows that a producer is paused."""
SOON_S = 0.05
"""Within this time a call is on its way, or just arrived."""
MOMENTS = ("idle", "open", "committing")
"""Moments of a producer's life at which another one starts."""
PATIENT_MS = 120_000
"""No transaction times out: only a successor ends what is open."""
CATCHES_MAX = 10
"""Attempts to pause a producer while a transaction of it is open."""


@scenario("F42", Needs(transactions=TransactionPlan(has_processes=True, timeout_ms=PATIENT_MS)))
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
        await transactions.is_refused_late(known)
        await port.resume(zombie)
        run.over("pause-producer", zombie)
        await run.must_come(
            partial(_was_fenced, transactions, zombie), "it hears that it is fenced"
        )
        await transactions.commit_one(successor, transactions.some())
        await transactions.is_refused_late(known)


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


@scenario("F41", Needs(transactions=TransactionPlan(timeout_ms=PATIENT_MS)))
async def late_transaction_calls(run: ScenarioRun) -> None:
    """Calls of a transaction arrive when the next one is open: each is refused, as epochs differ.

    Its commit, its abort, its records and its offsets; after it was committed, or aborted.
    """
    transactions = TransactionRun(run)
    producer = transactions.port.producer("payments")
    await transactions.do(producer.start(), "a producer starts")
    for number in run.rounds(reduced=4, full=20):
        written = transactions.some()
        await transactions.write(producer, written)
        known = await transactions.described("payments", _is_ongoing, "it is open")
        is_committed = number % 2 == 0
        await transactions.do(
            producer.commit() if is_committed else producer.abort(), "it is ended"
        )
        again = transactions.some()
        await transactions.write(producer, again)
        following = await transactions.described("payments", _is_ongoing, "the next one is open")
        run.strike("late-calls", f"epoch {known.producer_epoch}")
        await transactions.is_refused_late(known)
        run.over("late-calls", f"epoch {known.producer_epoch}")
        after = await transactions.described("payments", lambda _: True, "it is described")
        run.promise(
            (after.state, after.producer_epoch, set(after.partitions))
            == ("Ongoing", following.producer_epoch, set(following.partitions)),
            f"the next transaction is as it was: {after}",
        )
        for partition in again:
            await transactions.do(producer.send(partition), "it goes on")
        await transactions.do(producer.commit(), "it is committed")
    run.at_the_end(partial(_has_outcomes, producer.process))


def _is_ongoing(seen: TransactionDescription) -> bool:
    return seen.state == "Ongoing"


def _has_outcomes(process: str, history: History, _: Counts) -> tuple[bool, str]:
    """Each transaction ended as its producer was producer; what readers saw, the checks compare."""
    outcomes = [one.outcome for one in history.transactions if one.process == process]
    return bool(outcomes) and "unknown" not in outcomes, f"outcomes of {process}: {outcomes}"


@scenario("F68", Needs(transactions=TransactionPlan(timeout_ms=PATIENT_MS)))
async def turns_under_one_id(run: ScenarioRun) -> None:
    """Two producers take turns under one id: each that starts fences the other, at any moment.

    Idle, amid a transaction, or while its commit is on the way.
    """
    transactions = TransactionRun(run)
    older = transactions.port.producer("shared")
    await transactions.do(older.start(), "a producer starts")
    for number in run.rounds(reduced=6, full=60):
        moment = MOMENTS[number % len(MOMENTS)]
        committing = None
        if moment != "idle":
            await transactions.write(older, transactions.some())
        if moment == "committing":
            committing = asyncio.create_task(older.commit())
            await run.last(0.0, SOON_S)
        newer = transactions.port.producer("shared")
        run.strike("successor", f"{newer.process}, the other is {moment}")
        await transactions.do(newer.start(), "the other starts")
        if committing is None:
            await _is_fenced(run, transactions, older, is_open=moment == "open")
        else:
            await transactions.try_to(committing)
            await transactions.is_fenced(_write_one(older), "the next transaction")
        run.over("successor", f"{newer.process}, the other is {moment}")
        await transactions.commit_one(newer, transactions.some())
        older = newer


async def _is_fenced(
    run: ScenarioRun, transactions: TransactionRun, older: TransactionCalls, *, is_open: bool
) -> None:
    """Promise that each of its calls is refused."""
    if not is_open:
        await transactions.is_fenced(_write_one(older), "its next record")
    elif run.happens(0.5):
        await transactions.is_fenced(older.commit(), "its commit")
    else:
        await transactions.is_fenced(older.send(0), "its next record")
    await transactions.is_fenced(older.begin(), "its next transaction")


async def _write_one(producer: TransactionCalls) -> None:
    await producer.begin()
    await producer.send(0)
    await producer.commit()
