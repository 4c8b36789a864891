"""The options and columns of a write, with names and meanings of Kafka's connector.

Pure. Checks them before any row is sent, and never reads a row.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.client.connections import ConnectionConfig
from tidelog.spark.option_values import OptionError
from tidelog.spark.options import NAMED, Options

SKIP, WRITE = "skip", "write"
"""The values of recordedBatches."""
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
"""The values of deliveryGuarantee."""

_OPTIONS = (
    "bootstrap.servers",
    "kafka.bootstrap.servers",
    "topic",
    "recordedBatches",
    "deliveryGuarantee",
    # Spark passes these two options of its own to every streaming sink.
    "checkpointLocation",
    "queryName",
    *NAMED,
    "kafka.acks",
    "kafka.batch.size",
    "kafka.buffer.memory",
    "kafka.compression.type",
    "kafka.delivery.timeout.ms",
    "kafka.max.request.size",
    "kafka.request.timeout.ms",
    "kafka.transaction.timeout.ms",
)
_ASYNC_PROGRESS = (
    "a batch is skipped by its number, and with asynchronous progress Spark would give a number to "
    "other rows after a restart"
)
_REFUSED = {
    "asyncprogresstracking": _ASYNC_PROGRESS,
    "_asyncprogresstracking": _ASYNC_PROGRESS,
    "path": "option topic, or column topic, says where rows go",
    "kafka.enable.idempotence": "a batch that is sent again by the sink itself is stored once",
    "kafka.linger.ms": "rows arrive many at a time, and none waits for more",
    "kafka.max.in.flight.requests": "it follows from kafka.buffer.memory and kafka.batch.size",
    "kafka.partitioner.": "column partition chooses, else the key as Kafka's own partitioner does",
    "kafka.retries": "a batch is sent again until kafka.delivery.timeout.ms is over",
}
"""Options of the connector that a write refuses, by prefix, and why."""

_HEADERS = "array<struct<key:string,value:binary>>"
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    "topic": ("string",),
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "headers": (_HEADERS,),
    "partition": ("int",),
}
"""Columns of a write, and their types as Spark writes them; other columns are ignored."""

_INT_MAX = (1 << 31) - 1
_TRANSACTION_TIMEOUT = "kafka.transaction.timeout.ms"
_CONNECTIONS = ConnectionConfig("tidelog-table-writer")
REQUEST_BYTES_MAX = 16 << 20
BUFFER_BYTES_MAX = 1 << 30


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Validated options of a write.

    `topic` takes precedence over the column of that name. `is_replay_skipped`: a recorded batch of
    a stream is not written again. `is_exactly_once`: rows are written in transactions, which the
    driver commits together; each may be open for `transaction_timeout_ms`, None: for as long as the
    brokers allow. `client` are arguments of TableWriter.
    """

    bootstrap: str
    topic: str | None
    is_replay_skipped: bool
    client: Mapping[str, Any]  # arguments of several types
    is_exactly_once: bool = True
    transaction_timeout_ms: int | None = None


def parse_sink_options(given: Mapping[str, str]) -> SinkOptions:
    """Check every option; raises OptionError that names the option and what it allows."""
    for name in given:
        for start, why in _REFUSED.items():
            if name.lower().startswith(start):
                raise OptionError(f'option "{name}" is not supported: {why}')
    options = Options(given, known=_OPTIONS, purpose="a write")
    acks = options.choice("kafka.acks", "all", among=("all", "-1", "0", "1"))
    if acks in {"0", "1"}:
        raise OptionError(
            f"option kafka.acks cannot be {acks}: rows that Spark counts as written could be lost"
        )
    return SinkOptions(
        bootstrap=options.bootstrap(),
        topic=_topic(options),
        is_replay_skipped=options.choice("recordedBatches", SKIP, among=(SKIP, WRITE)) == SKIP,
        client=_client(options),
        is_exactly_once=_is_exactly_once(options),
        transaction_timeout_ms=options.number(
            _TRANSACTION_TIMEOUT, default=None, least=1, most=_INT_MAX
        ),
    )


def _is_exactly_once(options: Options) -> bool:
    among = (EXACTLY_ONCE, AT_LEAST_ONCE)
    is_so = options.choice("deliveryGuarantee", EXACTLY_ONCE, among=among) == EXACTLY_ONCE
    if not is_so and options.has(_TRANSACTION_TIMEOUT):
        raise OptionError(
            f"option {_TRANSACTION_TIMEOUT} has no meaning with deliveryGuarantee {AT_LEAST_ONCE}: "
            "there are no transactions"
        )
    return is_so


def check_columns(columns: Mapping[str, str], *, topic: str | None) -> None:
    """Refuse rows that cannot be written; `columns` maps names to types as Spark writes them.

    Raises OptionError, in the order in which Kafka's connector looks: topic, key, value, headers,
    partition.
    """
    if topic is None and "topic" not in columns:
        raise OptionError(
            'rows have no column "topic": add one, or name the topic of all rows by option topic'
        )
    if "value" not in columns:
        raise OptionError(
            f'rows have no column "value"; they have {", ".join(columns)}: rename one, or make one '
            "of several with to_json(struct(…))"
        )
    for name, types in COLUMN_TYPES.items():
        if name in columns and columns[name] not in types:
            raise OptionError(
                f'column "{name}" is {columns[name]}, and must be {" or ".join(types)}: cast it'
            )


def _topic(options: Options) -> str | None:
    topic = options.text("topic")
    if topic is not None and not topic.strip():
        raise OptionError("option topic is empty: name a topic, or leave it to column topic")
    return None if topic is None else topic.strip()


def _client(options: Options) -> dict[str, Any]:  # arguments of several types
    client: dict[str, Any] = _sizes(options)
    connections = options.connections(_CONNECTIONS)
    if any(options.has(name) for name in NAMED):
        client["client_id"] = connections.client_id
        client["connections_max_idle_ms"] = connections.connections_max_idle_ms
    for argument, name in (
        ("delivery_timeout_ms", "kafka.delivery.timeout.ms"),
        ("request_timeout_ms", "kafka.request.timeout.ms"),
    ):
        if options.has(name):
            client[argument] = options.number(name, default=None, least=1, most=_INT_MAX)
    if options.has("kafka.compression.type"):
        codecs = ("none", "gzip", "snappy", "lz4", "zstd")
        client["compression"] = options.choice("kafka.compression.type", "none", among=codecs)
    return client


def _sizes(options: Options) -> dict[str, int]:
    """Parse and check sizes: a batch must fit a request, and a request the buffer."""
    batch, request, buffer = "kafka.batch.size", "kafka.max.request.size", "kafka.buffer.memory"
    batch_size = options.number(batch, default=512 << 10, least=1, most=REQUEST_BYTES_MAX)
    max_request_size = options.number(
        request, default=max(1 << 20, batch_size), least=1, most=REQUEST_BYTES_MAX
    )
    buffer_memory = options.number(buffer, default=64 << 20, least=1, most=BUFFER_BYTES_MAX)
    if not batch_size <= max_request_size <= buffer_memory:
        raise OptionError(
            f"{batch} ({batch_size}) must not be more than {request} ({max_request_size}), nor "
            f"that more than {buffer} ({buffer_memory})"
        )
    return {
        "batch_size": batch_size,
        "max_request_size": max_request_size,
        "buffer_memory": buffer_memory,
    }
