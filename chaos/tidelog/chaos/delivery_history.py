"""What clients did and saw in a scenario, for the checks. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stored:
    """A value at an offset of a partition, as an acknowledgement or a consumer showed it."""

    partition: int
    offset: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """A write whose producer was told that it failed, or (`is_unknown`) that it may have."""

    partition: int
    value: bytes
    is_unknown: bool
    reason: str


@dataclass(slots=True)
class Reading:
    """All that one consumer saw, in its order, from offset 0 on."""

    consumer: str
    records: list[Stored] = field(default_factory=list)
    is_final: bool = False
    """Read after all faults, to the end of every partition."""


@dataclass(slots=True)
class History:
    """One topic's story. Values are unique per partition, written by one producer in sent order."""

    acknowledged: list[Stored] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    is_idempotent: bool = True
    """Its producers are: no value may be in its partition twice."""

    def reading(self, consumer: str, *, is_final: bool = False) -> Reading:
        """A new consumer's page."""
        reading = Reading(consumer, is_final=is_final)
        self.readings.append(reading)
        return reading

    def final_values(self) -> dict[tuple[int, int], bytes]:
        """(partition, offset) -> value, of all final readings."""
        return {
            (record.partition, record.offset): record.value
            for reading in self.readings
            if reading.is_final
            for record in reading.records
        }
