"""An internal topic that is refused: who hears of it, when for good, and how often it is tried."""

from __future__ import annotations

import pytest

from tidelog.broker.coordinator.internal_topic import REFUSED_FOR_MS, RETRY_MS, InternalTopic
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    InvalidReplicationFactorError,
    TidelogError,
    UnreachableError,
)
from tidelog.core.journal import Event, Kind
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage, TopicImage
from tidelog.v1.admin_pb2 import NewTopic

NAME = "__consumer_offsets"
PARTITION = PartitionImage(0, (1,), (1,), 1, 0, 0)
TOO_FEW = InvalidReplicationFactorError("replication factor 3: there is 1 broker")


class Controllers:
    """Controllers that refuse, and a clock."""

    def __init__(self) -> None:
        self.refusal: TidelogError | None = TOO_FEW
        self.is_known_at_once = True
        self.attempts = 0
        self.now_ms = 1_000
        self.image: MetadataImage = EMPTY_IMAGE
        self.events: list[Event] = []
        self.topic = InternalTopic(
            NewTopic(name=NAME),
            factor_key="offsets.topic.replication.factor",
            image=lambda: self.image,
            forwarder=self,  # type: ignore[arg-type]  # the part of it that is used
            clock=self,  # type: ignore[arg-type]  # as above
            note=self.events.append,
        )

    def monotonic_ms(self) -> int:
        return self.now_ms

    async def create_internal(self, topic: NewTopic) -> None:
        self.attempts += 1
        if self.refusal is not None:
            raise self.refusal
        if self.is_known_at_once:
            self.show(topic.name)

    def show(self, name: str = NAME) -> None:
        self.image = MetadataImage(topics={name: TopicImage(name, b"i" * 16, (PARTITION,), {})})

    async def asked(self, *, every_ms: int, for_ms: int) -> list[type[TidelogError]]:
        """What it says to each that asks."""
        end_ms, found = self.now_ms + for_ms, list[type[TidelogError]]()
        while self.now_ms <= end_ms:
            with pytest.raises(TidelogError, match="could not be created") as told:
                await self.topic.require()
            found.append(type(told.value))
            self.now_ms += every_ms
        return found


@pytest.fixture
def controllers() -> Controllers:
    return Controllers()


async def test_it_may_come_yet_until_it_was_refused_for_long_enough(
    controllers: Controllers,
) -> None:
    told = await controllers.asked(every_ms=1_000, for_ms=REFUSED_FOR_MS)
    assert told[:-1] == [CoordinatorNotAvailableError] * (len(told) - 1)
    assert told[-1] is InvalidReplicationFactorError
    assert "offsets.topic.replication.factor" in controllers.topic.obstacle
    assert {one.kind for one in controllers.events} == {Kind.REFUSAL}
    assert "there is 1 broker" in controllers.events[0].cause


async def test_controllers_that_do_not_answer_may_come_back_at_any_time(
    controllers: Controllers,
) -> None:
    controllers.refusal = UnreachableError("no controller")
    told = await controllers.asked(every_ms=1_000, for_ms=3 * REFUSED_FOR_MS)
    assert set(told) == {CoordinatorNotAvailableError}
    assert "no controller" in controllers.topic.obstacle


async def test_many_that_ask_are_one_attempt_in_a_while(controllers: Controllers) -> None:
    await controllers.asked(every_ms=1, for_ms=4 * RETRY_MS)
    assert controllers.attempts == 5


async def test_once_it_is_there_nothing_is_in_the_way(controllers: Controllers) -> None:
    await controllers.asked(every_ms=1_000, for_ms=2 * REFUSED_FOR_MS)
    controllers.refusal = None
    await controllers.topic.require()
    assert (controllers.topic.partitions, controllers.topic.obstacle) == (1, "")
    await controllers.topic.require()
    assert controllers.attempts == len(controllers.events) + 1


async def test_a_topic_that_another_broker_made_is_no_obstacle(controllers: Controllers) -> None:
    await controllers.asked(every_ms=1_000, for_ms=1_000)
    assert controllers.topic.obstacle
    controllers.show()
    assert not controllers.topic.obstacle
    await controllers.topic.require()


async def test_a_broker_that_has_not_heard_of_it_says_so(controllers: Controllers) -> None:
    controllers.refusal, controllers.is_known_at_once = None, False
    with pytest.raises(CoordinatorNotAvailableError, match="has not heard of it yet"):
        await controllers.topic.require()
    assert not controllers.topic.obstacle
