"""Many memberships in one process, each with a connection of its own, that read nothing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from tests.benchmarks.groups_programs import emit

from tidelog.client.backoff import Backoff
from tidelog.client.connections import ConnectionConfig
from tidelog.client.errors import TidelogError
from tidelog.client.groups.coordinator_calls import CoordinatorCalls
from tidelog.client.groups.group_member import GroupMember
from tidelog.client.groups.membership import Membership, Subscription
from tidelog.client.ports import ClientPorts
from tidelog.client.routing import Routing, RoutingConfig

REQUEST_TIMEOUT_MS = 10_000
CONNECTIONS_MAX_IDLE_MS = 5_000
"""So that connections of the look-up go, and those to the coordinator stay."""


class OneOfMany:
    """A membership that carries out its assignments at once."""

    def __init__(self, bootstrap: str, group: str, topic: str, number: int) -> None:
        self._ports = ClientPorts.of(
            transport=None,
            clock=None,
            random=None,
            connections=ConnectionConfig(
                client_id=f"member-{number}", connections_max_idle_ms=CONNECTIONS_MAX_IDLE_MS
            ),
        )
        backoff = Backoff(20, 200)
        self._routing = Routing(bootstrap, ports=self._ports, config=RoutingConfig(backoff=backoff))
        self.membership = Membership(group, self._ports.random.randbytes(16).hex(), None)
        calls = CoordinatorCalls(
            self._routing, group, backoff=backoff, request_timeout_ms=REQUEST_TIMEOUT_MS
        )
        said = Subscription(topics=frozenset([topic]), client_id=f"member-{number}")
        self.member = GroupMember(
            self.membership,
            calls,
            said=lambda: said,
            events=self,
            backoff=backoff,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
        )
        self.failure: TidelogError | None = None

    @property
    def is_settled(self) -> bool:
        """True if it has joined and carried out its newest assignment."""
        return self.membership.is_member and self.membership.is_reconciled

    def on_offer(self) -> None:
        """See `MemberEvents`."""
        one = self.membership
        while not one.is_reconciled:
            going = one.owned - one.offer.partitions
            one.note_owned(one.owned - going if going else one.offer.partitions, one.offer)
        self.member.say()

    def on_lost(self, why: str) -> None:
        """See `MemberEvents`."""
        self.member.rejoin()

    def on_failure(self, error: TidelogError) -> None:
        """See `MemberEvents`."""
        self.failure = error

    def on_look(self) -> None:
        """See `MemberEvents`."""

    async def close(self) -> None:
        """Leave."""
        with contextlib.suppress(TidelogError):
            await self.member.stop()
            await self.member.leave(timeout_ms=REQUEST_TIMEOUT_MS)
        await self._ports.close()


async def crowd(
    bootstrap: str,
    group: str,
    topic: str,
    members: str,
    partitions: str,
    *,
    started: Callable[[], Awaitable[None]],
    heard: Callable[[str], Awaitable[None]],
) -> None:
    """The program `crowd`, see `groups_client`."""
    everyone = [OneOfMany(bootstrap, group, topic, number) for number in range(int(members))]
    await started()
    for one in everyone:
        one.member.start()
    while not _are_balanced(everyone, int(partitions)):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    emit("balanced", time.monotonic())
    await heard("leave")
    await asyncio.gather(*(one.close() for one in everyone))


def _are_balanced(everyone: list[OneOfMany], partitions: int) -> bool:
    failures = [one.failure for one in everyone if one.failure is not None]
    if failures:
        raise failures[0]
    counts = [len(one.membership.owned) for one in everyone]
    is_even = sum(counts) == partitions and max(counts) - min(counts) <= 1
    return is_even and all(one.is_settled for one in everyone)
