"""Consumer of a group's member: what its application asks of it, and who makes ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from tidelog.chaos.workloads.plans import MemberPlan
from tidelog.client import Consumer, ConsumerInterceptor, RebalanceListener
from tidelog.client.consuming.group_methods import Offsets
from tidelog.client.groups.listener import GroupMetadata


class MemberConsumer(Protocol):
    """A consumer with a group: see `tidelog.client.Consumer`. Raises `TidelogError`."""

    async def subscribe(self, topics: Sequence[str], /, *, listener: RebalanceListener) -> None:
        """See `Consumer.subscribe`."""

    async def getmany(self, *, timeout_ms: int, max_records: int) -> Sequence[Any]:
        """See `Consumer.getmany`. Records go to the interceptor the moment they are handed out."""

    async def commit(self, offsets: Offsets, /) -> None:
        """See `Consumer.commit`."""

    def group_metadata(self) -> GroupMetadata:
        """See `Consumer.group_metadata`."""

    async def close(self, *, timeout_ms: int) -> None:
        """Leave the group, and end."""


ConsumerMaker: TypeAlias = Callable[[ConsumerInterceptor[bytes, bytes]], MemberConsumer]
"""Makes a member's consumer; its records go to the interceptor."""


def consumer_of_ours(
    plan: MemberPlan, *, bootstrap: Sequence[str], ports: Mapping[str, Any]
) -> ConsumerMaker:
    """Return the maker of consumers of `tidelog.client`; `ports` are keyword arguments of them."""

    def make(interceptor: ConsumerInterceptor[bytes, bytes]) -> Consumer[bytes, bytes]:
        return Consumer(
            bootstrap,
            client_id=plan.name,
            group_id=plan.group_id,
            enable_auto_commit=False,
            request_timeout_ms=plan.request_timeout_ms,
            api_timeout_ms=plan.api_timeout_ms,
            bootstrap_timeout_ms=60_000,
            interceptors=[interceptor],
            **ports,
        )

    return make
