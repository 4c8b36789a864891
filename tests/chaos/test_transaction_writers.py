"""A writer of transactions in a process of its own: its setup, and its calls in the history."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tidelog.chaos.sockets.work_plan import TRANSACTION_SETTINGS, settings_of, work_of
from tidelog.chaos.sockets.writer import FileBook
from tidelog.chaos.sockets.writer_setup import WriterCalls, WriterSetup
from tidelog.chaos.story.scenario import Needs, Scenario
from tidelog.chaos.workloads.plans import LEDGER, LOSSY, TransactionPlan, WriterPlan
from tidelog.chaos.workloads.transaction_book import TransactionBook
from tidelog.history.history import History, Send, Transaction

PLAN = WriterPlan("w", "id", 3, 4_000)


class FakePort:
    """A workload's port that keeps the history."""

    def __init__(self) -> None:
        self.history = History()
        self.begun: list[Any] = []
        self.now_s = 50.0

    def begin_transactional(self, call: Any) -> None:
        self.begun.append(call)

    def begin_transaction_commit(self, call: Any) -> None:
        self.begun.append(call)

    def end_transactional(self, call: Any) -> None:
        self.history.add(call)

    def note(self, who: str, what: str) -> None:
        """Nobody reads it."""


def a_transaction(number: int) -> Transaction:
    return Transaction("w.1", number, "id", 1.0, "unknown")


def a_send(number: int, transaction: int) -> Send:
    return Send(
        process="w.1",
        number=number,
        topic=LEDGER,
        incarnation=0,
        partition=2,
        value=b"w.1/%d" % number,
        acks=-1,
        is_idempotent=True,
        invoked_s=1.5,
        outcome="unknown",
        transaction=transaction,
    )


def a_book() -> tuple[FakePort, TransactionBook]:
    port, numbers = FakePort(), iter(range(100, 1_000))
    return port, TransactionBook(cast("Any", port), lambda: next(numbers))


def test_a_writer_s_setup_survives_its_file() -> None:
    setup = WriterSetup(PLAN, ("a:1", "b:2"), {("a:1", "broker"): "p:3"})

    assert WriterSetup.from_json(setup.to_json()) == setup


def test_calls_of_a_process_get_numbers_of_the_whole_history(tmp_path: Path) -> None:
    port, book = a_book()
    written, read = FileBook(tmp_path / "w.calls"), WriterCalls(tmp_path / "w.calls", book.of("w"))

    transaction = a_transaction(written.next_number())
    send = a_send(written.next_number(), transaction.number)
    written.begin(transaction)
    written.begin(send)
    read.read()
    (open_one,) = book.open

    written.end(replace(send, ended_s=2.0, outcome="ok", offset=7))
    transaction = replace(transaction, commit_begun_s=2.5)
    written.begin_commit(transaction)
    written.end(replace(transaction, ended_s=3.0, outcome="ok"))
    written.close()
    read.read()

    assert open_one.number == 100
    (ended,), (sent,) = port.history.transactions, port.history.sends
    assert (ended.number, ended.commit_begun_s, ended.outcome, ended.ended_s) == (100, 2.5, "ok", 3)
    assert (sent.transaction, sent.offset, sent.outcome) == (100, 7, "ok")
    assert book.ended == [ended]
    assert book.acknowledged == [sent]
    assert not book.open


def test_what_never_ended_is_unknown() -> None:
    port, book = a_book()
    of_writer = book.of("w")
    of_writer.begin(a_transaction(1))
    of_writer.begin(a_send(2, 1))

    book.write_pending()
    book.end(replace(a_send(2, 1), ended_s=9.0, outcome="ok"))

    assert [one.outcome for one in port.history.transactions] == ["unknown"]
    assert [(one.outcome, one.ended_s) for one in port.history.sends] == [("unknown", None)]


@pytest.mark.parametrize("is_lossy", [True, False])
def test_the_ledger_is_lossy_as_the_story_s_topic_is(*, is_lossy: bool) -> None:
    async def story(_: Any) -> None:
        """Nothing."""

    needs = Needs(is_lossy=is_lossy, transactions=TransactionPlan())
    scenario = Scenario("id", story, needs)

    assert work_of(scenario).lossy_topics == ([LOSSY, LEDGER] if is_lossy else [])
    assert settings_of(scenario).items() >= TRANSACTION_SETTINGS.items()
