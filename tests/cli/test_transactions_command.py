"""`tidelog transactions`, and `produce` in transactions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.cli.commands import Run, command_runner
from tests.client.meddler import Mishap
from tests.client.transaction_broker import ADDRESS, TransactionBroker
from tests.virtual_loop import VirtualLoop

from tidelog.cli import produce as produce_module
from tidelog.client import ports
from tidelog.v1 import common_pb2

ID = ("--transactional-id", "id")


@pytest.fixture
def broker() -> TransactionBroker:
    return TransactionBroker()


@pytest.fixture
def run(
    broker: TransactionBroker,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Run:
    def run_work(work: Coroutine[Any, Any, Any]) -> Any:  # as asyncio.run
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(work)

    async def exists(_bootstrap: str, _topic: str) -> bool:
        return True

    monkeypatch.setattr(produce_module, "_exists", exists)
    monkeypatch.setattr(ports, "_grpc_transport", lambda _: broker)
    monkeypatch.setattr(asyncio, "run", run_work)
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", ADDRESS)
    return command_runner(monkeypatch, capfdbinary)


def answer(run: Run, *arguments: str) -> Any:  # what JSON holds
    done = run("transactions", *arguments, "--json")
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def test_lines_are_committed_n_at_a_time_and_the_rest_at_the_end(
    run: Run, broker: TransactionBroker
) -> None:
    lines = b"".join(b"%d\n" % n for n in range(7))
    done = run("produce", "t", *ID, "--transaction-records", "3", "-p", "0", stdin=lines)
    assert done.code == 0, done.stderr
    assert done.stderr.endswith("7 records committed in 3 transactions\n")
    assert broker.values() == [b"%d" % n for n in range(7)]
    batches = [one.values for one in broker.logs["t", 0] if not isinstance(one.values, bool)]
    assert [len(values) for values in batches] == [3, 3, 1]


def test_all_lines_are_one_transaction_by_default(run: Run, broker: TransactionBroker) -> None:
    done = run("produce", "t", *ID, "-H", "k=v", stdin=b"a\nb\n")
    assert done.stderr.endswith("2 records committed in 1 transaction\n")
    assert len(broker.requests("EndTransaction")) == 1


def test_a_failed_record_aborts_and_says_so(run: Run, broker: TransactionBroker) -> None:
    broker.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
    done = run("produce", "t", *ID, "-p", "0", stdin=b"a\nb\n")
    assert done.code == 1
    assert "the transaction was aborted" in done.stderr
    assert done.stderr.endswith("0 records committed in 0 transactions\n")
    assert broker.values() == []


def test_ctrl_c_aborts_the_open_transaction(
    run: Run, broker: TransactionBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidelog.cli.produce import _Sending

    send = _Sending.send

    async def interrupted(self: Any, producer: Any, lines: list[bytes], *, first: int) -> None:
        await send(self, producer, lines, first=first)
        await producer.flush()
        assert broker.state() == "Ongoing"
        task = asyncio.current_task()
        assert task is not None
        task.cancel()  # as asyncio.run does at a SIGINT
        await asyncio.sleep(1)

    def run_work(work: Coroutine[Any, Any, Any]) -> Any:  # as asyncio.run
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            try:
                return runner.run(work)
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None

    monkeypatch.setattr(_Sending, "send", interrupted)
    monkeypatch.setattr(asyncio, "run", run_work)
    done = run("produce", "t", *ID, "-p", "0", stdin=b"a\n")
    assert done.code == 130
    assert broker.state() == "CompleteAbort"
    assert broker.values() == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--transaction-records", "3"), "needs --transactional-id"),
        ((*ID, "--acks", "1"), "needs acks"),
        (("--transactional-id", ""), "transactional_id has 0 characters"),
        ((*ID, "--transaction-timeout-ms", "900001"), "transaction.max.timeout.ms"),
    ],
)
def test_what_cannot_be_is_refused(run: Run, options: tuple[str, ...], said: str) -> None:
    done = run("produce", "t", *options, stdin=b"a\n")
    assert done.code in (1, 2)
    assert said in done.stderr


def test_ids_are_listed_described_and_aborted(run: Run, broker: TransactionBroker) -> None:
    run("produce", "t", *ID, "-p", "0", stdin=b"a\n")
    one = {
        "transactional_id": "id",
        "producer_id": 7,
        "producer_epoch": 1,
        "state": "CompleteCommit",
        "age_ms": 5,
        "coordinator_id": 1,
    }
    (found,) = answer(run, "list")["transactions"]
    assert {**found, "producer_epoch": 1} == one
    assert answer(run, "list", "--state", "Ongoing") == {"transactions": []}
    described = answer(run, "describe", "id")
    assert set(described) == {*one, "timeout_ms", "coordinator_epoch", "partitions"}
    assert b"coordinator_id" in run("transactions", "list").stdout
    assert b"timeout_ms" in run("transactions", "describe", "id").stdout
    refused = run("transactions", "abort", "id")
    assert refused.code == 1
    assert run("transactions", "describe", "nobody").code == 1


def test_one_that_hangs_is_found_and_aborted_by_its_place(
    run: Run, broker: TransactionBroker
) -> None:
    run("produce", "t", *ID, "-p", "0", stdin=b"a\n")
    broker.logs["t", 0].pop()
    (found,) = answer(run, "find-hanging", "--max-age", "1s")["hanging"]
    del found["age_ms"]
    assert found == {
        "topic": "t",
        "partition": 0,
        "producer_id": 7,
        "producer_epoch": 0,
        "start_offset": 0,
    }
    place = ("--topic", "t", "--partition", "0", "--start-offset", "0")
    assert answer(run, "abort", *place) == {
        "aborted": {
            "topic": "t",
            "partition": 0,
            "start_offset": 0,
            "producer_id": 7,
            "producer_epoch": 0,
            "marker_offset": 1,
        }
    }
    assert answer(run, "find-hanging") == {"hanging": []}
    for wrong in ((), ("id", *place), place[:2]):
        assert run("transactions", "abort", *wrong).code == 2
