"""Validation of the records inside a produced batch against its header. Pure.

A batch with a valid CRC may contain anything: every reader would stop at a malformed one until an
operator seeks past it. So the leader walks the records as readers do: the record count matches,
fields fill each record exactly, offset deltas are 0, 1, 2…, timestamps fit into 64 bits, and no
byte follows. The walk finds the batch's newest timestamp, which its header may not say, and the
records that the topic's rules refuse, by their places (KIP-467). Records of one length are compared
by column (`record_runs`), others walked one by one; nothing is decoded but timestamps.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from tidelog.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
)
from tidelog.core.kafka_errors import RefusedRecord
from tidelog.records.batch import HEADER_BYTES, MIN_RECORD_BYTES, BatchHeader
from tidelog.records.compression import TooLargeInflatedError, decompress
from tidelog.records.record_runs import PAYING_RECORDS, Skipped, skip_plain, skip_run
from tidelog.records.records import NO_TIMESTAMP
from tidelog.records.varints import NULL_BYTE, decode_varint

INFLATED_TIMES_MAX = 16
"""Maximum inflated size of a batch's records, as a multiple of max.message.bytes."""
RECORD_ERRORS_MAX = 1000
"""Maximum number of a batch's records that an error names; further ones are not looked for."""
_RUN_RECORDS_MAX = 4096
_TURN_RECORDS = 256
_SLICE_TURNS = 4
"""Turns per slice: half a millisecond for turns of 256 records of varying lengths, or long runs."""
_TIMESTAMP_END = 2**63
_SHORT_TIMESTAMP_BYTES = 4
_SHORT_TIMESTAMP_MAX = 1 << 28
"""Bound of the absolute value of a timestamp delta of up to four bytes."""


class RecordRules(NamedTuple):
    """Demands of a topic on each record. A record without a timestamp (-1) is of any age."""

    needs_keys: bool = False
    oldest_ms: int = -_TIMESTAMP_END
    """Least timestamp, inclusive."""
    newest_ms: int = _TIMESTAMP_END - 1
    """Greatest timestamp, inclusive."""
    now_ms: int = 0
    """Time of the broker's clock, which the messages count from."""


def check_records(header: BatchHeader, batch: memoryview, rules: RecordRules) -> int:
    """Validate the records of an uncompressed batch; return their newest timestamp.

    -1: none has one. Raises `InvalidRecordError` and `InvalidTimestampError`, with the records that
    are to blame where the rest is sound.
    """
    if header.records_count < PAYING_RECORDS:
        data: bytes | memoryview = batch[HEADER_BYTES : header.size_in_bytes]
        walk = _Walk(header, data, 0, rules)
    else:
        walk = _walk_contiguous(header, batch, rules)
    walk.go(header.records_count)
    return walk.newest_ms


def record_slices(
    header: BatchHeader, batch: memoryview, rules: RecordRules
) -> Generator[None, None, int]:
    """Validate as `check_records`, yielding between slices so that other work can run."""
    walk = _walk_contiguous(header, batch, rules)
    while not walk.go(_SLICE_TURNS):
        yield
    return walk.newest_ms


def check_compressed_records(
    header: BatchHeader, batch: memoryview, rules: RecordRules, *, max_message_bytes: int
) -> int:
    """Inflate a batch and validate its records as `check_records` does.

    Raises also `MessageTooLargeError` when they inflate beyond `INFLATED_TIMES_MAX` times
    `max_message_bytes`, `InvalidRecordError` when they do not inflate: the CRC matches, so they
    were sealed like this.
    """
    limit = INFLATED_TIMES_MAX * max_message_bytes
    packed = batch[HEADER_BYTES : header.size_in_bytes]
    try:
        data = decompress(header.codec_id, packed, max_bytes=limit)
    except TooLargeInflatedError as error:
        raise MessageTooLargeError(
            f"the records of a batch inflate to more than {limit} bytes, which is "
            f"{INFLATED_TIMES_MAX} times max.message.bytes={max_message_bytes}: send smaller "
            "batches or raise the topic's limit"
        ) from error
    except CorruptMessageError as error:
        raise InvalidRecordError(error.message) from error
    walk = _Walk(header, data, 0, rules)
    walk.go(header.records_count)
    return walk.newest_ms


def _walk_contiguous(header: BatchHeader, batch: memoryview, rules: RecordRules) -> _Walk:
    """Walk over the batch as `bytes`, needed for the strided slices of runs.

    Copied only where other batches precede or follow it.
    """
    whole = batch.obj
    if isinstance(whole, bytes) and len(whole) == header.size_in_bytes == len(batch):
        return _Walk(header, whole, HEADER_BYTES, rules)
    return _Walk(header, bytes(batch[HEADER_BYTES : header.size_in_bytes]), 0, rules)


class _Walk:
    """Walk over the records of one batch, in turns."""

    __slots__ = (
        *("_base", "_count", "_data", "_delta", "_errors", "_has_late", "_is_base_plain"),
        *("_position", "_rules", "newest_ms"),
    )

    def __init__(
        self, header: BatchHeader, data: bytes | memoryview, position: int, rules: RecordRules
    ) -> None:
        self.newest_ms = NO_TIMESTAMP
        self._count = header.records_count
        self._base = header.base_timestamp
        self._data = data
        self._position = position
        self._delta = 0
        self._rules = rules
        self._errors: list[RefusedRecord] = []
        self._has_late = False
        self._is_base_plain = abs(self._base) < _TIMESTAMP_END - _SHORT_TIMESTAMP_MAX
        if self._count * MIN_RECORD_BYTES > len(data):
            raise InvalidRecordError(f"{self._count} records cannot fit {len(data)} bytes")

    def go(self, turns: int) -> bool:
        """Walk that many turns, each past at least one record; return whether that was the end."""
        try:
            while self._delta < self._count and turns:
                turns -= 1
                self._turn()
        except (IndexError, CorruptMessageError) as error:
            raise InvalidRecordError(f"a record ends before its fields do: {error}") from error
        if self._delta < self._count:
            return False
        if left_bytes := len(self._data) - self._position:
            raise InvalidRecordError(f"{left_bytes} bytes follow the last record of the batch")
        if self._errors:
            self._refuse()
        return True

    def _turn(self) -> None:
        left = self._count - self._delta
        if left >= PAYING_RECORDS and self._is_base_plain and isinstance(self._data, bytes):
            taken = self._skip(self._data, left)
            if taken >= PAYING_RECORDS:
                return
        self._one_by_one(range(self._delta, min(self._count, self._delta + _TURN_RECORDS)))

    def _skip(self, data: bytes, left: int) -> int:
        """Skip common records that keep the rules; return their number, possibly 0."""
        limit = min(left, _RUN_RECORDS_MAX)
        run = skip_run(data, self._position, first_delta=self._delta, limit=limit)
        if run is None or run.timestamp_bytes > _SHORT_TIMESTAMP_BYTES or not self._take(run):
            run = skip_plain(
                data,
                self._position,
                first_delta=self._delta,
                limit=min(left, _TURN_RECORDS),
                needs_keys=self._rules.needs_keys,
            )
            if run is None or not self._take(run):
                return 0
        return run.records_count

    def _take(self, run: Skipped) -> bool:
        """Go past these records if they keep the rules."""
        rules, newest_ms = self._rules, self._base + run.newest
        if (
            newest_ms > rules.newest_ms
            or self._base + run.oldest < rules.oldest_ms
            or (rules.needs_keys and not run.has_keys)
        ):
            return False
        self.newest_ms = max(self.newest_ms, newest_ms)
        self._position, self._delta = run.end, self._delta + run.records_count
        return True

    def _one_by_one(self, deltas: range) -> None:
        """Walk the records with these offset deltas. Flat: runs once per record."""
        decode, data, size, base = decode_varint, self._data, len(self._data), self._base
        needs_keys, oldest_ms, latest_ms, _ = self._rules
        position, newest_ms = self._position, self.newest_ms
        for delta in deltas:
            byte = data[position]
            if byte & 0x81:
                length, position = decode(data, position)
            else:
                length, position = byte >> 1, position + 1
            end = position + length
            if length < MIN_RECORD_BYTES - 1 or end > size:
                raise InvalidRecordError(f"record {delta} of the batch claims {length} bytes")
            position += 1  # attributes: no bit is used
            timestamp = base
            if data[position]:
                timestamp_delta, position = decode(data, position)
                timestamp += timestamp_delta
                if not -_TIMESTAMP_END <= timestamp < _TIMESTAMP_END:
                    raise InvalidRecordError(f"record {delta} has a timestamp beyond 64 bits")
            else:
                position += 1
            newest_ms = max(newest_ms, timestamp)
            byte = data[position]
            if byte & 0x81:
                found, position = decode(data, position)
            else:
                found, position = byte >> 1, position + 1
            if found != delta:
                raise InvalidRecordError(f"record {delta} of the batch has offset delta {found}")
            byte = data[position]
            if byte == NULL_BYTE and needs_keys:
                self._note_keyless(delta)
            elif not oldest_ms <= timestamp <= latest_ms:
                self._note_time(delta, timestamp)
            position = position + 1 if byte == NULL_BYTE else _past_bytes(data, position, end)
            byte = data[position]
            position = position + 1 if byte == NULL_BYTE else _past_bytes(data, position, end)
            position = position + 1 if data[position] == 0 else _past_headers(data, position, end)
            if position != end:
                raise InvalidRecordError(
                    f"record {delta} of the batch differs by {end - position} bytes from its length"
                )
        self._position, self._delta, self.newest_ms = position, deltas.stop, newest_ms

    def _note_keyless(self, delta: int) -> None:
        self._note(
            delta,
            f"record {delta} of the batch has no key, but a compacted topic keeps records by key: "
            "give it one",
        )

    def _note_time(self, delta: int, timestamp: int) -> None:
        if timestamp == NO_TIMESTAMP:
            return
        rules, age_ms = self._rules, self._rules.now_ms - timestamp
        if timestamp > rules.newest_ms:
            what, limit_ms = f"is {-age_ms} ms ahead of the broker's clock", rules.newest_ms
            key = "message.timestamp.after.max.ms"
        else:
            what, limit_ms = f"is {age_ms} ms old", rules.oldest_ms
            key = "message.timestamp.before.max.ms"
        self._has_late, limit_ms = True, abs(limit_ms - rules.now_ms)
        self._note(
            delta, f"record {delta} of the batch {what}, and the topic's {key} is {limit_ms}"
        )

    def _note(self, delta: int, message: str) -> None:
        if len(self._errors) < RECORD_ERRORS_MAX:
            self._errors.append(RefusedRecord(delta, message))

    def _refuse(self) -> None:
        """Raise for the records that break the topic's rules, in Kafka's order of codes."""
        first, *others = self._errors
        more = f"; {len(others)} more of its {self._count} records are refused" if others else ""
        refusal = InvalidTimestampError if self._has_late else InvalidRecordError
        raise refusal(f"{first.message}{more}", record_errors=tuple(self._errors))


def _past_bytes(data: bytes | memoryview, position: int, end: int) -> int:
    byte = data[position]
    if byte & 0x81:
        length, position = decode_varint(data, position)
    else:
        length, position = byte >> 1, position + 1
    if not 0 <= length < end - position + 1:
        raise InvalidRecordError(f"a field claims {length} bytes, {end - position} are left")
    return position + length


def _past_headers(data: bytes | memoryview, position: int, end: int) -> int:
    count, position = decode_varint(data, position)
    if not 0 <= count <= (end - position) // 2:
        raise InvalidRecordError(f"a record claims {count} headers")
    for _ in range(count):
        start = position
        position = _past_bytes(data, position, end)
        _check_name(data, start, position)
        position = position + 1 if data[position] == NULL_BYTE else _past_bytes(data, position, end)
    return position


def _check_name(data: bytes | memoryview, start: int, end: int) -> None:
    """Check that a header's name is UTF-8, since readers return it as text."""
    _, start = decode_varint(data, start)
    try:
        str(data[start:end], "utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRecordError(f"the name of a record's header is not UTF-8: {error}") from error
