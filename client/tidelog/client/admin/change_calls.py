"""Makes the admin client's changes: attempts, retries, and the wait until every broker knows.

Owns command ids, the retries while no controller leads, and each item's result. Which answers leave
a change open is `changes`' decision, what is asked the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from tidelog.client.admin.changes import Changes, Result
from tidelog.client.admin.descriptions import unusable_parts
from tidelog.client.backoff import Backoff
from tidelog.client.connections import RETRIES_MAX
from tidelog.client.errors import (
    CallFailedError,
    RequestTimedOutError,
    TidelogError,
    UnreachableError,
    raise_for,
)
from tidelog.client.ports import ClientPorts
from tidelog.client.routing import Routing
from tidelog.v1.admin_pb2 import DescribeClusterRequest
from tidelog.v1.common_pb2 import Error
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import DESCRIBE_CLUSTER, METADATA, Method, Request, Response

_COMMAND_ID_BYTES = 16
Attempt = Callable[[list[str], bytes], Awaitable[tuple[Error, Sequence[Result]]]]
"""Ask for the change of these, under this command id."""


class ChangeCalls:
    """The changing calls of one admin client.

    `api_timeout_ms` and `retries` bound a change, `request_timeout_ms` each attempt.
    """

    def __init__(
        self,
        routing: Routing,
        *,
        ports: ClientPorts,
        backoff: Backoff,
        request_timeout_ms: int,
        api_timeout_ms: int,
        retries: int = RETRIES_MAX,
    ) -> None:
        self._routing = routing
        self._ports = ports
        self._backoff = backoff
        self._request_timeout_ms = request_timeout_ms
        self._api_timeout_ms = api_timeout_ms
        self._retries = retries

    def deadline_ms(self) -> int:
        """The end of a change that begins now."""
        return self._ports.clock.monotonic_ms() + self._api_timeout_ms

    async def change(
        self, names: list[str], attempt: Attempt, *, deadline_ms: int
    ) -> dict[str, TidelogError | None]:
        """Attempt a change until every topic has an answer: None, or why it was not changed.

        The same attempt again has the same command id: after an unknown outcome it is answered as
        it was if it had happened, and happens once. Raises what fails before any topic has an
        answer; later it is the answer of those without one.
        """
        changes = Changes(names)
        try:
            await self._attempt_all(changes, attempt, deadline_ms=deadline_ms)
        except TidelogError as error:
            changes.give_up(error)
        return changes.results

    async def _attempt_all(self, changes: Changes, attempt: Attempt, *, deadline_ms: int) -> None:
        failures = 0
        asked: list[str] = []
        while pending := changes.pending:
            if asked != pending:
                asked = pending
                command_id = self._ports.random.randbytes(_COMMAND_ID_BYTES)
            try:
                error, results = await attempt(asked, command_id)
                raise_for(error)
                changes.take(results)
            except UnreachableError:
                raise
            except TidelogError as failure:
                changes.attempt_failed(failure)
            if changes.pending:
                failures += 1
                await self.retry(failures, changes.last_error, deadline_ms=deadline_ms)

    async def retry(self, failures: int, error: TidelogError | None, *, deadline_ms: int) -> None:
        """Wait before an attempt after `failures`; raises `error` when no retry is left."""
        if failures > self._retries:
            raise error or CallFailedError(f"no answer after {self._retries} retries")
        await self.back_off(failures, error, deadline_ms=deadline_ms)

    async def back_off(
        self, failures: int, error: TidelogError | None, *, deadline_ms: int
    ) -> None:
        """Wait before the next attempt; raises `error` when it would come too late."""
        delay_ms = self._backoff.delay_ms(failures, self._ports.random)
        if self._ports.clock.monotonic_ms() + delay_ms >= deadline_ms:
            raise error or CallFailedError(f"no answer within {self._api_timeout_ms} ms")
        await asyncio.sleep(delay_ms / 1000)

    async def wait_until_usable(
        self, topic_ids: Mapping[str, bytes], *, deadline_ms: int
    ) -> dict[str, TidelogError]:
        """Wait until every live broker names a leader for every partition of these topics.

        Of these incarnations, where their ids are known. Returns why, for those that are not usable
        in time: empty when all are.
        """
        late: dict[str, TidelogError] = {}
        failures = 0
        while topic_ids:
            try:
                missing = await self._without_leader(topic_ids)
            except TidelogError as error:
                what = f"created, but no broker says whether it is usable: {error.message}"
                return {name: RequestTimedOutError(what) for name in topic_ids}
            late = {
                name: RequestTimedOutError(
                    f"created, but after {self._api_timeout_ms} ms {part} has no leader that every "
                    "broker knows of: look at `topics describe`",
                )
                for name, part in missing.items()
            }
            if not late:
                break
            failures += 1
            try:
                await self.back_off(failures, next(iter(late.values())), deadline_ms=deadline_ms)
            except RequestTimedOutError:
                break
        return late

    async def _without_leader(self, topic_ids: Mapping[str, bytes]) -> dict[str, str]:
        """Find, by topic, a partition for which some live broker knows no leader."""
        request = MetadataRequest(topics=[*topic_ids])
        answer = await self._call(METADATA, request)
        answers = await asyncio.gather(
            *(self._ask_one(broker.address, METADATA, request) for broker in answer.brokers)
        )
        found: dict[str, str] = {}
        for response in (answer, *answers):
            if response is not None:
                found |= unusable_parts(response, topic_ids)
        return found

    async def wait_until_known(self, offset: int, *, deadline_ms: int) -> None:
        """Return when every live broker's metadata is at this offset or beyond."""
        failures = 0
        while not await self._is_known(offset):
            failures += 1
            error = RequestTimedOutError(
                f"altered, but after {self._api_timeout_ms} ms not every broker knows of it",
            )
            await self.back_off(failures, error, deadline_ms=deadline_ms)

    async def _is_known(self, offset: int) -> bool:
        request = DescribeClusterRequest()
        cluster = await self._call(DESCRIBE_CLUSTER, request)
        live = [broker.address for broker in cluster.brokers if not broker.fenced]
        answers = await asyncio.gather(
            *(self._ask_one(address, DESCRIBE_CLUSTER, request) for address in live)
        )
        return all(answer is None or answer.metadata_offset >= offset for answer in answers)

    async def _call(self, method: Method[Request, Response], request: Request) -> Response:
        return await self._routing.call_any(method, request, timeout_ms=self._request_timeout_ms)

    async def _ask_one(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> Response | None:
        try:
            return await self._ports.transport.call(
                address, method, request, timeout_ms=self._request_timeout_ms
            )
        except TidelogError:
            return None  # a broker that does not answer is not one a client will use
