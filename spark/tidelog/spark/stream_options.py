"""The options of a streaming read, checked against each other.

Pure. Names and meanings are those of Kafka's Spark connector, except `maxBytesPerTrigger` and
`queryId`, which are ours.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.spark.option_values import LATEST, OptionError
from tidelog.spark.options import STREAM_READ, AtOffsets, Edge, Options, Selection

MAX_TRIGGER_DELAY_MS = 15 * 60_000
"""Kafka's default of maxTriggerDelay."""
QUERY_ID_LENGTH_MAX = 200
_SPLITS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a micro-batch; None: no limit. Bytes are counted as stored by brokers."""

    offsets_max: int | None = None
    bytes_max: int | None = None
    offsets_min: int | None = None
    delay_ms_max: int = MAX_TRIGGER_DELAY_MS


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Validated options of a streaming read."""

    bootstrap: str
    selection: Selection
    starting: Edge
    limits: Limits
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    query_id: str | None
    client: RangeReaderConfig

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> StreamOptions:
        """Check every option; raises OptionError that names the option and what it allows."""
        options = Options(given, known=STREAM_READ, purpose="a streaming read")
        options.boolean("includeHeaders", default=False)  # the schema's, but checked here too
        parsed = cls(
            bootstrap=options.bootstrap(),
            selection=options.selection(),
            starting=options.starting(LATEST),
            limits=_limits(options),
            fail_on_data_loss=options.boolean("failOnDataLoss", default=True),
            min_partitions=options.number("minPartitions", default=None, least=1, most=_SPLITS_MAX),
            max_records_per_partition=options.number(
                "maxRecordsPerPartition", default=None, least=1
            ),
            query_id=_query_id(options),
            client=options.client(),
        )
        if parsed.query_id is None and _moves(parsed.starting):
            raise OptionError(_needs_query_id(parsed.starting))
        return parsed


def _query_id(options: Options) -> str | None:
    query_id = options.text("queryId")
    if query_id is None or re.fullmatch(rf"[A-Za-z0-9._-]{{1,{QUERY_ID_LENGTH_MAX}}}", query_id):
        return query_id
    raise OptionError(
        f"option queryId is 1 to {QUERY_ID_LENGTH_MAX} letters, digits and ._-, not {query_id!r}"
    )


def _moves(starting: Edge) -> bool:
    """True if the start may differ when it is looked up again a moment later."""
    if not isinstance(starting, AtOffsets):
        return starting.or_latest
    if isinstance(starting.offsets, int):
        return starting.offsets == LATEST
    return LATEST in starting.offsets.values()


def _needs_query_id(starting: Edge) -> str:
    return (
        f"a stream whose {starting.option} may be the latest offset needs the option queryId: "
        "Spark asks for the start again when a query is restarted before its first batch was "
        "committed, and records sent in between would be skipped. Give an id that no other query "
        "has, under which the brokers keep the first start, or start at the earliest offset"
    )


def _limits(options: Options) -> Limits:
    offsets_max, bytes_max, offsets_min = (
        options.number(name, default=None, least=1)
        for name in ("maxOffsetsPerTrigger", "maxBytesPerTrigger", "minOffsetsPerTrigger")
    )
    if offsets_min is not None and offsets_max is not None and offsets_min > offsets_max:
        raise OptionError(
            f"option minOffsetsPerTrigger ({offsets_min}) is more than maxOffsetsPerTrigger "
            f"({offsets_max})"
        )
    if options.has("maxTriggerDelay") and offsets_min is None:
        raise OptionError("option maxTriggerDelay has no meaning without minOffsetsPerTrigger")
    delay_ms = options.duration_ms("maxTriggerDelay", MAX_TRIGGER_DELAY_MS)
    return Limits(offsets_max, bytes_max, offsets_min, delay_ms)
