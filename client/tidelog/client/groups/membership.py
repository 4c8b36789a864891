"""A member of a consumer group as it sees itself: epoch, assignment, lease. Pure.

An assignment has a version. The member carries out the newest one, then says which partitions it
owns by the version it has carried out. It owns nothing when it was fenced, or when the newest
request that was answered was sent a session ago. Source: KIP-848, decision 0049.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidelog.client.groups.listener import GroupMetadata
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

PartitionId: TypeAlias = tuple[bytes, int]
"""Topic id, 16 bytes, and number."""
Partitions: TypeAlias = frozenset[PartitionId]
NOTHING: Partitions = frozenset()
JOINING, LEAVING, AWAY = 0, -1, -2
"""Epochs of requests."""
UNANSWERED_MAX = 100
"""Requests whose time is remembered until they are answered."""
_HEARTBEAT_MS, _SESSION_MS, _GRACE_MS = 5_000, 45_000, 1_000
"""Kafka's defaults, until the coordinator has said its own."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Fields of a member's heartbeats."""

    topics: frozenset[str] = frozenset()
    pattern: str = ""
    assignor: str = ""
    rack_id: str = ""
    client_id: str = ""
    rebalance_timeout_ms: int = 300_000


@dataclass(frozen=True, slots=True)
class Offer:
    """The newest assignment that the coordinator has sent."""

    version: int
    partitions: Partitions


class Membership:
    """State of a member, from its first request on."""

    def __init__(self, group_id: str, member_id: str, instance_id: str | None) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.instance_id = instance_id
        self.epoch = JOINING
        self.owned: Partitions = NOTHING
        self.version = 0
        """Version of the assignment that was carried out last."""
        self.offer = Offer(0, NOTHING)
        self.incarnation = 0
        """Number of times that everything was lost."""
        self.heartbeat_interval_ms = _HEARTBEAT_MS
        self.session_timeout_ms = _SESSION_MS
        self.disconnect_grace_ms = _GRACE_MS
        self._handed_incarnation = 0
        """`incarnation` when the application was handed records last."""
        self._sequence = 0
        self._join = 0
        """Number of the newest request that joins."""
        self._sent_ms: dict[int, int] = {}
        self._answered_ms: int | None = None
        self._broken_ms: int | None = None

    @property
    def is_member(self) -> bool:
        """True from the first answer on until the member leaves or is fenced."""
        return self.epoch > JOINING

    # Requests

    def request(self, said: Subscription, now_ms: int) -> ConsumerGroupHeartbeatRequest:
        """Make the next heartbeat, with every field, so that no earlier one is needed."""
        request = self._request(self.epoch, now_ms)
        if self.epoch == JOINING:
            self._join = request.sequence
        request.rebalance_timeout_ms = said.rebalance_timeout_ms
        request.assignor = said.assignor
        request.rack_id = said.rack_id
        request.client_id = said.client_id
        request.subscription.topics.extend(sorted(said.topics))
        request.subscription.pattern = said.pattern
        request.subscription.SetInParent()
        request.owned.SetInParent()
        for topic_id in sorted({topic_id for topic_id, _ in self.owned}):
            numbers = sorted(number for of_topic, number in self.owned if of_topic == topic_id)
            request.owned.topics.add(topic_id=topic_id, partitions=numbers)
        return request

    def leave_request(self, now_ms: int) -> ConsumerGroupHeartbeatRequest:
        """Make the request that ends the membership; a static member's lets it come back."""
        return self._request(LEAVING if self.instance_id is None else AWAY, now_ms)

    def next_number(self) -> int:
        """Number the member's next request, heartbeat or commit."""
        self._sequence += 1
        return self._sequence

    def _request(self, epoch: int, now_ms: int) -> ConsumerGroupHeartbeatRequest:
        sequence = self.next_number()
        self._sent_ms[sequence] = now_ms
        while len(self._sent_ms) > UNANSWERED_MAX:
            del self._sent_ms[next(iter(self._sent_ms))]
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.instance_id,
            sequence=sequence,
            assignment_version=self.version,
        )

    # Answers and pushes

    def is_awaited(self, sequence: int) -> bool:
        """True for the answer to a request of this membership that was not answered yet."""
        return sequence in self._sent_ms

    @property
    def awaits_answer(self) -> bool:
        """True while a request was not answered."""
        return bool(self._sent_ms)

    @property
    def awaits_join(self) -> bool:
        """True while a join was not answered.

        A second one says that the member owns nothing, which the first one's answer makes untrue.
        """
        return self._join in self._sent_ms

    def unanswered_ms(self, now_ms: int) -> int:
        """Return how long the oldest request waits for its answer; 0: none does."""
        return now_ms - min(self._sent_ms.values(), default=now_ms)

    def take(self, response: ConsumerGroupHeartbeatResponse) -> bool:
        """Take over an answer or a push without an error; True if there is another assignment."""
        self._note_answered(response)
        if response.assignment_version < self.offer.version or response.member_epoch < self.epoch:
            return False  # a newer one came before
        before = self.offer
        if response.HasField("assignment"):
            partitions = frozenset(
                (topic.topic_id, number)
                for topic in response.assignment.topics
                for number in topic.partitions
            )
            self.offer = Offer(response.assignment_version, partitions)
        if response.assignment_version == self.offer.version:
            self.epoch = response.member_epoch
        return self.offer != before

    def _note_answered(self, response: ConsumerGroupHeartbeatResponse) -> None:
        sent_ms = self._sent_ms.pop(response.sequence, None)
        if sent_ms is None:
            return  # a push proves nothing about the way to the coordinator
        for sequence in [one for one in self._sent_ms if one < response.sequence]:
            del self._sent_ms[sequence]  # an answer to a later request is one to these
        self._answered_ms = max(sent_ms, self._answered_ms or sent_ms)
        self._broken_ms = None
        self.heartbeat_interval_ms = response.heartbeat_interval_ms
        self.session_timeout_ms = response.session_timeout_ms
        self.disconnect_grace_ms = response.disconnect_grace_ms

    @property
    def is_reconciled(self) -> bool:
        """True if the newest assignment is carried out."""
        return self.offer.version == self.version and self.offer.partitions == self.owned

    def note_owned(self, owned: Partitions, offer: Offer) -> None:
        """Note what is owned now; `offer` is carried out once that is all of it."""
        self.owned = owned
        if owned == offer.partitions:
            self.version = offer.version

    # The application

    def note_handed(self) -> None:
        """Note that the application has got what it asked for."""
        self._handed_incarnation = self.incarnation

    def metadata(self, *, is_subscribed: bool) -> GroupMetadata:
        """Return the membership in which the application's records were handed out, if it lasts.

        One that lost its partitions since, and joined again, reads them from the committed offsets:
        at its new epoch the coordinator would take what is committed for the old records.
        """
        if not is_subscribed:
            return GroupMetadata(self.group_id, "", -1, None)
        epoch = self.epoch if self.incarnation == self._handed_incarnation else JOINING
        return GroupMetadata(self.group_id, self.member_id, epoch, self.instance_id)

    # The end

    def lose(self) -> None:
        """Own nothing from now on; the next request joins."""
        self.epoch = JOINING
        self.owned = NOTHING
        self.version = 0
        self.offer = Offer(0, NOTHING)
        self.incarnation += 1
        self._sent_ms.clear()
        self._answered_ms = self._broken_ms = None

    def note_broken(self, now_ms: int) -> None:
        """Note that the connection to the coordinator broke."""
        self._sent_ms.clear()
        if self.is_member and self._broken_ms is None:
            self._broken_ms = now_ms

    def has_expired(self, now_ms: int) -> bool:
        """True when the coordinator may have removed the member for its silence."""
        return (
            self._answered_ms is not None and now_ms - self._answered_ms >= self.session_timeout_ms
        )

    def is_suspended(self, now_ms: int) -> bool:
        """True when it may have removed the member because its connection broke."""
        return (
            self.instance_id is None
            and self._broken_ms is not None
            and now_ms - self._broken_ms >= self.disconnect_grace_ms
        )

    def next_look_ms(self, now_ms: int) -> int:
        """Return the time in which one of the two may become true."""
        looks = [self.session_timeout_ms]
        if self._answered_ms is not None:
            looks.append(self._answered_ms + self.session_timeout_ms - now_ms)
        if self._broken_ms is not None and not self.is_suspended(now_ms):
            looks.append(self._broken_ms + self.disconnect_grace_ms - now_ms)
        return max(1, min(looks))
