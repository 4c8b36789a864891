"""A client of Kafka's protocol, beneath producers and readers: connections and metadata.

One connection a broker, made when first needed, whose first request is ApiVersions. Metadata is
asked of any broker that is connected, or of the next bootstrap address; what is known stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.kafka.message import Message
from tidelog.kafka.messages.api_versions_request import ApiVersionsRequest
from tidelog.kafka.messages.api_versions_response import ApiVersionsResponse
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.messages.metadata_response import MetadataResponse
from tidelog.simulation.engine.byte_streams import SimDialer
from tidelog.simulation.wire.cluster_map import ClusterMap, Leader, NodeEndpoint
from tidelog.simulation.wire.leader_claims import ClaimChecks, Place
from tidelog.simulation.wire.link import Link
from tidelog.simulation.wire.versions import API_VERSIONS, Versions

BACKOFF_S = 0.1
"""Kafka's retry.backoff.ms."""

GONE_ID_PROBABILITY = 0.2

M = TypeVar("M", bound=Message)


class WireClient:
    """Calls of one client, of one topic."""

    def __init__(
        self,
        name: str,
        topic: str,
        dialer: SimDialer,
        bootstrap: Sequence[str],
        versions: Versions,
        checks: ClaimChecks,
        random: SeededRandom,
    ) -> None:
        self.name = name
        self.topic = topic
        self.map = ClusterMap()
        self.versions = versions
        self.checks = checks
        self.timeout_s = 2.0
        self._dialer = dialer
        self._bootstrap = bootstrap
        self._random = random
        self._links: dict[str, Link] = {}
        self._seen: dict[Link, dict[Place, int]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._has_asked_gone_id = False
        self._refreshing: asyncio.Task[None] | None = None

    # Metadata

    async def refresh(self) -> None:
        """Ask for metadata once; who asks meanwhile waits for the same answer.

        Raises nothing: what is known stays if nobody answers.
        """
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh(), name="metadata")
        await asyncio.shield(self._refreshing)

    def leader(self, partition: int) -> Leader | None:
        """Leader of a partition, as far as it is known."""
        return self.map.leader(self.topic, partition)

    @property
    def topic_id(self) -> bytes:
        """Id of the topic, which is known."""
        return self.map.topic_id(self.topic)

    def is_gone_id_due(self) -> bool:
        """True at first, then now and then: the earlier incarnation's id is asked for."""
        is_first, self._has_asked_gone_id = not self._has_asked_gone_id, True
        return is_first or self._random.random() < GONE_ID_PROBABILITY

    def take_hint(
        self, partition: int, hint: Leader, endpoints: Sequence[NodeEndpoint], where: str
    ) -> bool:
        """Take the leader that an error names; whether it is newer than what was known."""
        if hint.epoch < 0:
            return False
        self.checks.on_hint(self.map, self.topic, partition, hint, where)
        is_newer = self.map.take_hint(self.topic, partition, hint, endpoints)
        if is_newer:
            self.checks.count("hints_followed")
        return is_newer

    async def _refresh(self) -> None:
        try:
            link = await self._any_link()
            request = MetadataRequest(
                topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False
            )
            answer = await link.call(
                request, self.versions.metadata, MetadataResponse, timeout_s=self.timeout_s
            )
        except TidelogError:
            await asyncio.sleep(BACKOFF_S)
            return
        self.checks.on_metadata(self._seen.setdefault(link, {}), answer, link.address)
        self.map.take(answer)

    async def _any_link(self) -> Link:
        connected = [one for one in self._links.values() if one.is_open]
        addresses = [one.address for one in connected] or [
            *self.map.addresses.values(),
            *self._bootstrap,
        ]
        return await self.link_to(one_of(self._random, addresses))

    # Connections

    async def link(self, node_id: int) -> Link:
        """The connection to a broker. Raises `UnreachableError`, `CallFailedError`."""
        address = self.map.addresses.get(node_id)
        if address is None:
            raise UnreachableError(f"broker {node_id} has no address")
        return await self.link_to(address)

    async def any_call(self, request: Message, version: int, kind: type[M]) -> M:
        """Call any broker. Raises `UnreachableError`, `CallFailedError`."""
        link = await self._any_link()
        return await link.call(request, version, kind, timeout_s=self.timeout_s)

    async def link_to(self, address: str) -> Link:
        """The connection to a listener. Raises `UnreachableError`, `CallFailedError`."""
        async with self._locks.setdefault(address, asyncio.Lock()):
            known = self._links.get(address)
            if known is not None and known.is_open:
                return known
            if known is not None:
                self.checks.count("reconnected")
                self._seen.pop(known, None)
            link = await Link.connect(
                self._dialer, address, client_id=self.name, report=self.checks.on_bad_answer
            )
            await self._ask_versions(link)
            self._links[address] = link
            return link

    async def _ask_versions(self, link: Link) -> None:
        request = ApiVersionsRequest(
            client_software_name="simulated", client_software_version="1.0"
        )
        answer = await link.call(
            request, API_VERSIONS, ApiVersionsResponse, timeout_s=self.timeout_s
        )
        served = {
            one.api_key: range(one.min_version, one.max_version + 1) for one in answer.api_keys
        }
        for key, version in self.versions.by_key.items():
            if version not in served.get(key, ()):
                what = f"version {version} of API {key} is not among {served.get(key)}"
                self.checks.on_bad_answer(f"{link.address}: {what}")
                link.close(what)
                raise CallFailedError(what)

    def close(self) -> None:
        """End all connections."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        for link in self._links.values():
            link.close("the client is closed")
