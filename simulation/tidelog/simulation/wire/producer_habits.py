"""Habits of foreign producers that a broker must take as Kafka does, drawn for each. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.records.batch import HEADER_BYTES, parse_header, seal
from tidelog.simulation.wire.refused_batches import RefusedBatches

LYING_PROBABILITY = 0.3
"""Probability of a producer whose headers say something else about their records than these."""
NUMBERING_PROBABILITY = 0.5
"""Probability of a producer without an id that numbers its batches all the same."""


@dataclass(frozen=True, slots=True)
class ProducerHabits:
    """Habits of one producer that others do not have."""

    is_lying: bool = False
    """Its headers name one record's time as the newest, as kafkajs's."""
    lies_by_last: bool = False
    """Such a header names the time of the last record; otherwise of the first."""
    is_numbering: bool = False
    """Without a producer id it sends sequences, as aiokafka, sarama and kafkajs do by default."""
    refused: RefusedBatches | None = None
    """Batches of its own that a broker must refuse; None: it sends none."""

    def sealed(self, data: bytes, timestamps: list[int]) -> bytes:
        """The batch of records with these timestamps as this producer sends it."""
        if not self.is_lying:
            return data
        stated_ms = timestamps[-1 if self.lies_by_last else 0]
        header = parse_header(data)._replace(max_timestamp=stated_ms)
        return seal(header, data[HEADER_BYTES:])


def draw_habits(
    random: SeededRandom, topic: TopicPlan, wall_ms: Callable[[], int], *, is_storm: bool
) -> ProducerHabits:
    """Draw those of a producer of this topic, with this clock; foreign ones in storms alone."""
    if not is_storm:
        return ProducerHabits()
    return ProducerHabits(
        lies_by_last=random.fork("lies").random() < 0.5,
        is_numbering=random.fork("numbering").random() < NUMBERING_PROBABILITY,
        refused=RefusedBatches(topic, random.fork("refused"), wall_ms),
        is_lying=random.random() < LYING_PROBABILITY,
    )
