"""Strangers at the listeners of Kafka's protocol: they are there from the first fault to the end.

    wide       asks by a request of any API with thousands of elements, again and again
    slow       announces a large frame and sends it a few bytes at a time
    unread     asks for all metadata on and on, and reads no answer
    parked     joins a group of its own and says nothing more
    half-open  connects, and says nothing at all
    joined     joins one group after another, with large protocols (in crowds alone)

Two of five seeds have some, and some seeds a crowd, with nodes whose rooms it fills. They are never
taken away: honest clients must come to rest beside them. Whatever the nodes answer them, or whether
they are cut off, is not judged here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from tidelog.chaos.workloads.wide import WIDE_MESSAGES
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import TidelogError
from tidelog.kafka.message import Message
from tidelog.kafka.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.net.byte_streams import ByteStream
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.wire.frames import FrameConnection

USED_PROBABILITY = 0.4
STRANGERS_MAX = 12
WIDE_MAX = 3_000
"""Elements of a wide request: more makes a seed slow."""
SLOW_BYTES_MAX, SLOW_S_MAX = 400, 0.5
CROWD_SLOW_BYTES_MAX = 16 << 10
"""Bytes at a time of a slow one of a crowd: a frame is whole before it counts as stopped."""
CROWD_MIN, CROWD_MAX = 20, 60
IDLE_MIN, IDLE_MAX = 60, 240
"""Half-open connections of a crowd: half of those that its nodes take, and more."""
CROWD_KINDS = ("slow", "unread", "joined")
PROTOCOLS, PROTOCOL_BYTES, ID_FREE_JOIN_VERSION = 32, 4 << 10, 3
"""Protocols of a member of a crowd, which needs no id before it joins."""
NAMES, NAME_CHARACTERS = 500, 240
"""Topics that a crowd's unread requests name: 130 KB of answer each."""
REST_S_MAX = 3.0
UNREAD_REQUESTS = 50
METADATA_VERSION, JOIN_VERSION = 9, 6
HOST, JOINERS_HOST = "strangers", "joiners"
"""Members have an address of their own: others of theirs would leave no room for their requests."""
SPACE_BYTES = 4 << 10


class Strangers:
    """Strangers of a seed; `stay` until it is cancelled."""

    def __init__(
        self,
        simulation: ClusterSimulation,
        random: SeededRandom,
        bootstrap: Sequence[str],
        *,
        crowd: SeededRandom | None,
    ) -> None:
        """Draw them; `crowd`: many more come, as many as fill rooms that are small."""
        self._simulation = simulation
        self._random = random
        self._bootstrap = bootstrap
        kinds: dict[str, Callable[[_Caller], None]] = {
            "stranger_wide": self._ask_widely,
            "stranger_slow": self._send_slowly,
            "stranger_unread": self._ask_unread,
            "stranger_parked": self._park,
            "stranger_half_open": lambda _: None,
        }
        drawable = sorted(kinds)
        kinds["stranger_joined"] = self._join
        count = random.randrange(1, STRANGERS_MAX) if random.random() < USED_PROBABILITY else 0
        self._drawn = [one_of(random, drawable) for _ in range(count)]
        self._acts = kinds
        self._is_crowd = crowd is not None
        if crowd is not None:
            count = crowd.randrange(CROWD_MIN, CROWD_MAX)
            self._drawn += [f"stranger_{one_of(crowd, CROWD_KINDS)}" for _ in range(count)]
            self._drawn += ["stranger_half_open"] * crowd.randrange(IDLE_MIN, IDLE_MAX)
        names = (f"{one}".rjust(NAME_CHARACTERS, "n") for one in range(NAMES))
        self._named = [MetadataRequestTopic(name=name) for name in names]

    async def stay(self) -> None:
        """Call for as long as the seed lasts; one that was cut off comes again."""
        if self._drawn:
            for host in (HOST, JOINERS_HOST) if self._is_crowd else (HOST,):
                self._simulation.client_ports(host)
            await asyncio.gather(*map(self._stay, self._drawn))

    async def _stay(self, kind: str) -> None:
        is_joiner = kind == "stranger_joined"
        dialer = self._simulation.dialer(JOINERS_HOST if is_joiner else HOST)
        while True:
            caller = _Caller(is_reading=kind != "stranger_unread")
            try:
                await dialer.connect(one_of(self._random, self._bootstrap), caller.accept)
            except TidelogError:
                await asyncio.sleep(REST_S_MAX)
                continue
            self._simulation.findings.faults[kind] += 1
            while caller.is_open:
                self._acts[kind](caller)
                longest_s = SLOW_S_MAX if kind == "stranger_slow" else REST_S_MAX
                await asyncio.sleep(self._random.uniform(0.05, longest_s))

    def _ask_widely(self, caller: _Caller) -> None:
        version, make = WIDE_MESSAGES[one_of(self._random, sorted(WIDE_MESSAGES))]
        topic = one_of(self._random, self._simulation.topics).name
        caller.send(make(topic, self._random.randrange(1, WIDE_MAX)), version)

    def _send_slowly(self, caller: _Caller) -> None:
        if not caller.has_begun:
            caller.push(self._simulation.config.kafka.request_bytes_max.to_bytes(4, "big"))
        most = CROWD_SLOW_BYTES_MAX if self._is_crowd else SLOW_BYTES_MAX
        caller.push(bytes(self._random.randrange(1, most)))

    def _ask_unread(self, caller: _Caller) -> None:
        if self._is_crowd:
            request = MetadataRequest(topics=self._named, allow_auto_topic_creation=False)
            caller.send(request, METADATA_VERSION)
            return
        for _ in range(UNREAD_REQUESTS):
            caller.send(MetadataRequest(topics=None), METADATA_VERSION)

    def _park(self, caller: _Caller) -> None:
        if caller.has_begun:
            return
        request = JoinGroupRequest(
            group_id=f"parked-{self._random.randrange(0, 1000)}",
            session_timeout_ms=60_000,
            rebalance_timeout_ms=300_000,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(2_000))],
        )
        caller.send(request, JOIN_VERSION)

    def _join(self, caller: _Caller) -> None:
        request = JoinGroupRequest(
            group_id=f"joined-{self._random.randrange(0, 1000)}",
            session_timeout_ms=60_000,
            rebalance_timeout_ms=300_000,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(name=f"p{one}", metadata=bytes(PROTOCOL_BYTES))
                for one in range(PROTOCOLS)
            ],
        )
        caller.send(request, ID_FREE_JOIN_VERSION)


class _Caller:
    """A connection; the stream's `Receiver`. What it reads it forgets."""

    def __init__(self, *, is_reading: bool) -> None:
        self.is_open = True
        self.has_begun = False
        self._is_reading = is_reading
        self._frames = FrameConnection(HOST)
        self._space = memoryview(bytearray(SPACE_BYTES))
        self._stream: ByteStream | None = None
        self._outgoing: deque[bytes] = deque()

    def accept(self, stream: ByteStream) -> _Caller:
        """See `Accept`."""
        self._stream = stream
        stream.set_reading(is_reading=self._is_reading)
        return self

    def send(self, request: Message, version: int) -> None:
        """Send a request."""
        self.push(self._frames.write(request, version, has_answer=False))

    def push(self, content: bytes) -> None:
        """Send bytes, unless those before are still here."""
        self.has_begun = True
        if self._stream is not None and len(self._outgoing) < UNREAD_REQUESTS:
            self._outgoing.append(content)
            self._stream.flush()

    def space(self) -> memoryview:
        """See `Receiver.space`."""
        return self._space

    def received(self, count: int) -> None:
        """See `Receiver.received`."""

    def outgoing(self) -> Sequence[bytes]:
        """See `Receiver.outgoing`."""
        return list(self._outgoing)

    def sent(self, count: int) -> None:
        """See `Receiver.sent`."""
        while count:
            first = self._outgoing.popleft()
            if len(first) > count:
                self._outgoing.appendleft(first[count:])
                return
            count -= len(first)

    def ended(self) -> None:
        """See `Receiver.ended`."""
        self.is_open = False
