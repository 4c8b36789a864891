"""Stories: who writes the markers of a transaction, and who takes them, is killed amid it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.story.transaction_killing import Killing
from tidelog.chaos.story.transaction_run import TransactionRun
from tidelog.chaos.workloads.plans import TransactionPlan

SOON_S = 0.05
"""Within this time a call is on its way, or just arrived."""


@scenario("F43", Needs(transactions=TransactionPlan()))
async def transaction_coordinator_killed(run: ScenarioRun) -> None:
    """A coordinator of transactions is killed at each step: all or nothing, and readers go on.

    At the initialisation, at the first append, partition added, commit prepared, some markers
    written, all but one, complete.
    """
    transactions = TransactionRun(run)
    await transactions.in_sync()
    steps = run.shuffled(STEPS)
    for number, step in zip(run.rounds(reduced=2, full=len(STEPS)), steps, strict=False):
        killing = await Killing.of(run, transactions, f"payments-{number}")
        run.facts[f"killed at: {step}"] = f"node {killing.coordinator}"
        await STEPS[step](killing)
        await killing.go_on()


async def _at_init(killing: Killing) -> None:
    again = killing.transactions.port.producer(killing.name)
    starting = asyncio.create_task(again.start())
    await killing.run.last(0.0, SOON_S)
    await killing.kill_coordinator()
    await killing.transactions.do(starting, "a producer that started meanwhile has started")


async def _at_first_append(killing: Killing) -> None:
    transactions, producer = killing.transactions, killing.producer
    await transactions.do(producer.begin(), "a transaction begins")
    sending = asyncio.create_task(producer.send(0))
    await killing.run.last(0.0, SOON_S)
    await killing.kill_coordinator()
    if await transactions.try_to(sending) is None:
        await transactions.try_to(producer.commit())


async def _at_partition_added(killing: Killing) -> None:
    transactions = killing.transactions
    await transactions.write(killing.producer, transactions.some())
    await killing.is_described("Ongoing")
    await killing.kill_coordinator()
    if killing.run.happens(0.5):
        await transactions.try_to(killing.producer.commit())


async def _at_prepared(killing: Killing) -> None:
    """All partitions of the transaction are out of the coordinator's reach."""
    await _amid_markers(killing, killing.far, killing.far)


async def _at_some_markers(killing: Killing) -> None:
    await _amid_markers(killing, killing.transactions.all, killing.far)


async def _at_all_but_one(killing: Killing) -> None:
    last = killing.far[:1]
    near = [one for one in killing.transactions.all if one not in killing.far]
    await _amid_markers(killing, [*near, *last], last)


async def _amid_markers(killing: Killing, written: Iterable[int], lacking: Iterable[int]) -> None:
    """The commit is prepared, these partitions lack markers, then it is killed: it is committed."""
    transactions = killing.transactions
    await transactions.write(killing.producer, written)
    paths = killing.run.between([killing.coordinator], [killing.leader])
    await killing.run.cut(paths)
    committing = asyncio.create_task(killing.producer.commit())
    await killing.is_described("PrepareCommit", lacking)
    await killing.kill_coordinator(paths)
    await transactions.do(committing, "what was prepared is committed")


async def _at_complete(killing: Killing) -> None:
    await killing.transactions.commit_one(killing.producer, killing.transactions.some())
    if killing.run.happens(0.5):
        await killing.is_described("CompleteCommit")
    await killing.kill_coordinator()


STEPS = {
    "initialisation": _at_init,
    "first append": _at_first_append,
    "partition added": _at_partition_added,
    "prepared": _at_prepared,
    "some markers": _at_some_markers,
    "all markers but one": _at_all_but_one,
    "complete": _at_complete,
}
