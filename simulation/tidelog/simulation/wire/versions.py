"""Versions of APIs that a simulated client of Kafka's protocol speaks, drawn for each. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.core.chance import SeededRandom, one_of

API_VERSIONS = 4
NAMED_PROBABILITY = 0.4
"""Share of clients that know topics by name alone, as those from before KIP-516."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Version of each API."""

    produce: int
    fetch: int
    list_offsets: int
    metadata: int
    init_producer_id: int
    leader_epochs: int
    of_groups: Mapping[int, int] = field(default_factory=dict)
    """Those of the APIs of groups, of a client that is a member."""

    @property
    def by_key(self) -> dict[int, int]:
        """By the keys of the APIs."""
        return {
            0: self.produce,
            1: self.fetch,
            2: self.list_offsets,
            3: self.metadata,
            22: self.init_producer_id,
            23: self.leader_epochs,
            **self.of_groups,
        }

    @property
    def has_ids(self) -> bool:
        """True if a topic made again under its name is another one to this client."""
        return self.produce >= 13


def draw_versions(random: SeededRandom, *, needs_ids: bool) -> Versions:
    """Draw those of a client; `needs_ids`: it tells incarnations of a topic apart."""
    is_named = random.random() < NAMED_PROBABILITY and not needs_ids
    return Versions(
        produce=random.randrange(3, 13) if is_named else 13,
        fetch=random.randrange(4, 13) if is_named else random.randrange(13, 19),
        list_offsets=random.randrange(4, 12),
        metadata=random.randrange(7, 14) if is_named else one_of(random, (10, 12, 13)),
        init_producer_id=random.randrange(0, 6),
        leader_epochs=random.randrange(3, 5),
    )
