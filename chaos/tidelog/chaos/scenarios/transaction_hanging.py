"""Stories: transactions that are open in a log, and that no coordinator will end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scenario_run import UNTIL_S_MAX, Counts, ScenarioRun
from tidelog.chaos.story.transaction_run import LOOK_S, TransactionRun
from tidelog.chaos.workloads.plans import LEDGER, TransactionPlan
from tidelog.client.admin.transaction_views import HangingTransaction, TransactionDescription
from tidelog.history.history import History

PATIENT_MS = 120_000
"""A transaction that is open does not time out while nodes come and go."""
SILENT_MS = 200
"""Time after which a transaction without a record may hang."""
STUCK_S = 1.0
"""Time after which it shows that readers do not go on."""


@scenario(
    "F67", Needs(is_lossy=True, transactions=TransactionPlan(writers=0, timeout_ms=PATIENT_MS))
)
async def hanging_transaction(run: ScenarioRun) -> None:
    """An unclean election drops a marker: the transaction hangs, is found, and aborted.

    Its coordinator knows that it is over, so that no time-out ends it. Readers of committed
    records go on then. What is open and has a coordinator is not taken for hanging.
    """
    transactions = TransactionRun(run)
    producer = transactions.port.producer("payments")
    await transactions.do(producer.start(), "a producer starts")
    await transactions.in_sync()
    partition = run.one_of(transactions.all)
    replicas = transactions.state(partition).replicas
    stale = run.one_of([one for one in replicas if one != transactions.state(partition).leader_id])
    ahead = [one for one in replicas if one != stale]
    await transactions.write(producer, [partition])
    known = await transactions.described("payments", _is_ongoing, "it is open")
    await run.kill(stale)
    await run.comes(lambda: stale not in transactions.state(partition).isr, "it left the ISR")
    await transactions.do(producer.commit(), "it is committed")
    await transactions.described("payments", _is_complete, "its marker is written")
    run.expect(await transactions.markers_of(known, partition), "the marker is there at first")
    await run.kill(*ahead)
    await run.start(stale)
    await run.comes(
        lambda: transactions.state(partition).leader_id == stale, "who lacks the marker leads"
    )
    await run.start(*ahead)
    await transactions.in_sync()
    run.expect(not await transactions.markers_of(known, partition), "the marker is lost")
    await _end_it(run, transactions, known, partition)
    await transactions.commit_one(producer, transactions.all)
    await transactions.readers_go_on(await transactions.high_watermarks())
    run.at_the_end(partial(_is_aborted, producer.process))


async def _end_it(
    run: ScenarioRun, transactions: TransactionRun, known: TransactionDescription, partition: int
) -> None:
    """Find it, and nothing else; abort it; then there is none."""
    other = transactions.port.producer("open")
    await transactions.do(other.start(), "another producer starts")
    await transactions.write(other, [one for one in transactions.all if one != partition])
    ends = await transactions.high_watermarks()
    await run.last(STUCK_S, STUCK_S)
    stable = await transactions.port.looks.ends("read_committed")
    run.expect(stable.get(partition, ends[partition]) < ends[partition], "readers stand before it")
    (found,) = await _find(run, transactions, 1)
    place = (found.topic, found.partition, found.producer_id, found.producer_epoch)
    run.promise(
        place == (LEDGER, partition, known.producer_id, known.producer_epoch),
        f"the one that hangs is found: {found}",
    )
    await transactions.do(transactions.port.looks.abort_hanging(found), "it is aborted")
    run.promise(
        await transactions.try_to(transactions.port.looks.abort_hanging(found)),
        "it is aborted only once",
    )
    await run.must_come(
        lambda: transactions.port.positions[partition] >= ends[partition],
        "readers of committed records go on",
    )
    await _find(run, transactions, 0)
    await transactions.do(other.commit(), "what was open meanwhile is committed")


async def _find(
    run: ScenarioRun, transactions: TransactionRun, count: int
) -> Sequence[HangingTransaction]:
    """Look until so many are found; a coordinator may not know its transactions yet."""
    deadline_s = run.now_s + UNTIL_S_MAX * run.cluster.patience
    while True:
        found = await transactions.port.looks.find_hanging(SILENT_MS)
        if found is not None and len(found) == count:
            return found
        run.promise(run.now_s < deadline_s, f"{count} are found to hang: {found}")
        await asyncio.sleep(LOOK_S)


def _is_ongoing(seen: TransactionDescription) -> bool:
    return seen.state == "Ongoing"


def _is_complete(seen: TransactionDescription) -> bool:
    return seen.state == "CompleteCommit"


def _is_aborted(process: str, history: History, _: Counts) -> tuple[bool, str]:
    """Only what it committed afterwards is shown at the end: its first transaction is aborted."""
    final = {value for poll in history.polls if poll.is_final for _, value in poll.records}
    own = [one for one in history.sends if one.process == process and one.topic == LEDGER]
    first = own[0].transaction if own else None
    wrong = [one.value for one in own if (one.value in final) == (one.transaction == first)]
    return bool(own) and not wrong, f"shown at the end though aborted, or not shown: {wrong}"
