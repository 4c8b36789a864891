"""What anybody may cause leaves no traceback in a node's log, and the log stays small."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from tidelog.core.turns import SharedTurns
from tidelog.net.call import LOCAL_CALL
from tidelog.net.grpc_edge import Edge
from tidelog.net.grpc_log import OfCallersThatLeft
from tidelog.net.unfinished_requests import UnfinishedLimits, UnfinishedRequests
from tidelog.net.unread_responses import NodeResponses, UnreadLimits
from tidelog.node.last_words import last_words
from tidelog.v1.data_pb2 import DESCRIPTOR, FetchResponse

FETCH_STREAM = DESCRIPTOR.services_by_name["Broker"].methods_by_name["FetchStream"]

PROGRAM = """
import asyncio, logging, sys
from pathlib import Path
import structlog
from tidelog.node.node_log import NodeLog
from tidelog.core.output_file import OutputFile
from tidelog.core.system import SystemClock

async def main():
    path = Path(sys.argv[1])
    output = OutputFile(path, bytes_max=20_000)
    node_log = NodeLog(SystemClock(), output=output)
    node_log.begin()
    log = structlog.get_logger("test")
    for number in range(2_000):
        log.info("equal")
        log.info("of a kind", number=number)
    for _ in range(3):
        try:
            raise LookupError("a bug")
        except LookupError:
            log.exception("request failed")
    for name in ("asyncio", "aiohttp.server"):
        try:
            raise ValueError("two\\nlines")
        except ValueError:
            logging.getLogger(name).exception("unexpected")
    node_log.log_counted()
    tending = asyncio.create_task(node_log.tend())
    sys.stderr.write("x" * 20_000 + "\\n")
    sys.stderr.flush()
    while not path.with_name("node.log.1").exists():
        await asyncio.sleep(0.01)
    tending.cancel()
    print("the last line", flush=True)

asyncio.run(main())
"""


class Gone(grpc.aio.InternalError):
    """As gRPC's ExecuteBatchError, which is not public."""


class LeftCaller:
    """A context whose caller is gone."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.aborted = False

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    def invocation_metadata(self) -> None:
        return None

    def time_remaining(self) -> None:
        """It set no deadline."""

    async def write(self, _response: object) -> None:
        raise self.error

    async def abort(self, *_info: object) -> None:
        self.aborted = True


async def stream_to(caller: LeftCaller) -> None:
    async def serve(_requests: Any) -> Any:
        yield FetchResponse()

    async def requests() -> Any:
        for _ in ():
            yield _

    unread = NodeResponses(UnreadLimits(), lambda: 0)
    edge = Edge(
        LOCAL_CALL.listener,
        lambda _: None,
        unread,
        UnfinishedRequests(UnfinishedLimits()),
        SharedTurns(),
    )
    handler: Any = edge.handler(FETCH_STREAM, lambda asked, _: serve(asked))
    await handler.stream_stream(requests(), caller)


async def test_a_caller_that_is_gone_is_no_unexpected_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    caller = LeftCaller(Gone("Failed ExecuteBatch"))
    with pytest.raises(Gone):
        await stream_to(caller)
    assert not caller.aborted
    assert capsys.readouterr() == ("", "")


async def test_wrong_use_of_grpc_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    caller = LeftCaller(grpc.aio.UsageError("written after the end"))
    await stream_to(caller)
    assert caller.aborted
    assert "request failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "is_written"),
    [
        (Gone("Failed ExecuteBatch"), False),
        (grpc.aio.BaseError("Server already stopped."), False),
        (asyncio.CancelledError(), False),
        (grpc.aio.UsageError(), True),
        (ValueError(), True),
    ],
)
def test_grpc_says_nothing_of_callers_that_left(error: BaseException, *, is_written: bool) -> None:
    record = logging.LogRecord(
        "x", logging.ERROR, __file__, 1, "raised", (), (type(error), error, None)
    )
    assert OfCallersThatLeft().filter(record) is is_written


def test_grpc_says_nothing_of_a_servers_stop() -> None:
    template = "Aborting method [%s] due to server stop."
    record = logging.LogRecord("x", logging.WARNING, __file__, 1, template, ("m",), None)
    assert not OfCallersThatLeft().filter(record)


def test_a_processes_log_counts_what_is_equal_and_is_turned_while_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], check=True, timeout=600, capture_output=True
    )
    before = path.with_name("node.log.1").read_text()
    assert before.count("event=equal") == 2
    assert 'repeated="1999 times"' in before
    assert before.count('event="of a kind"') == 50
    assert 'event="lines suppressed" of="of a kind" repeated="1950 times"' in before
    assert before.count('event="request failed"') == 2
    assert before.count("Traceback") == 1, "of a bug, once"
    assert "NoneType" not in before
    assert before.count("event=unexpected") == 2
    assert "two" in before
    assert "\nlines" not in before
    assert path.read_text() == "the last line\n"
    for file in (path, path.with_name("node.log.1")):
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert last_words(path, since=10_000_000) == "the last line", "turned since that position"
