"""The options of reads and writes: their names, values and contradictions.

Pure, and the only module that reads options, for batch reads, streaming reads and writes. Names and
meanings are those of Kafka's Spark connector ("Structured Streaming + Kafka Integration Guide");
Spark passes them in lower case. Options that are unknown or not supported are refused by name.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast, get_args

from tidelog.client.backoff import Backoff
from tidelog.client.connections import (
    CONNECTIONS_MAX_IDLE_MS,
    IDLE_MS_MAX,
    IDLE_MS_MIN,
    ConnectionConfig,
)
from tidelog.client.consuming.isolation import Isolation
from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.routing import parse_bootstrap
from tidelog.net.client_ids import CLIENT_ID_CHARS_MAX, is_client_id
from tidelog.spark import option_values
from tidelog.spark.option_values import EARLIEST, LATEST, OFFSET_MAX, Offsets, OptionError

NAMED = ("kafka.client.id", "kafka.connections.max.idle.ms")
"""Options of every Kafka client that a read and a write take."""
CLIENT = (
    *NAMED,
    "kafka.default.api.timeout.ms",
    "kafka.fetch.max.bytes",
    "kafka.fetch.max.wait.ms",
    "kafka.isolation.level",
    "kafka.max.partition.fetch.bytes",
    "kafka.request.timeout.ms",
    "kafka.retry.backoff.max.ms",
    "kafka.retry.backoff.ms",
)
"""Options of Kafka's consumer that a read takes."""
_CLUSTER = ("bootstrap.servers", "kafka.bootstrap.servers")
_READ = (
    *_CLUSTER,
    "assign",
    "subscribe",
    "subscribePattern",
    "kafka.exclude.internal.topics",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    *CLIENT,
)
BATCH_READ = (
    *_READ,
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "filterPushdown",
)
STREAM_READ = (
    *_READ,
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "queryId",
)
READ = tuple(dict.fromkeys(BATCH_READ + STREAM_READ))
"""The options of a DataSource before Spark decides between a batch and a streaming read."""
_PURPOSES = {"a batch read": BATCH_READ, "a streaming read": STREAM_READ}

_NO_GROUPS = "there are no consumer groups: Spark's query keeps its own offsets"
_NO_TLS = "brokers take plain connections only: there is no TLS and no authentication yet"
_ONLY_BYTES = "keys and values are bytes: convert the columns in Spark"
_TIMED_RETRIES = "a look-up of offsets is tried again for as long as kafkaConsumer.pollTimeoutMs"
_REFUSED = {
    "groupidprefix": _NO_GROUPS,
    "fetchoffset.numretries": _TIMED_RETRIES,
    "fetchoffset.retryintervalms": _TIMED_RETRIES,
    "kafka.auto.offset.reset": "startingOffsets says where a read starts",
    "kafka.check.crcs": "the CRC of every batch is checked",
    "kafka.enable.auto.commit": _NO_GROUPS,
    "kafka.group.": _NO_GROUPS,
    "kafka.interceptor.classes": "an interceptor could change records",
    "kafka.key.": _ONLY_BYTES,
    "kafka.retries": "it is a producer's; a read is tried again for kafkaConsumer.pollTimeoutMs",
    "kafka.sasl.": _NO_TLS,
    "kafka.security.": _NO_TLS,
    "kafka.ssl.": _NO_TLS,
    "kafka.transactional.id": "a write gives each attempt of a task one of its own",
    "kafka.value.": _ONLY_BYTES,
    # CREATE TABLE ... USING adds it; Spark would hand the reader of such a table no option.
    "provider": "make a view of the topic instead of a table: CREATE TEMPORARY VIEW ... USING",
}
"""Options of the connector that are refused, and why; a dot at the end marks a prefix."""

Default = TypeVar("Default", bound=int | None)
_INT_MAX = (1 << 31) - 1
FETCH_BYTES_MAX = 64 << 20
"""The maximum size of a fetch response that may be requested; memory holds it twice."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The topics and partitions to read: exactly one of the first three fields is given."""

    assign: Mapping[str, tuple[int, ...]] | None = None
    subscribe: tuple[str, ...] | None = None
    pattern: str | None = None
    exclude_internal: bool = True
    """True if the pattern leaves out topics whose names start with two underscores."""


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """A range starts or ends at these offsets, as `option` says."""

    option: str
    offsets: Offsets


@dataclass(frozen=True, slots=True)
class AtTimes:
    """A range starts or ends at the first record at or after a time, as `option` says.

    Times are milliseconds since the Unix epoch. With `or_latest` a partition without such a record
    counts as read to its end, else it is an error.
    """

    option: str
    times_ms: Offsets
    or_latest: bool


Edge = AtOffsets | AtTimes


class Options:
    """The options of a read or write, by lower-cased name.

    `known` are the allowed names as a user spells them; `purpose` completes "has no place in", like
    "a batch read". Raises OptionError, here and in every method.
    """

    def __init__(self, given: Mapping[str, str], *, known: Sequence[str], purpose: str) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        self._known = known
        self._purpose = purpose
        names = {name.lower() for name in known}
        for name in self._given:
            if name not in names:
                raise OptionError(self._unknown(name))

    def has(self, name: str) -> bool:
        """True if the option is given."""
        return name.lower() in self._given

    def text(self, name: str, default: str | None = None) -> str | None:
        """The value as given."""
        return self._given.get(name.lower(), default)

    def boolean(self, name: str, default: bool) -> bool:  # noqa: FBT001  # the value's default
        """The value as a boolean."""
        text = self.text(name)
        return default if text is None else option_values.boolean(name, text)

    def number(
        self, name: str, *, default: Default, least: int, most: int = OFFSET_MAX
    ) -> int | Default:
        """The value as a whole number from `least` to `most`."""
        text = self.text(name)
        return default if text is None else option_values.number(name, text, least=least, most=most)

    def duration_ms(self, name: str, default_ms: int) -> int:
        """The value, a duration like 15m, in milliseconds."""
        text = self.text(name)
        return default_ms if text is None else option_values.duration_ms(name, text)

    def choice(self, name: str, default: str, *, among: Sequence[str]) -> str:
        """The value as a word `among` those allowed, in any case."""
        chosen = (self.text(name) or default).strip().lower()
        if chosen not in among:
            raise OptionError(f"option {name} is one of {', '.join(among)}, not {chosen!r}")
        return chosen

    def bootstrap(self) -> str:
        """The addresses of the cluster: host:port, separated by commas."""
        values = {value for name in _CLUSTER if (value := self.text(name)) is not None}
        if len(values) > 1:
            raise OptionError(
                "options bootstrap.servers and kafka.bootstrap.servers name different clusters: "
                "give one of them"
            )
        if not any(value.strip() for value in values):
            raise OptionError('option "bootstrap.servers" is missing: name at least one host:port')
        try:
            return ",".join(parse_bootstrap(values.pop()))
        except ValueError as error:
            raise OptionError(f"option bootstrap.servers: {error}") from None

    def selection(self) -> Selection:
        """The selection of partitions to read."""
        ways = ("assign", "subscribe", "subscribePattern")
        chosen = [name for name in ways if self.has(name)]
        if len(chosen) != 1:
            raise OptionError(
                "exactly one of the options assign, subscribe and subscribePattern says what to "
                f"read, given: {', '.join(chosen) or 'none'}"
            )
        (way,) = chosen
        text = self.text(way) or ""
        exclude_internal = self.boolean("kafka.exclude.internal.topics", default=True)
        match way:
            case "assign":
                return Selection(assign=option_values.partition_lists(way, text))
            case "subscribe":
                return Selection(subscribe=option_values.topic_names(way, text))
        pattern = option_values.topic_pattern(way, text)
        return Selection(pattern=pattern, exclude_internal=exclude_internal)

    def starting(self, default: int, *, refused: int | None = None) -> Edge:
        """The start of a read: the first given of startingTimestamp, …ByTimestamp, …Offsets.

        `default` is LATEST or EARLIEST; `refused`, one of these two, is an error for this purpose.
        """
        strategy = self.choice(
            "startingOffsetsByTimestampStrategy", "error", among=("error", "latest")
        )
        return self._edge("starting", default, refused=refused, or_latest=strategy == "latest")

    def ending(self) -> Edge:
        """The end of a batch read, by the same precedence; the latest offset by default."""
        return self._edge("ending", LATEST, refused=EARLIEST, or_latest=True)

    def client(self) -> RangeReaderConfig:
        """The limits of reads, from the options of Kafka's consumer."""
        default = RangeReaderConfig()
        fetch_bytes = [
            self.number(name, default=default.fetch_max_bytes, least=1, most=FETCH_BYTES_MAX)
            for name in ("kafka.fetch.max.bytes", "kafka.max.partition.fetch.bytes")
            if self.has(name)
        ]
        return RangeReaderConfig(
            # A task reads one partition, so both options limit the same response.
            fetch_max_bytes=min(fetch_bytes, default=default.fetch_max_bytes),
            fetch_max_wait_ms=self._milliseconds(
                "kafka.fetch.max.wait.ms", default.fetch_max_wait_ms
            ),
            request_timeout_ms=self._milliseconds(
                "kafka.request.timeout.ms", default.request_timeout_ms
            ),
            topic_timeout_ms=self._milliseconds(
                "kafka.default.api.timeout.ms", default.topic_timeout_ms
            ),
            progress_timeout_ms=self._milliseconds(
                "kafkaConsumer.pollTimeoutMs", default.progress_timeout_ms
            ),
            isolation_level=self._isolation_level(default.isolation_level),
            backoff=self._backoff(default.backoff),
            connections=self.connections(default.connections),
        )

    def connections(self, default: ConnectionConfig) -> ConnectionConfig:
        """The name and the idle time of a client."""
        name, idle = NAMED
        client_id = self.text(name, default.client_id) or ""
        if not is_client_id(client_id):
            raise OptionError(
                f"option {name} is 1 to {CLIENT_ID_CHARS_MAX} of the characters a-z, A-Z, 0-9, "
                f"'.', '_' and '-', not {client_id!r:.80}"
            )
        idle_ms = self.number(
            idle, default=CONNECTIONS_MAX_IDLE_MS, least=IDLE_MS_MIN, most=IDLE_MS_MAX
        )
        return ConnectionConfig(client_id, idle_ms)

    def _isolation_level(self, default: Isolation) -> Isolation:
        option = "kafka.isolation.level"
        for level in get_args(Isolation):
            if self.text(option, default) == level:
                return cast("Isolation", level)  # one of its values
        raise OptionError(
            f'option {option} is "read_uncommitted" or "read_committed", not '
            f"{self.text(option, default)!r:.80}"
        )

    def _backoff(self, default: Backoff) -> Backoff:
        initial_ms = self._milliseconds("kafka.retry.backoff.ms", default.initial_ms)
        max_ms = self._milliseconds("kafka.retry.backoff.max.ms", max(default.max_ms, initial_ms))
        if initial_ms > max_ms:
            raise OptionError(
                f"option kafka.retry.backoff.ms ({initial_ms}) is more than "
                f"kafka.retry.backoff.max.ms ({max_ms})"
            )
        return Backoff(initial_ms=initial_ms, max_ms=max_ms)

    def _milliseconds(self, name: str, default: int) -> int:
        return self.number(name, default=default, least=1, most=_INT_MAX)

    def _edge(self, edge: str, default: int, *, refused: int | None, or_latest: bool) -> Edge:
        everywhere, by_time, by_offset = (
            f"{edge}{rest}" for rest in ("Timestamp", "OffsetsByTimestamp", "Offsets")
        )
        if (text := self.text(everywhere)) is not None:
            time_ms = option_values.number(everywhere, text, least=0, most=OFFSET_MAX)
            return AtTimes(everywhere, time_ms, or_latest=or_latest)
        if (text := self.text(by_time)) is not None:
            return AtTimes(by_time, option_values.timestamps(by_time, text), or_latest=or_latest)
        if (text := self.text(by_offset)) is not None:
            return AtOffsets(by_offset, option_values.offsets(by_offset, text, refused=refused))
        return AtOffsets(by_offset, default)

    def _unknown(self, name: str) -> str:
        for start, why in _REFUSED.items():
            if name == start or (start.endswith(".") and name.startswith(start)):
                return f'option "{name}" is not supported: {why}'
        for purpose, options in _PURPOSES.items():
            for option in options:
                if name == option.lower():
                    return f'option "{option}" has no place in {self._purpose}, but in {purpose}'
        spelt = {option.lower(): option for option in self._known}
        nearest = difflib.get_close_matches(name, spelt, n=1, cutoff=0)[0]
        return (
            f'unknown option "{name}" of {self._purpose}; the nearest known one is '
            f'"{spelt[nearest]}", all are: {", ".join(self._known)}'
        )
