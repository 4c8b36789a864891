"""A client that makes a topic by asking for its metadata, and writes to it at once.

It comes when everything is at rest, so nothing excuses a refusal: its first batches, several of
them in flight, are all stored in the order in which they were sent. Its producer has no id, and may
number its batches all the same; without acknowledgements the end of the log tells what is stored.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import TidelogError
from tidelog.kafka.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.kafka.messages.list_offsets_response import ListOffsetsResponse
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tidelog.kafka.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.kafka.messages.produce_response import ProduceResponse
from tidelog.records.records import BatchBuilder
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.wire.answers import name
from tidelog.simulation.wire.link import Link
from tidelog.simulation.wire.versions import Versions, draw_versions

USED_PROBABILITY = 0.25
"""Share of the seeds that have one."""
TOPICS_MAX, BATCHES_MAX = 9, 6
PATIENCE_S_MAX, ANSWER_S_MAX, LOOK_EVERY_S = 10.0, 5.0, 0.1
PAUSE_S_MAX = 0.02
"""Time between two batches: as long as a partition takes to be opened."""
HOST, FIRST_RECORDS = "newcomer", "first-records"
METADATA_VERSION = 12
LATEST = -1


class Newcomer:
    """See the module; `come` once."""

    def __init__(
        self, simulation: ClusterSimulation, random: SeededRandom, bootstrap: Sequence[str]
    ) -> None:
        self._simulation = simulation
        self._random = random
        self._bootstrap = bootstrap
        self._versions: Versions = draw_versions(random, needs_ids=False)
        self._is_numbering = random.random() < 0.5
        self._links: dict[str, Link] = {}

    async def come(self) -> None:
        """Make topics and write to them, one after the other."""
        self._simulation.client_ports(HOST)
        for number in range(self._random.randrange(1, TOPICS_MAX)):
            topic = f"new-{number}"
            try:
                await self._write_first(topic)
            except (TidelogError, TimeoutError) as error:
                self._report(f"{topic}: {error!r}")
        for link in self._links.values():
            link.close("the newcomer leaves")

    async def _write_first(self, topic: str) -> None:
        made, addresses = await self._make(topic)
        acks = one_of(self._random, (-1, 0, 1))
        count = self._random.randrange(2, BATCHES_MAX)
        by_leader: defaultdict[int, list[int]] = defaultdict(list)
        for one in made.partitions:
            by_leader[one.leader_id].append(one.partition_index)
        links = {leader: await self._link(addresses[leader]) for leader in by_leader}
        asking: list[asyncio.Task[list[tuple[int, int]]]] = []
        pause_s = self._random.uniform(0.0, PAUSE_S_MAX)
        for batch in range(count):
            for leader, partitions in by_leader.items():
                sending = self._send(links[leader], made, partitions, batch, acks)
                asking.append(asyncio.create_task(sending, name=HOST))
            await asyncio.sleep(pause_s)
        answers = await asyncio.gather(*asking)
        self._simulation.count_event("first_batches")
        offsets: defaultdict[int, list[int]] = defaultdict(list)
        for number, base_offset in (one for answer in answers for one in answer):
            offsets[number].append(base_offset)
        for number, found in offsets.items():
            if acks and found != list(range(count)):
                self._report(f"{topic}-{number}: {count} first batches were stored at {found}")
        if not acks:
            for leader, partitions in by_leader.items():
                await self._wait_until_stored(links[leader], topic, partitions, count)

    async def _make(self, topic: str) -> tuple[MetadataResponseTopic, dict[int, str]]:
        """Ask for the topic until all its leaders are named."""
        link = await self._link(one_of(self._random, self._bootstrap))
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True
        )
        async with asyncio.timeout(PATIENCE_S_MAX):
            while True:
                answer = await link.call(
                    request, METADATA_VERSION, MetadataResponse, timeout_s=ANSWER_S_MAX
                )
                made = answer.topics[0]
                leaders = [one.leader_id for one in made.partitions]
                if not made.error_code and leaders and min(leaders) >= 0:
                    addresses = {one.node_id: f"{one.host}:{one.port}" for one in answer.brokers}
                    return made, addresses
                await asyncio.sleep(LOOK_EVERY_S)

    async def _send(
        self,
        link: Link,
        made: MetadataResponseTopic,
        partitions: Sequence[int],
        batch: int,
        acks: int,
    ) -> list[tuple[int, int]]:
        """Send a batch to each partition; return its base offset, or the error, below zero."""
        builder = BatchBuilder()
        builder.append(timestamp_ms=1, key=None, value=b"%d" % batch)
        records = builder.build(base_sequence=batch if self._is_numbering else -1)
        data = [PartitionProduceData(index=one, records=records) for one in partitions]
        topic = TopicProduceData(name=made.name or "", topic_id=made.topic_id, partition_data=data)
        request = ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=[topic])
        if acks == 0:
            link.send_unanswered(request, self._versions.produce)
            return []
        answer = await link.call(
            request, self._versions.produce, ProduceResponse, timeout_s=ANSWER_S_MAX
        )
        found = answer.responses[0].partition_responses
        for one in found:
            if one.error_code:
                what = f"first batch {batch} is refused with {name(one.error_code)}"
                self._report(f"{made.name}-{one.index}: {what}: {one.error_message}")
        return [(one.index, one.base_offset) for one in found]

    async def _wait_until_stored(
        self, link: Link, topic: str, partitions: Sequence[int], count: int
    ) -> None:
        asked = [ListOffsetsPartition(partition_index=one, timestamp=LATEST) for one in partitions]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(topic, asked)])
        end_s = self._simulation.now_s + PATIENCE_S_MAX
        while True:
            answer = await link.call(
                request, self._versions.list_offsets, ListOffsetsResponse, timeout_s=ANSWER_S_MAX
            )
            ends = {one.partition_index: one.offset for one in answer.topics[0].partitions}
            if set(ends.values()) == {count}:
                return
            if self._simulation.now_s > end_s:
                self._report(f"{topic}: {count} first batches, acks=0, and the logs end at {ends}")
                return
            await asyncio.sleep(LOOK_EVERY_S)

    async def _link(self, address: str) -> Link:
        link = self._links.get(address)
        if link is None or not link.is_open:
            dialer = self._simulation.dialer(HOST)
            link = self._links[address] = await Link.connect(
                dialer, address, client_id=HOST, report=self._report
            )
        return link

    def _report(self, what: str) -> None:
        self._simulation.findings.report(FIRST_RECORDS, what)
