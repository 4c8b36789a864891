"""Decides what a batch read covers: from options and the state of topics to offset ranges.

Pure. Option names and their meaning are those of Kafka's Spark connector; Spark hands them over in
lower case. Never asks the cluster: `source.py` does, and passes the answers in.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NoReturn

from tidelog.client.range_reader import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.records import TopicPartition

LATEST, EARLIEST = -1, -2
"""The two names an offset in startingOffsets and endingOffsets may stand for."""

OPTIONS = (
    "bootstrap.servers",
    "kafka.bootstrap.servers",
    "assign",
    "subscribe",
    "subscribePattern",
    "startingOffsets",
    "endingOffsets",
    "failOnDataLoss",
    "includeHeaders",
)


class PlanError(ValueError):
    """An option, or the topics as they are, do not allow the read; the message says why."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Validated options of a batch read."""

    bootstrap: str
    assign: Mapping[str, tuple[int, ...]] | None
    subscribe: tuple[str, ...] | None
    subscribe_pattern: str | None
    starting_offsets: int | Mapping[TopicPartition, int]
    ending_offsets: int | Mapping[TopicPartition, int]
    fail_on_data_loss: bool
    include_headers: bool


def parse_options(options: Mapping[str, str]) -> ReadOptions:
    """Check every option; raises PlanError that names the option and what it allows."""
    given = {name.lower(): value for name, value in options.items()}
    _refuse_unknown(given)
    bootstrap = given.get("bootstrap.servers") or given.get("kafka.bootstrap.servers")
    if not bootstrap:
        raise PlanError('option "bootstrap.servers" is missing: name at least one host:port')
    choices = [n for n in ("assign", "subscribe", "subscribePattern") if n.lower() in given]
    if len(choices) != 1:
        raise PlanError(
            "exactly one of the options assign, subscribe and subscribePattern says what to read, "
            f"given: {', '.join(choices) or 'none'}"
        )
    return ReadOptions(
        bootstrap=bootstrap,
        assign=_assign(given["assign"]) if "assign" in given else None,
        subscribe=_subscribe(given["subscribe"]) if "subscribe" in given else None,
        subscribe_pattern=_pattern(given.get("subscribepattern")),
        starting_offsets=_offsets("startingOffsets", given.get("startingoffsets", "earliest")),
        ending_offsets=_offsets("endingOffsets", given.get("endingoffsets", "latest")),
        fail_on_data_loss=_boolean("failOnDataLoss", given.get("failondataloss", "true")),
        include_headers=_boolean("includeHeaders", given.get("includeheaders", "false")),
    )


def select_partitions(
    options: ReadOptions, topics: Mapping[str, TopicPartitions]
) -> list[TopicPartition]:
    """What to read out of the cluster's `topics` (name to partitions), sorted.

    Raises PlanError for a topic or a partition that does not exist. A pattern may match nothing.
    """
    wanted: Mapping[str, Collection[int]]
    if options.assign is not None:
        wanted = options.assign
    elif options.subscribe is not None:
        wanted = {t: topics[t].partitions if t in topics else () for t in options.subscribe}
    else:
        pattern = re.compile(options.subscribe_pattern or "")
        wanted = {t: found.partitions for t, found in topics.items() if pattern.fullmatch(t)}
    for topic, numbers in wanted.items():
        if topic not in topics:
            raise PlanError(f'topic "{topic}" does not exist in the cluster at {options.bootstrap}')
        if absent := [n for n in numbers if n not in topics[topic].partitions]:
            raise PlanError(f'topic "{topic}" has no partition {absent[0]}')
    return sorted(TopicPartition(t, n) for t, numbers in wanted.items() for n in numbers)


def plan_ranges(
    options: ReadOptions,
    topics: Mapping[str, TopicPartitions],
    bounds: Mapping[TopicPartition, OffsetBounds],
) -> list[OffsetRange]:
    """One range per partition, in the order of `bounds`.

    Raises PlanError when an offset was asked that the partition does not hold: with failOnDataLoss
    off the range is cut to what is there instead.
    """
    starts = _resolve("startingOffsets", options.starting_offsets, bounds)
    ends = _resolve("endingOffsets", options.ending_offsets, bounds)
    ranges = []
    for tp, held in bounds.items():
        start, end = starts[tp], ends[tp]
        if options.fail_on_data_loss:
            _require_held(tp, start, end, held)
        start, end = (min(max(o, held.earliest), held.latest) for o in (start, end))
        if start > end:
            raise PlanError(
                f"startingOffsets of {tp.topic}-{tp.partition} is {start}, after its end {end}"
            )
        ranges.append(OffsetRange(tp.topic, topics[tp.topic].topic_id, tp.partition, start, end))
    return ranges


def _require_held(tp: TopicPartition, start: int, end: int, held: OffsetBounds) -> None:
    if min(start, end) < held.earliest or max(start, end) > held.latest:
        raise PlanError(
            f"offsets {start} to {end} were asked of {tp.topic}-{tp.partition}, which holds "
            f"{held.earliest} to {held.latest}; ask for those, or set failOnDataLoss to false"
        )


def _resolve(
    option: str,
    offsets: int | Mapping[TopicPartition, int],
    bounds: Mapping[TopicPartition, OffsetBounds],
) -> dict[TopicPartition, int]:
    if not isinstance(offsets, int):
        if missing := sorted(bounds.keys() - offsets.keys()):
            _partition_error(option, "must name every partition that is read, not given:", missing)
        if extra := sorted(offsets.keys() - bounds.keys()):
            _partition_error(option, "names partitions that are not read:", extra)
    resolved = {}
    for topic_partition, held in bounds.items():
        asked = offsets if isinstance(offsets, int) else offsets[topic_partition]
        resolved[topic_partition] = {LATEST: held.latest, EARLIEST: held.earliest}.get(asked, asked)
    return resolved


def _partition_error(option: str, what: str, partitions: list[TopicPartition]) -> NoReturn:
    names = ", ".join(f"{topic}-{partition}" for topic, partition in partitions)
    raise PlanError(f"option {option} {what} {names}")


def _refuse_unknown(given: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in OPTIONS}
    for name in given:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0)[0]
            raise PlanError(
                f'unknown option "{name}"; the nearest known one is "{known[nearest]}", '
                f"all are: {', '.join(OPTIONS)}"
            )


def _subscribe(value: str) -> tuple[str, ...]:
    topics = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not topics:
        raise PlanError('option subscribe names no topic: use "topic" or "topic1,topic2"')
    return topics


def _pattern(value: str | None) -> str | None:
    if value is not None:
        try:
            re.compile(value)
        except re.error as error:
            raise PlanError(f"option subscribePattern is no regular expression: {error}") from None
    return value


def _assign(value: str) -> dict[str, tuple[int, ...]]:
    example = 'use {"topic": [0, 1]}'
    topics = _json_object("assign", value, example)
    assigned = {}
    for topic, partitions in topics.items():
        if not isinstance(partitions, list) or not all(_is_number(p, 0) for p in partitions):
            raise PlanError(f"option assign needs a list of partition numbers per topic; {example}")
        assigned[topic] = tuple(sorted(set(partitions)))
    return assigned


def _offsets(option: str, value: str) -> int | dict[TopicPartition, int]:
    """A name or JSON {topic: {partition: offset}}; a batch read starts nowhere but at data."""
    is_start = option == "startingOffsets"
    refused, reason = (LATEST, "latest") if is_start else (EARLIEST, "earliest")
    names = {"earliest": EARLIEST, "latest": LATEST}
    example = f'use {{"topic": {{"0": 23, "1": {EARLIEST if is_start else LATEST}}}}}'
    if (offset := names.get(value.strip().lower())) is not None:
        if offset == refused:
            raise PlanError(f'option {option} cannot be "{reason}" in a batch read')
        return offset
    offsets: dict[TopicPartition, int] = {}
    for topic, partitions in _json_object(option, value, example).items():
        if not isinstance(partitions, dict):
            raise PlanError(f"option {option} needs an object per topic; {example}")
        for partition, asked in partitions.items():
            if not partition.isdecimal() or not _is_number(asked, EARLIEST):
                raise PlanError(f"option {option} needs partition: offset; {example}")
            if asked == refused:
                raise PlanError(f"option {option} cannot be {refused} ({reason}) in a batch read")
            offsets[TopicPartition(topic, int(partition))] = asked
    return offsets


def _json_object(option: str, value: str, example: str) -> dict[str, object]:
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise PlanError(f"option {option} cannot be read: {value!r}; {example}")
    return parsed


def _is_number(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _boolean(option: str, value: str) -> bool:
    match value.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise PlanError(f"option {option} is true or false, not {value!r}")
