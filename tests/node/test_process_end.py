"""The end of a node's process: calls that end are waited for, those that do not end are left.

What breaks an invariant ends it at once, wherever on its loop.
"""

from __future__ import annotations

import asyncio

import pytest

from tidelog.core.background import report_failure
from tidelog.core.errors import InvariantError, StorageError
from tidelog.node import process


async def test_a_call_that_ends_is_waited_for() -> None:
    async def ends_late() -> None:
        for _ in range(100):
            await asyncio.sleep(0)

    call = asyncio.create_task(ends_late())
    await process._wait_for_calls()
    assert call.done()
    assert not call.cancelled()


async def test_a_call_that_never_ends_holds_the_process_no_longer_than_calls_end_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "CALLS_END_S", 0.001)
    call = asyncio.create_task(asyncio.Event().wait())
    async with asyncio.timeout(3):  # instead of for ever
        await process._wait_for_calls()
    assert not call.done(), "it was not cancelled either: the loop's end does that"
    call.cancel()


class Ends:
    """What ended the process, and what its loop logged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.codes: list[int] = []
        self.logged: list[object] = []
        monkeypatch.setattr(process, "end_process", self.codes.append)
        self._loop = asyncio.get_running_loop()
        monkeypatch.setattr(self._loop, "default_exception_handler", self._log, raising=False)

    def _log(self, context: dict[str, object]) -> None:
        self.logged.append(context["exception"])

    def raise_in_a_callback(self, error: Exception) -> None:
        def fail() -> None:
            raise error

        self._loop.call_soon(fail)

    def raise_in_a_task(self, error: Exception) -> None:
        async def fail() -> None:
            raise error

        asyncio.create_task(fail()).add_done_callback(report_failure)  # ends


@pytest.mark.parametrize("way", ["raise_in_a_callback", "raise_in_a_task"])
@pytest.mark.parametrize(
    ("error", "codes"), [(InvariantError("two leaders"), [1]), (StorageError("full"), [])]
)
async def test_a_broken_invariant_that_no_task_and_no_edge_handles_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, way: str, error: Exception, codes: list[int]
) -> None:
    ends = Ends(monkeypatch)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(process.end_on_broken_invariant)
    getattr(ends, way)(error)
    for _ in range(5):
        await asyncio.sleep(0)
    loop.set_exception_handler(None)
    assert ends.codes == codes
    assert ends.logged == [error]
