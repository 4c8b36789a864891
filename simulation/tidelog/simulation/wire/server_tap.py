"""Requests and answers of Kafka's protocol as the invariants of answers read them: as gRPC's.

Wraps the handler of each node: what a client asked, and what it is answered, becomes the plain
request and response that `cluster.invariants_replies` judges at the broker, at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.peer import Handler
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.node_inside import broker_of, held_by
from tidelog.kafka.apis import request_class, response_class
from tidelog.kafka.errors import KafkaMessageError
from tidelog.kafka.message import Message
from tidelog.kafka.messages.fetch_request import FetchPartition, FetchRequest
from tidelog.kafka.messages.fetch_response import FetchResponse
from tidelog.kafka.messages.list_offsets_request import ListOffsetsRequest
from tidelog.kafka.messages.list_offsets_response import ListOffsetsResponse
from tidelog.kafka.messages.produce_request import ProduceRequest
from tidelog.kafka.messages.produce_response import ProduceResponse
from tidelog.net.byte_streams import Buffer
from tidelog.net.call import Call
from tidelog.node.kafka_apis.table import FETCH, LIST_OFFSETS, PRODUCE
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.engine.network import Host
from tidelog.simulation.wire import group_frames as frames
from tidelog.simulation.wire.group_tap import JUDGED as JUDGED_OF_GROUPS
from tidelog.simulation.wire.group_tap import GroupTap
from tidelog.simulation.wire.leader_claims import BAD_ANSWER
from tidelog.simulation.wire.node_checks import (
    MEMBER_BYTES,
    MEMBERS_SLACK_BYTES,
    UNREAD,
    UNREAD_SLACK_BYTES,
    WIDE_STEP,
    NodeLimits,
    Stepped,
    elements_of,
    find_wide_steps,
    member_bytes,
    unread_bytes,
)
from tidelog.v1 import common_pb2, data_pb2

JUDGED = frozenset({PRODUCE, FETCH, LIST_OFFSETS})
LATEST = -1
FENCED = "fenced-epoch"

Names = Mapping[bytes, str]
"""Topics' names by their ids."""
Plain = (
    data_pb2.ProduceRequest
    | data_pb2.FetchRequest
    | data_pb2.ListOffsetsRequest
    | data_pb2.ProduceResponse
    | data_pb2.FetchResponse
    | data_pb2.ListOffsetsResponse
)
Tap = Callable[[Host, object, object], None]


class ServerTap:
    """Put before the handlers of each node that is built."""

    def __init__(self, tap: Callable[[], Tap | None], report: Report, limits: NodeLimits) -> None:
        self._tap = tap
        self._report = report
        self._limits = limits
        self.of_group: GroupTap | None = None
        """For requests of the group's members; None: the seed has no group."""

    def install(self, machine: Machine) -> None:
        """Wrap the handler of a node before it has a connection."""
        server = None if machine.node is None else machine.node.kafka
        if server is not None and machine.host is not None:
            apis = server._apis  # noqa: SLF001  # nothing in the product looks on
            checked = _CheckedHandler(apis.handler, machine, self)
            handler = _TappedHandler(checked, machine, machine.host, self)
            server._apis = replace(apis, handler=handler)  # noqa: SLF001

    def note(self, host: Host, request: object, response: object) -> None:
        """Pass a call on, with None or its response."""
        tap = self._tap()
        if tap is not None:
            tap(host, request, response)

    def on_bad_answer(self, what: str) -> None:
        """An answer is no message, or one about other partitions than were named."""
        self._report(BAD_ANSWER, what)

    def check_handled(self, machine: Machine, key: int, wide_steps: str) -> None:
        """Check what a node holds after a request of this API; `wide_steps` is a complaint."""
        if wide_steps:
            self._report(WIDE_STEP, f"{machine.name}, API {key}: {wide_steps}")
        if machine.node is None or machine.node.kafka is None:
            return
        held = unread_bytes(machine.node.kafka)
        if held > self._limits.answer_bytes_max + UNREAD_SLACK_BYTES:
            self._report(UNREAD, f"{machine.name} holds {held} bytes of answers nobody takes")
        held = member_bytes(machine) if key == frames.JOIN_GROUP else 0
        if held > self._limits.member_bytes_max + MEMBERS_SLACK_BYTES:
            self._report(MEMBER_BYTES, f"{machine.name} holds {held} bytes of members")

    def on_fenced(self, what: str) -> None:
        """A request that named an older leader epoch was served."""
        self._report(FENCED, what)


class _CheckedHandler:
    """See `tidelog.broker.kafka.peer.Handler`."""

    def __init__(self, handler: Handler, machine: Machine, tap: ServerTap) -> None:
        self._handler = handler
        self._machine = machine
        self._tap = tap

    async def __call__(self, request: Request, call: Call) -> Sequence[Buffer] | None:
        elements = elements_of(request)
        work = Stepped(self._work(request, call))
        buffers = await work
        size_bytes = sum(map(len, buffers or ()))
        wide_steps = find_wide_steps(elements, work.steps, size_bytes)
        self._tap.check_handled(self._machine, request.header.api_key, wide_steps)
        return buffers

    async def _work(self, request: Request, call: Call) -> Sequence[Buffer] | None:
        return await self._handler(request, call)


class _TappedHandler:
    """See `tidelog.broker.kafka.peer.Handler`."""

    def __init__(self, handler: Handler, machine: Machine, host: Host, tap: ServerTap) -> None:
        self._handler = handler
        self._machine = machine
        self._host = host
        self._tap = tap

    async def __call__(self, request: Request, call: Call) -> Sequence[Buffer] | None:
        key, version = request.header.api_key, request.header.api_version
        group = self._tap.of_group
        if group is not None and key in JUDGED_OF_GROUPS:
            try:
                return await group.serve(
                    self._machine, request, lambda: self._handler(request, call)
                )
            except KafkaMessageError as error:
                self._tap.on_bad_answer(f"{self._machine.name}: API {key}: {error}")
        if key not in JUDGED:
            return await self._handler(request, call)
        asked, _ = request_class(key).decode_prefix(bytes(request.body), version)
        names = self._topic_names()
        plain = _plain_request(asked, names)
        if isinstance(plain, data_pb2.ProduceRequest):
            self._tap.note(self._host, plain, None)
        fenced = self._find_fenced(asked, names)
        buffers = await self._handler(request, call)
        if buffers is not None:
            try:
                answer = response_class(key).decode(b"".join(buffers), version)
                self._tap.note(self._host, plain, _plain_response(plain, answer))
                self._check_fenced(answer, fenced)
            except (ValueError, KafkaMessageError) as error:
                self._tap.on_bad_answer(f"{self._machine.name}: {type(asked).__name__}: {error}")
        return buffers

    def _topic_names(self) -> Names:
        node = self._machine.node
        broker = None if node is None else broker_of(node)
        topics = {} if broker is None else broker.follower.image.topics
        return {one.topic_id: one.name for one in topics.values()}

    def _find_fenced(self, asked: Message, names: Names) -> set[int]:
        """Partitions for which a fetch names an epoch that is older than their leader's."""
        node = self._machine.node
        if not isinstance(asked, FetchRequest) or node is None:
            return set()
        held, found = held_by(node), set()
        for at, (name, part) in enumerate(_parts(asked, names)):
            hosted = held.get((name, part.partition))
            role = None if hosted is None else hosted.replica.role
            if role is not None and 0 <= part.current_leader_epoch < role.leader_epoch:
                found.add(at)
        return found

    def _check_fenced(self, answer: Message, fenced: set[int]) -> None:
        if not fenced or not isinstance(answer, FetchResponse):
            return
        parts = [(topic, part) for topic in answer.responses for part in topic.partitions]
        for at in sorted(fenced):
            topic, part = parts[at]
            if part.error_code == common_pb2.NONE:
                what = f"{topic.topic}-{part.partition_index} of an older epoch"
                self._tap.on_fenced(f"{self._machine.name} served a fetch of {what}")


def _parts(asked: FetchRequest, names: Names) -> Iterator[tuple[str, FetchPartition]]:
    for topic in asked.topics:
        for part in topic.partitions:
            yield topic.topic or names.get(topic.topic_id, ""), part


def _plain_request(asked: Message, names: Names) -> Plain:
    match asked:
        case ProduceRequest():
            plain = data_pb2.ProduceRequest(acks=asked.acks)
            for topic in asked.topic_data:
                for data in topic.partition_data:
                    plain.partitions.add(
                        topic=topic.name or names.get(topic.topic_id, ""),
                        partition=data.index,
                        records=bytes(data.records or b""),
                    )
            return plain
        case FetchRequest():
            fetch = data_pb2.FetchRequest()
            for name, part in _parts(asked, names):
                fetch.partitions.add(topic=name, partition=part.partition)
            return fetch
        case ListOffsetsRequest():
            lookup = data_pb2.ListOffsetsRequest()
            for listed in asked.topics:
                for one in listed.partitions:
                    is_latest = one.timestamp == LATEST
                    spec = lookup.LATEST if is_latest else lookup.EARLIEST
                    lookup.partitions.add(
                        topic=listed.name, partition=one.partition_index, spec=spec
                    )
            return lookup
    raise TypeError(f"{type(asked).__name__} is not judged")


def _plain_response(asked: Plain, answer: Message) -> Plain:
    places = [(one.topic, one.partition) for one in asked.partitions]
    match answer:
        case ProduceResponse():
            plain = data_pb2.ProduceResponse()
            results = (one for topic in answer.responses for one in topic.partition_responses)
            for (topic, partition), one in zip(places, results, strict=True):
                result = plain.partitions.add(
                    topic=topic, partition=partition, base_offset=one.base_offset
                )
                result.error.code = one.error_code  # type: ignore[assignment]  # a number
            return plain
        case FetchResponse():
            fetched = data_pb2.FetchResponse()
            parts = (one for topic in answer.responses for one in topic.partitions)
            for (topic, partition), part in zip(places, parts, strict=True):
                read = fetched.partitions.add(
                    topic=topic,
                    partition=partition,
                    high_watermark=part.high_watermark,
                    records=bytes(part.records or b""),
                )
                read.error.code = part.error_code  # type: ignore[assignment]  # a number
            return fetched
        case ListOffsetsResponse():
            listed = data_pb2.ListOffsetsResponse()
            found = (one for topic in answer.topics for one in topic.partitions)
            for (topic, partition), end in zip(places, found, strict=True):
                listed.partitions.add(
                    topic=topic,
                    partition=partition,
                    offset=end.offset if end.error_code == common_pb2.NONE else -1,
                    leader_epoch=end.leader_epoch,
                )
            return listed
    raise TypeError(f"{type(answer).__name__} is not judged")
