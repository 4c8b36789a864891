"""Walks side by side find what walking one by one finds, whatever records hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.arrow import record_walks
from tidelog.client.arrow.record_walks import Stretch, walk
from tidelog.records.batch import HEADER_BYTES, parse_header
from tidelog.records.records import Record, encode_batch, iter_records, rebuild_batch
from tidelog.records.varints import encode_varint

Found = list[tuple[list[int], int]]


def lookalikes(draw: random.Random) -> bytes:
    """Records within a value, one behind the other, as a batch holds them."""
    inner = encode_batch([Record(0, 5, None, b"v" * 8)] * draw.randrange(2, 9))
    return inner[HEADER_BYTES:]


VALUES: dict[str, Callable[[random.Random], bytes | None]] = {
    "text": lambda draw: b"x" * draw.randrange(1, 140),
    "noise": lambda draw: draw.randbytes(draw.randrange(200)),
    "zeros": lambda draw: bytes(draw.randrange(200)),
    "ones": lambda draw: b"\xff" * draw.randrange(200),
    "records": lookalikes,
    "few large": lambda draw: b"x" * (9_000 if draw.random() < 0.01 else draw.randrange(9)),
    "null": lambda draw: None if draw.random() < 0.5 else b"x" * draw.randrange(99),
}


def batches(kind: str, draw: random.Random, counts: Sequence[int]) -> tuple[bytes, list[Stretch]]:
    """A batch for each count; of some only every third record is left, as after compaction."""
    data, stretches = b"", []
    for count in counts:
        records = [
            Record(0, 5 + draw.randrange(300), b"k%d" % at, VALUES[kind](draw))
            for at in range(count)
        ]
        batch = encode_batch(records)
        if draw.random() < 0.2:
            kept = list(iter_records(batch))[::3]
            batch = rebuild_batch(parse_header(batch), kept, delete_horizon_ms=None)
        stretches.append(
            Stretch(
                len(data) + HEADER_BYTES, len(data) + len(batch), parse_header(batch).records_count
            )
        )
        data += batch
    return data, stretches


def outcome(body: bytes, stretches: list[Stretch]) -> Found | str:
    try:
        return [(starts.tolist(), end) for starts, end in walk(body, stretches)]
    except IndexError:
        return "past the end"


def one_by_one(body: bytes, stretches: list[Stretch]) -> Found | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_walks, "_RECORDS_LEAST", 1 << 60)
        return outcome(body, stretches)


@settings(max_examples=30)
@given(
    st.sampled_from(list(VALUES)),
    st.randoms(use_true_random=False),
    st.lists(st.integers(1, 300), min_size=1, max_size=3),
)
def test_side_by_side_finds_what_one_by_one_finds(
    kind: str, draw: random.Random, counts: list[int]
) -> None:
    body, stretches = batches(kind, draw, [*counts, 400])
    assert outcome(body, stretches) == one_by_one(body, stretches)


@settings(max_examples=30)
@given(st.sampled_from(list(VALUES)), st.randoms(use_true_random=False), st.data())
def test_damage_is_found_as_one_by_one_finds_it(
    kind: str, draw: random.Random, data: st.DataObject
) -> None:
    body, stretches = batches(kind, draw, [510])
    damaged = bytearray(body)
    position = data.draw(st.integers(HEADER_BYTES, len(body) - 1))
    damaged[position] ^= data.draw(st.integers(1, 255))
    assert outcome(bytes(damaged), stretches) == one_by_one(bytes(damaged), stretches)


def test_a_walk_that_goes_astray_is_not_believed_though_it_counts_right() -> None:
    """In each value stands what looks like a record that ends with the record after this one."""
    fill, size = 60, 120  # of a record whose offset delta takes two bytes
    values = []
    for at in range(1_000):
        # Before it: 2 B length, attributes, timestamp, 2 B offset, key length, 2 B value length.
        length = encode_varint(2 * size - (9 + fill) - 2)
        imitation = length + b"\0\0" + encode_varint(at + 1) if at >= 64 else b""
        values.append((b"x" * fill + imitation).ljust(size - 10, b"x"))
    body = encode_batch([Record(0, 5, None, value) for value in values])
    stretches = [Stretch(HEADER_BYTES, len(body), len(values))]
    assert outcome(body, stretches) == one_by_one(body, stretches)


def test_text_is_not_walked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [Record(0, at, b"%08d" % at, b"x" * (at * 37 % 140)) for at in range(3_000)]
    body = encode_batch(records)
    stretches = [Stretch(HEADER_BYTES, len(body), len(records))]
    expected = one_by_one(body, stretches)
    monkeypatch.setattr(record_walks, "_one_by_one", None)
    assert outcome(body, stretches) == expected


def test_a_large_batch_is_entered_at_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    body = encode_batch([Record(0, 5, None, b"x" * (at * 37 % 140)) for at in range(3_000)])
    entered: list[int] = []
    places = record_walks._places

    def seen(*args: Any, **kwargs: Any) -> Any:  # as it takes and gives
        found = places(*args, **kwargs)
        entered.append(len(found[0]))
        return found

    monkeypatch.setattr(record_walks, "_places", seen)
    walk(body, [Stretch(HEADER_BYTES, len(body), 3_000)])
    assert entered[0] > 50
