"""A metric with labels: its name, what it means, and a value for each of their values. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Sample(NamedTuple):
    """A value, and the values of the family's labels."""

    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Values of one metric; `samples` may be made while they are read, a slice at a time."""

    name: str
    """Without the prefix `tidelog_`."""
    meaning: str
    labels: tuple[str, ...]
    samples: Iterable[Sample]
