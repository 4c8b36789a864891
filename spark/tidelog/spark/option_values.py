"""Parsers of option values: numbers, durations, JSON per partition.

Pure. Every function takes the option's name, for its error, and raises OptionError for a malformed
text. Each parses one option only.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from tidelog.client.records import TopicPartition

LATEST, EARLIEST = -1, -2
"""Numbers that mean the latest and the earliest offset, in place of an offset."""
OFFSET_MAX = (1 << 63) - 1
PARTITION_MAX = (1 << 31) - 1

Offsets = int | Mapping[TopicPartition, int]
"""LATEST or EARLIEST for all partitions, or an offset for each."""

_NAMES = {"earliest": EARLIEST, "latest": LATEST}
_MILLISECONDS = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class OptionError(ValueError):
    """An option is unknown, malformed or contradicts another; the message says what to write."""


def boolean(name: str, text: str) -> bool:
    """Parse true or false in any case, as Kafka's connector does."""
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise OptionError(f"option {name} is true or false, not {text!r}")


def number(name: str, text: str, *, least: int, most: int) -> int:
    """Parse a whole number from `least` to `most`, both included."""
    digits = text.strip()
    # Check the length before the conversion: a longer text is no number of 64 bits.
    if len(digits) <= 20 and re.fullmatch(r"[+-]?[0-9]+", digits):
        value = int(digits)
        if least <= value <= most:
            return value
    raise OptionError(f"option {name} is a whole number from {least} to {most}, not {text!r}")


def duration_ms(name: str, text: str) -> int:
    """Parse a duration in Spark's notation, "500ms", "15m", "1h"; a bare number is milliseconds."""
    found = re.fullmatch(r"([0-9]{1,15})\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _MILLISECONDS:
        units = ", ".join(unit for unit in _MILLISECONDS if unit)
        raise OptionError(
            f"option {name} is a duration like 30s or 15m (units: {units}), not {text!r}"
        )
    return int(found[1]) * _MILLISECONDS[found[2]]


def topic_names(name: str, text: str) -> tuple[str, ...]:
    """Parse names separated by commas: each once, in the order given."""
    topics = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not topics:
        raise OptionError(f'option {name} names no topic: use "topic" or "topic1,topic2"')
    return topics


def topic_pattern(name: str, text: str) -> str:
    """Parse a regular expression (Python's), which must match the whole topic name."""
    pattern = text.strip()
    if not pattern:
        raise OptionError(f'option {name} is empty: use a regular expression like "orders-.*"')
    try:
        re.compile(pattern)
    except re.error as error:
        raise OptionError(f"option {name} is no regular expression: {error}") from None
    return pattern


def partition_lists(name: str, text: str) -> dict[str, tuple[int, ...]]:
    """Parse JSON like {"topic": [0, 1]}: at least one partition per topic, each once."""
    example = 'use {"topic": [0, 1]}'
    assigned: dict[str, tuple[int, ...]] = {}
    for topic, partitions in _json_object(name, text, example).items():
        if not isinstance(partitions, list) or not all(
            _is_number(partition, least=0, most=PARTITION_MAX) for partition in partitions
        ):
            raise OptionError(
                f"option {name} needs a list of partition numbers per topic; {example}"
            )
        if not partitions or len(set(partitions)) < len(partitions):
            raise OptionError(f'option {name} names no or twice the same partition of "{topic}"')
        assigned[topic] = tuple(sorted(partitions))
    if not assigned:
        raise OptionError(f"option {name} names no partition; {example}")
    return assigned


def offsets(name: str, text: str, *, refused: int | None) -> Offsets:
    """Parse a name, or JSON like {"topic": {"0": 23, "1": -1}}; `refused` is not allowed."""
    words = {number: word for word, number in _NAMES.items()}
    if (everywhere := _NAMES.get(text.strip().lower())) is not None:
        if everywhere == refused:
            raise OptionError(f'option {name} cannot be "{words[refused]}": nothing would be read')
        return everywhere
    other = LATEST if refused != LATEST else EARLIEST
    example = f'use {{"topic": {{"0": 23, "1": {other}}}}}, "-1" is the latest, "-2" the earliest'
    asked = dict(_per_partition(name, text, example, least=EARLIEST))
    for partition, offset in asked.items():
        if offset == refused:
            raise OptionError(
                f"option {name} cannot be {offset} ({words[offset]}) for "
                f"{partition.topic}-{partition.partition}: nothing would be read"
            )
    return asked


def timestamps(name: str, text: str) -> dict[TopicPartition, int]:
    """Parse JSON like {"topic": {"0": 1700000000000}}: milliseconds since the Unix epoch."""
    example = 'use {"topic": {"0": 1700000000000}}, in milliseconds since 1970-01-01 UTC'
    return dict(_per_partition(name, text, example, least=0))


def _per_partition(
    name: str, text: str, example: str, *, least: int
) -> Iterator[tuple[TopicPartition, int]]:
    for topic, partitions in _json_object(name, text, example).items():
        if not isinstance(partitions, dict):
            raise OptionError(f"option {name} needs an object per topic; {example}")
        for partition, asked in partitions.items():
            if not _is_partition(partition) or not _is_number(asked, least=least, most=OFFSET_MAX):
                raise OptionError(f'option {name} needs "partition": number; {example}')
            yield TopicPartition(topic, int(partition)), asked


def _json_object(name: str, text: str, example: str) -> dict[str, object]:
    try:
        parsed = json.loads(text, object_pairs_hook=lambda pairs: _distinct(name, pairs))
    except OptionError:
        raise
    except (ValueError, RecursionError):  # RecursionError: brackets nested too deeply
        parsed = None
    if not isinstance(parsed, dict):
        raise OptionError(f"option {name} cannot be read: {text!r}; {example}")
    return parsed


def _distinct(name: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse a name that stands twice: JSON allows it, and one of the values would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise OptionError(f'option {name} names "{twice}" twice')
    return found


def _is_partition(text: str) -> bool:
    return re.fullmatch(r"0|[1-9][0-9]{0,9}", text) is not None and int(text) <= PARTITION_MAX


def _is_number(value: object, *, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
