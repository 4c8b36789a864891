"""Checks of a node's listeners beside answers: the loop's steps, and bytes that nobody takes.

    wide-step       a request of many elements is handled in steps of few
    unread-answers  answers that no peer has taken, of all connections, have their room and no more
    member-bytes    so has what classic members gave to their coordinator

A step costs no virtual time, so elements are counted instead.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, NamedTuple, TypeVar

from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.server import KafkaServer
from tidelog.core.turns import PER_PIECE
from tidelog.kafka.apis import request_class
from tidelog.kafka.errors import KafkaMessageError
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.groups.coordinator_checks import coordinator_of, hosted_by

WIDE_STEP, UNREAD, MEMBER_BYTES = "wide-step", "unread-answers", "member-bytes"
ELEMENTS_PER_STEP_MAX = 2 * PER_PIECE
"""On the average of a request: twice what a turn of the cheapest work has."""
OWN_STEPS = 5
"""Steps of a wide request that has nothing to do: it waits for its turns, room and answer."""
UNREAD_SLACK_BYTES = 256 << 10
"""Answers to fetches, which are counted apart, and small ones that go beyond."""
MEMBERS_SLACK_BYTES = 64 << 10
"""Growth of members that are there, which is free."""

T = TypeVar("T")


class NodeLimits(NamedTuple):
    """Rooms of each node."""

    answer_bytes_max: int
    member_bytes_max: int


class Stepped(Generator[Any, Any, T]):
    """A coroutine whose steps are counted; awaited like it."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.steps = 0
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        """It is its own iterator."""
        return self

    def send(self, value: Any) -> Any:  # whatever was waited for
        """Go on until it waits for something, and return that."""
        self.steps += 1
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:  # see `Generator.throw`
        """Go on with an error."""
        self.steps += 1
        return self._work.throw(*error)


def elements_of(request: Request) -> int:
    """Elements of all lists of a request that may be wide; of others 0."""
    if request.size <= ELEMENTS_PER_STEP_MAX:
        return 0
    header = request.header
    try:
        return request_class(header.api_key).decode_counted(
            bytes(request.body), header.api_version, elements_max=request.size
        )[1]
    except KafkaMessageError:
        return 0


def find_wide_steps(elements: int, steps: int, answer_bytes: int) -> str:
    """Complaint about a request that was answered in too few steps; empty: none.

    Not of one that was refused as a whole: its answer has fewer bytes than it had elements.
    """
    worked = max(1, steps - OWN_STEPS)
    if elements <= worked * ELEMENTS_PER_STEP_MAX or answer_bytes < elements:
        return ""
    return f"{elements} elements were handled in {steps} steps"


def member_bytes(machine: Machine) -> int:
    """Bytes of protocols that classic members gave to a node, which coordinates their groups."""
    coordinator = coordinator_of(machine)
    hosted = {} if coordinator is None else hosted_by(coordinator)
    return sum(
        len(given.metadata)
        for one in hosted.values()
        for group in one.shard.classic.by_id.values()
        for member in group.state.members.values()
        for given in member.protocols
    )


def unread_bytes(server: KafkaServer) -> int:
    """Bytes of answers that no peer has taken."""
    peers = server._peers  # noqa: SLF001  # nothing in the product looks on
    return sum(one.connection.answers.unsent_bytes for one in peers)
