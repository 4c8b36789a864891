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
    """Cut each partition of the transaction out of the coordinator's reach."""
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


@scenario("F44", Needs(transactions=TransactionPlan()))
async def leader_killed_amid_markers(run: ScenarioRun) -> None:
    """A leader is killed while markers are written: after the failover each is there, once.

    The marker did not reach it; or it is written, and its answer is lost.
    """
    transactions = TransactionRun(run)
    await transactions.in_sync()
    for number in run.rounds(reduced=2, full=10):
        killing = await Killing.of(run, transactions, f"payments-{number}")
        await _kill_leader_amid_markers(killing, is_written=number % 2 == 0)


async def _kill_leader_amid_markers(killing: Killing, *, is_written: bool) -> None:
    run, transactions, leader = killing.run, killing.transactions, killing.leader
    await transactions.write(killing.producer, transactions.all)
    known = await killing.is_described("Ongoing")
    paths: list[tuple[int | str, int | str]] = [(leader, killing.coordinator)]
    if not is_written:
        paths = run.between([leader], [killing.coordinator])
    await run.cut(paths)
    committing = asyncio.create_task(killing.producer.commit())
    await killing.is_described("PrepareCommit", killing.far)
    if is_written:
        await killing.has_markers(known, killing.far)
    ends = await transactions.high_watermarks()
    await run.kill(leader)
    await run.mend(paths)
    await transactions.do(committing, "what was prepared is committed")
    await run.must_come(
        lambda: not transactions.led_by(leader), "another leads", within_s=run.failover_s
    )
    await killing.is_complete()
    await transactions.readers_go_on(ends)
    for partition in transactions.all:
        found = await transactions.markers_of(known, partition)
        run.promise(
            [one.is_commit for one in found] == [True],
            f"partition {partition} has the transaction's marker once: {found}",
        )
    await run.start(leader)
    await transactions.in_sync()
