"""The widest requests of every API and every RPC, made of their schemas, and what a step takes.

`python -m tests.sim.wide_requests` prints the longest step of a node's loop under each of them, in
milliseconds of processor time, at the limits of elements that listeners have.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message as ProtoMessage
from google.protobuf.message_factory import GetMessageClass
from tests.proto.kafka_requests import write_request
from tests.sim.kafka_wire import WireClient, led_topic, listeners

from tidelog.core.errors import TidelogError
from tidelog.kafka.apis import APIS, request_class
from tidelog.kafka.errors import KafkaMessageError
from tidelog.kafka.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.kafka.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.net.request_elements import ELEMENTS_MAX
from tidelog.node.config import NodeConfig
from tidelog.node.kafka_apis.served import ServedApi
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig
from tidelog.v1 import methods
from tidelog.v1.methods import Method

TOPIC, GROUP = "t", "g"
"""Names that are known at the node."""
PARTITIONS = 3
_SERVICES = (
    "Broker",
    "Admin",
    "Node",
    "Controller",
    "Coordinator",
    "TransactionCoordinator",
)
SERVED_RPCS = [
    method for service in _SERVICES for method in methods.rpcs_of(f"tidelog.v1.{service}")
]
"""Every RPC that callers reach, but for the voters' own exchange."""
_ONE_OF_EACH = {"num_partitions", "replication_factor", "count", "acks"}
"""Numbers that are not of an element: each is 1."""
_KNOWN = {"group_id": GROUP, "session_timeout_ms": 10_000, "timeout_ms": 1_000, "max_bytes": 1}


class Wide(NamedTuple):
    """A request with many elements in one of its lists."""

    path: str
    """Names of the fields that lead to the list."""
    request: Any  # a message of one of the two protocols


# Kafka's messages


def wide_messages(kind: type[Any], elements: int) -> Iterator[Wide]:
    """Requests of a class, one for each of its lists, with so many elements in it."""
    for path in _lists(kind):
        yield Wide(".".join(path), _with_list(kind, path, elements))


def _lists(kind: type[Any]) -> Iterator[tuple[str, ...]]:
    hints = get_type_hints(kind)
    for name in kind.__struct_fields__:
        item = _item_of(hints[name])
        if item is None:
            continue
        yield (name,)
        if issubclass(item, msgspec.Struct):
            for inner in _lists(item):
                yield name, *inner


def _item_of(hint: Any) -> type[Any] | None:  # a type as it stands in an annotation
    """The type of a list's items; None: it is no list."""
    for part in (hint, *get_args(hint)):
        if get_origin(part) is list:
            return next(iter(get_args(part)))  # type: ignore[no-any-return]  # untyped hints
    return None


def _with_list(kind: type[Any], path: tuple[str, ...], elements: int, number: int = 0) -> Any:
    hints, made = get_type_hints(kind), _filled(kind, number)
    item = _item_of(hints[path[0]])
    assert item is not None
    if len(path) > 1:
        values = [_with_list(item, path[1:], elements)]
    elif issubclass(item, msgspec.Struct):
        values = [_filled(item, one, is_element=True) for one in range(elements)]
    else:
        values = [_plain(item, one) for one in range(elements)]
    setattr(made, path[0], values)
    return made


def _filled(kind: type[Any], number: int, *, is_element: bool = False) -> Any:
    made = kind()
    for name, hint in get_type_hints(kind).items():
        if name not in kind.__struct_fields__:
            continue
        types = {hint, *get_args(hint)}
        if name in _KNOWN:
            setattr(made, name, _KNOWN[name])
        elif name in _ONE_OF_EACH:
            setattr(made, name, 1)
        elif str in types and (is_element or name in ("topic", "name")):
            setattr(made, name, f"n{number}" if is_element else TOPIC)
        elif is_element and int in types and name.startswith("partition"):
            setattr(made, name, number)
    return made


def _plain(kind: type[Any], number: int) -> Any:
    return {str: f"n{number}", bytes: number.to_bytes(16, "big"), int: number}[kind]


# Messages of gRPC


def wide_protos(kind: Descriptor, elements: int) -> Iterator[Wide]:
    """The same for a message of gRPC."""
    for path in _repeated(kind):
        request = GetMessageClass(kind)()
        _repeat(request, path, elements)
        yield Wide(".".join(one.name for one in path), request)


def _repeated(
    kind: Descriptor, above: tuple[Descriptor, ...] = ()
) -> Iterator[tuple[FieldDescriptor, ...]]:
    for one in kind.fields:
        if one.is_repeated:
            yield (one,)
        inside = one.message_type
        if inside is not None and inside not in (kind, *above) and not _is_map(one):
            for inner in _repeated(inside, (kind, *above)):
                yield one, *inner


def _is_map(one: FieldDescriptor) -> bool:
    return one.message_type is not None and bool(one.message_type.GetOptions().map_entry)


def _repeat(message: Any, path: tuple[FieldDescriptor, ...], elements: int) -> None:
    _fill(message, 0)
    first, rest = path[0], path[1:]
    if rest:
        inner = getattr(message, first.name)
        _repeat(inner.add() if first.is_repeated else inner, rest, elements)
    elif first.message_type is None:
        getattr(message, first.name).extend(_scalar(first, one) for one in range(elements))
    elif _is_map(first):
        for one in range(elements):
            getattr(message, first.name)[f"n{one}"] = "x"
    else:
        items = getattr(message, first.name)
        for one in range(elements):
            _fill(items.add(), one, is_element=True)


def _fill(message: ProtoMessage, number: int, *, is_element: bool = False) -> None:
    for one in message.DESCRIPTOR.fields:
        if one.is_repeated or one.message_type is not None:
            continue
        if one.name in _KNOWN:
            setattr(message, one.name, _KNOWN[one.name])
        elif one.name in _ONE_OF_EACH:
            setattr(message, one.name, 1)
        elif one.type == one.TYPE_STRING and (is_element or one.name in ("topic", "name")):
            setattr(message, one.name, f"n{number}" if is_element else TOPIC)
        elif is_element and one.name == "partition":
            setattr(message, one.name, number)


def _scalar(one: FieldDescriptor, number: int) -> Any:
    if one.type == one.TYPE_STRING:
        return f"n{number}"
    return number.to_bytes(16, "big") if one.type == one.TYPE_BYTES else number % 100


# Steps of a loop


class Steps:
    """The longest step of a node's loop since `begin`, in calls or in milliseconds.

    Calls are those of Python's functions and of built-in ones: as many on a busy machine. Those of
    the codec of Kafka's messages are left out: it is bounded by the elements of a message.
    """

    def __init__(self, *, in_ms: bool = False) -> None:
        self.longest = 0.0
        self._in_ms = in_ms
        self._calls = 0
        self._is_codec: dict[CodeType, bool] = {}
        self._run = asyncio.Handle._run

    def __enter__(self) -> Steps:
        steps = self

        def run(handle: asyncio.Handle) -> None:
            if not handle._loop.name.startswith("node-"):  # type: ignore[attr-defined]
                steps._run(handle)
                return
            before = steps._now()
            if not steps._in_ms:
                sys.setprofile(steps._note)
            try:
                steps._run(handle)
            finally:
                if not steps._in_ms:
                    sys.setprofile(None)
                steps.longest = max(steps.longest, steps._now() - before)

        asyncio.Handle._run = run  # type: ignore[assignment,method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.Handle._run = self._run  # type: ignore[method-assign]

    def begin(self) -> None:
        """Forget the steps so far."""
        self.longest = 0.0

    def _now(self) -> float:
        return 1000 * time.process_time() if self._in_ms else self._calls

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            code = frame.f_code
            is_codec = self._is_codec.get(code)
            if is_codec is None:
                is_codec = self._is_codec[code] = "/kafka/messages/" in code.co_filename
            self._calls += not is_codec


# The run


class WideWorld:
    """A node with a topic and a group, and the steps of its loop."""

    def __init__(self, cluster: SimCluster, steps: Steps) -> None:
        self.cluster = cluster
        self.steps = steps
        self.longest: dict[str, float] = {}
        """The longest step under each request."""
        self.unanswered: list[str] = []
        self.garbage: dict[str, int] = {}
        """Objects that only a collection found, after each request."""

    @property
    def rows(self) -> list[ServedApi]:
        """Every API that the node serves."""
        node: Any = self.cluster.machines[1].node
        return list(node.kafka._apis.handler._served.values())

    async def ask_by_kafka(self, row: ServedApi, elements: int) -> None:
        """Send the wide requests of an API, each in the last version that has its list.

        A narrow one goes first: it has the node load the modules of the API.
        """
        for frame, _ in self._frames(row, 1):
            await self._is_answered(frame)
        for frame, name in self._frames(row, elements):
            self._begin()
            if not await self._is_answered(frame):
                self.unanswered.append(name)
            self._end(name)

    def _frames(self, row: ServedApi, elements: int) -> Iterator[tuple[bytes, str]]:
        for wide in wide_messages(request_class(row.key), elements):
            for version in (row.last, row.first):
                frame = b""
                with suppress(KafkaMessageError):
                    frame = b"".join(write_request(wide.request, version=version, correlation_id=1))
                if len(frame) >= elements:
                    yield frame, f"{APIS[row.key].name} {version} {wide.path}"
                    break

    async def _is_answered(self, frame: bytes) -> bool:
        client = await WireClient.connect(self.cluster, "node-1:9092")
        answer = client.wait_for(1)
        client.send(frame)
        await asyncio.wait({answer, client.end}, timeout=60, return_when="FIRST_COMPLETED")
        if not client.end.done():
            client.leave()
        return answer.done() and answer.exception() is None

    async def ask_by_grpc(self, method: Method[Any, Any], elements: int) -> None:
        """Send the wide requests of an RPC."""
        for wide in wide_protos(method.request_type.DESCRIPTOR, elements):
            name = f"{method.service.rpartition('.')[2]}.{method.name} {wide.path}"
            self._begin()
            try:
                await self._call(method, wide.request)
            except (TidelogError, TimeoutError):
                self.unanswered.append(name)
            self._end(name)

    def _begin(self) -> None:
        gc.collect()
        gc.freeze()  # what is there is not looked at again
        self.steps.begin()

    def _end(self, name: str) -> None:
        self.longest[name] = self.steps.longest
        self.garbage[name] = gc.collect()
        gc.unfreeze()

    async def _call(self, method: Method[Any, Any], request: Any) -> None:
        transport, address = self.cluster.client.transport, self.cluster.address(1)
        if not method.is_request_stream:
            await transport.call(address, method, request, timeout_ms=60_000)
            return
        stream = await transport.open_stream(address, method)
        try:
            await stream.send(request)
            async with asyncio.timeout(60):
                await stream.receive()
        finally:
            stream.close()


def play(story: Callable[[WideWorld], Coroutine[Any, Any, None]], steps: Steps) -> WideWorld:
    """Tell a story of a node that has a topic of `PARTITIONS` partitions, and a coordinator."""
    config = SimClusterConfig(node_ids=(1,), listeners=listeners, configure=_alone)
    cluster = SimCluster(seed=1, config=config)
    world = WideWorld(cluster, steps)

    async def main() -> None:
        async with asyncio.timeout(3_600):
            client, _, _ = await led_topic(cluster, TOPIC)
            find = FindCoordinatorRequest(key=GROUP)
            is_found = False
            while not is_found:
                await asyncio.sleep(1)
                answer = await client.call(find, 3, FindCoordinatorResponse)
                is_found = not answer.error_code
            await asyncio.sleep(5)
            await story(world)

    try:
        with steps:
            cluster.run(main())
    finally:
        cluster.close()
    return world


def _alone(config: NodeConfig) -> NodeConfig:
    return replace(
        config,
        controller=replace(
            config.controller, num_partitions=PARTITIONS, default_replication_factor=1
        ),
        groups=replace(
            config.groups, offsets_topic_replication_factor=1, offsets_topic_num_partitions=1
        ),
        transactions=replace(
            config.transactions,
            transaction_state_log_replication_factor=1,
            transaction_state_log_num_partitions=1,
        ),
    )


def main() -> None:
    """Print the longest step under each request whose name has the argument in it."""
    part = "".join(sys.argv[1:])

    async def story(world: WideWorld) -> None:
        for row in world.rows:
            if part in f"Kafka {APIS[row.key].name}":
                await world.ask_by_kafka(row, row.elements_max - 8)
        for method in SERVED_RPCS:
            if part in f"gRPC {method.path}":
                await world.ask_by_grpc(method, ELEMENTS_MAX - 8)

    world = play(story, Steps(in_ms=True))
    out = sys.stdout
    for name, longest in sorted(world.longest.items(), key=lambda one: one[1]):
        out.write(f"{longest:6.1f} ms  {name}\n")


if __name__ == "__main__":
    main()
