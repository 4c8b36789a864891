"""Clients: producers with unique values, readers that read along, an admin.

Owns the clients' calls, and the history of their results. A topic's incarnation ends when its
deletion has ended; its producers and readers end before it is created again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from tidelog.chaos.workloads.clients import Clients, GrpcClients
from tidelog.chaos.workloads.deletions import RecordDeleter
from tidelog.chaos.workloads.group_load import GroupLoad
from tidelog.chaos.workloads.plans import CHURNED, LEDGER, TopicPlan, TransactionPlan
from tidelog.chaos.workloads.readers import read_all, read_along
from tidelog.chaos.workloads.senders import Incarnation, Sender
from tidelog.chaos.workloads.transaction_load import TransactionLoad
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import TopicPartition
from tidelog.client.admin import Admin
from tidelog.client.errors import TidelogError
from tidelog.core.chance import SeededRandom, one_of
from tidelog.history.history import Send
from tidelog.net.transport import Transport
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import METADATA

CHURN_S_MIN, CHURN_S_MAX = 0.5, 3.0
REFUSED_WAIT_S = 0.2
ASK_MS = 2_000
KNOWN_S_MAX = 60.0
"""Longer than any fault of a story or a storm keeps a broker away."""
RETENTION_MS = 7 * 24 * 3600 * 1000


class Workload:
    """The clients of one run."""

    def __init__(
        self, port: WorkloadPort, random: SeededRandom, clients: Clients | None = None
    ) -> None:
        """Begin; `clients` makes producers and readers: None, those of our own client."""
        self.port = port
        self.clients: Clients = GrpcClients(port) if clients is None else clients
        self.acknowledged = 0
        self.unended = 0
        self.is_churn_over = False
        self.is_read = False
        """Everything there was at the end."""
        self.rests: list[tuple[float, float]] = []
        """Times in which producers begin nothing: from, to."""
        self._random = random
        self._held_since_s: float | None = None
        self._numbers = 0
        self._decisions = 0
        self._incarnations: dict[str, Incarnation] = {}
        self._pending: dict[int, Callable[[], Send]] = {}
        self.group: GroupLoad | None = None
        """The story's consumer group; None: it has none."""
        self.transactions: TransactionLoad | None = None
        """The story's transactions; None: it has none."""
        ports = port.client_ports("admin")
        self._transport: Transport = ports["transport"]
        self._admin = Admin(port.bootstrap, **ports)

    @property
    def is_held(self) -> bool:
        """Producers begin nothing for now."""
        return self._held_since_s is not None

    @is_held.setter
    def is_held(self, is_held: bool) -> None:
        if is_held and self._held_since_s is None:
            self._held_since_s = self.port.now_s
        elif not is_held and self._held_since_s is not None:
            self.rests.append((self._held_since_s, self.port.now_s))
            self._held_since_s = None

    @property
    def operations(self) -> int:
        """Calls begun."""
        return self._numbers

    def next_number(self) -> int:
        """The next place in the order of all calls."""
        self._numbers += 1
        return self._numbers

    # The story

    async def begin(self) -> None:
        """Set the cluster's defaults, create all topics; producers and readers start."""
        await self._set_defaults(self.port.cluster_defaults)
        for plan in self.port.topics:
            await self._create(plan)
            self._begin(plan, 0)
        if self.port.group is not None:
            self.group = GroupLoad(self.port, self.port.group, next_number=self.next_number)
            await self.group.begin()
        if self.port.transactions is not None:
            await self._begin_transactions(self.port.transactions)

    async def _begin_transactions(self, plan: TransactionPlan) -> None:
        """Their topic is like the story's, with partitions of its own."""
        await self._create(replace(self.port.topics[0], name=LEDGER, partitions=plan.partitions))
        self.transactions = TransactionLoad(
            self.port, plan, self._random.fork("transactions"), next_number=self.next_number
        )
        await self.transactions.begin()

    async def churn(self) -> None:
        """Until it is over: what operators do on a working day, drawn."""
        while not self.is_churn_over:
            await asyncio.sleep(self._random.uniform(CHURN_S_MIN, CHURN_S_MAX))
            topic = one_of(self._random, self.port.topics)
            try:
                await one_of(
                    self._random,
                    [
                        self._elect,
                        self._elect_unclean,
                        self._configure,
                        self._recreate,
                        self._delete_records,
                    ],
                )(topic)
            except TidelogError as error:
                self.port.note("admin", f"{topic.name}: {error}")

    async def stop_sending(self) -> None:
        """Returns when every send has ended, and the group has read everything and left."""
        for incarnation in self._incarnations.values():
            incarnation.is_over = True
        for incarnation in self._incarnations.values():
            await asyncio.gather(*incarnation.tasks)
        if self.group is not None:
            await self.group.finish()
        if self.transactions is not None:
            await self.transactions.finish()

    def find_unfinished(self) -> Iterator[str]:
        """Yield what has not come to its end, for people."""
        if self.unended:
            yield f"{self.unended} sends have not ended"
        if self.group is not None and not self.group.is_finished:
            yield f"group {self.group.group_id} has not read everything: {self.group.view}"
        if self.transactions is not None:
            yield from self.transactions.find_unfinished()

    async def close(self) -> None:
        """Release the admin and the group, write down what never ended."""
        await self._admin.close()
        if self.group is not None:
            await self.group.close()
        if self.transactions is not None:
            await self.transactions.close()
        self.write_pending()

    def write_pending(self) -> None:
        """Write sends and commits that have not ended into the history, too."""
        if self.group is not None:
            self.group.write_pending()
        if self.transactions is not None:
            self.transactions.write_pending()
        for send in self._pending.values():
            self.port.end_send(send())
        self._pending.clear()

    async def read_all(self) -> None:
        """Everything there is, by readers of their own. Errors: as `readers.read_all`."""
        for incarnation in self._incarnations.values():
            # Twice what is compacted: what one reading passed by must not be in the next.
            for is_final in (False, True) if incarnation.plan.is_compacted else (True,):
                await read_all(
                    self.port,
                    incarnation,
                    consumer=self.clients.reader("reader-final", incarnation.plan),
                    next_number=self.next_number,
                    is_final=is_final,
                )
        if self.transactions is not None:
            await self.transactions.read_all()
        self.is_read = True

    # Admin

    async def _set_defaults(self, defaults: Mapping[str, str]) -> None:
        while defaults:
            try:
                await self._admin.alter_configs(None, defaults)
            except TidelogError as error:
                self.port.note("admin", f"defaults not set: {error}")
                await asyncio.sleep(REFUSED_WAIT_S)
            else:
                return

    async def _create(self, plan: TopicPlan) -> AbstractSet[bytes]:
        """Until it is there; a call that was not answered may have created it.

        Returns the ids of topics of its name that clients' requests created meanwhile, by the
        cluster's defaults: they are deleted.
        """
        self.port.note("admin", f"creates {plan.name}")
        others: set[bytes] = set()
        while True:
            try:
                await self._admin.create_topic(
                    plan.name,
                    partitions=plan.partitions,
                    replication_factor=self.port.replication_factor,
                    configs=plan.configs(),
                )
            except TidelogError as error:
                if error.code == common_pb2.TOPIC_ALREADY_EXISTS:
                    other = await self._other(plan)
                    if other is None:
                        return others
                    others |= other
                    await self._delete(plan)
                    continue
                self.port.note("admin", f"{plan.name} not created: {error}")
                await asyncio.sleep(REFUSED_WAIT_S)
            else:
                return others

    async def _other(self, plan: TopicPlan) -> AbstractSet[bytes] | None:
        """Return the id of a topic that is not as planned, if there is one; None: it is."""
        while True:
            try:
                found = (await self._admin.describe_topics([plan.name]))[plan.name]
            except TidelogError:
                await asyncio.sleep(REFUSED_WAIT_S)
                continue
            if isinstance(found, TidelogError):
                return frozenset()
            return None if plan.configs().items() <= found.configs.items() else {found.topic_id}

    async def _delete(self, plan: TopicPlan) -> None:
        self.port.note("admin", f"deletes {plan.name}")
        while True:
            try:
                await self._admin.delete_topic(plan.name)
            except TidelogError as error:
                if error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION:
                    return
                await asyncio.sleep(REFUSED_WAIT_S)
            else:
                return

    async def recreate(self, topic: str) -> None:
        """Delete it under load, and create it again; only the topic that is meant for it."""
        await self._recreate(self._incarnations[topic].plan)

    async def create(self, topic: str, *, within_s: float) -> bool:
        """Create a topic without clients of its own; whether that was answered well."""
        try:
            async with asyncio.timeout(within_s):
                await self._admin.create_topic(
                    topic, partitions=1, replication_factor=self.port.replication_factor
                )
        except (TimeoutError, TidelogError) as error:
            self.port.note("admin", f"{topic} not created: {error!r}")
            return False
        return True

    async def decide(self, topic: str, *, within_s: float) -> bool:
        """Have a longer retention, which changes nothing; whether that was answered well."""
        self._decisions += 1
        changes = {"retention.ms": str(RETENTION_MS + self._decisions)}
        try:
            async with asyncio.timeout(within_s):
                await self._admin.alter_configs(topic, changes)
        except (TimeoutError, TidelogError) as error:
            self.port.note("admin", f"{topic} not altered: {error!r}")
            return False
        return True

    async def _recreate(self, plan: TopicPlan) -> None:
        if plan.name != CHURNED:
            return
        old = self._incarnations[plan.name]
        before = await self._topic_ids(plan.name) - {b""}
        if not before:
            return  # nobody to ask: which incarnation comes next could not be told
        await self._delete(plan)
        old.is_over = True
        await asyncio.gather(*old.tasks)
        others = await self._create(plan)
        await self._known_to_all(plan.name, before | others)
        self.port.count_event("recreated_topics")
        self._begin(plan, old.number + 1)

    async def _known_to_all(self, topic: str, before: AbstractSet[bytes]) -> None:
        """Wait until every broker knows the new incarnation, also those that were cut off.

        A new client takes what it is told: by a broker that lags, the old incarnation. It reads
        that by right, and we would write it down as read in the new one. A broker that does not
        come back is for others to find: the wait has an end.
        """
        ends_s = self.port.now_s + KNOWN_S_MAX
        while self.port.now_s < ends_s:
            topic_ids = await self._topic_ids(topic)
            if len(topic_ids) == 1 and not topic_ids & (before | {b""}):
                return
            await asyncio.sleep(REFUSED_WAIT_S)
        self.port.note("admin", f"{topic}: not every broker knows it after {KNOWN_S_MAX} s")

    async def _topic_ids(self, topic: str) -> AbstractSet[bytes]:
        """The topic's ids by each broker; empty for one that has none, or does not answer."""
        asked = (self._topic_id(address, topic) for address in self.port.bootstrap)
        return set(await asyncio.gather(*asked))

    async def _topic_id(self, address: str, topic: str) -> bytes:
        request = MetadataRequest(topics=[topic])
        try:
            answer = await self._transport.call(address, METADATA, request, timeout_ms=ASK_MS)
        except TidelogError:
            return b""
        return b"".join(one.topic_id for one in answer.topics)

    async def _elect(self, plan: TopicPlan) -> None:
        await self._admin.elect_leaders([plan.name])

    async def _elect_unclean(self, plan: TopicPlan) -> None:
        if plan.is_lossy:
            await self._admin.elect_leaders([plan.name], unclean=True)

    async def _configure(self, plan: TopicPlan) -> None:
        sizes = self.port.segment_bytes
        segment_bytes = str(self._random.randrange(sizes.start, sizes.stop))
        await self._admin.alter_configs(plan.name, {"segment.bytes": segment_bytes})

    async def _delete_records(self, plan: TopicPlan) -> None:
        """Delete some of what is committed in a partition."""
        if not plan.may_be_deleted_from:
            return
        tp = TopicPartition(plan.name, self._random.randrange(0, plan.partitions))
        random = self._random.fork("deletions")
        deleter = RecordDeleter(self.port, self._admin, random, self.next_number)
        await deleter.delete_some(tp, self._incarnations[plan.name].number)

    # Clients

    def _begin(self, plan: TopicPlan, number: int) -> None:
        incarnation = self._incarnations[plan.name] = Incarnation(plan, number)
        for producer in self.port.producers:
            if producer.topic == plan.name:
                work = Sender(self, producer, incarnation, self._random.fork(producer.name)).run()
                incarnation.tasks.append(asyncio.create_task(work, name=producer.name))
        for reader in self.port.readers:
            reading = read_along(
                self.port,
                incarnation,
                name=f"{reader}-{plan.name}-{number}",
                consumer=self.clients.reader(f"{reader}-{plan.name}", plan),
                next_number=self.next_number,
            )
            task = asyncio.create_task(reading, name=f"{reader}-{plan.name}")
            incarnation.tasks.append(task)

    def invoke(self, begun: Callable[[], Send]) -> int:
        """A send begins: `begun` is it as long as it has no end."""
        self.unended += 1
        number = self.next_number()
        self._pending[number] = begun
        self.port.begin_send(begun)
        return number

    def end(self, number: int, send: Send) -> None:
        """It ended."""
        if self._pending.pop(number, None) is None:
            return  # It was written down as one that never ends.
        self.unended -= 1
        self.port.end_send(send)
        self.acknowledged += send.outcome == "ok"
        if send.outcome == "unknown":
            self.port.count_event("unknown_outcomes")
        if self.port.is_diary_read:
            end = send.offset if send.outcome == "ok" else f"{send.outcome}: {send.reason}"
            place = f"{send.topic}-{send.partition}"
            self.port.note(send.process, f"{place} {send.value[:24]!r}: {end}")
