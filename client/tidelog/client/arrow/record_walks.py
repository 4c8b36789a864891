"""The search for the starts of records, which only the length of the previous record gives.

Owns the walk from record to record, with many walks in parallel: from the start of each batch, and
from positions within it where a record seems to start. Such a guess is checked: the walk before it
must arrive there, or else the batch is walked record by record. Pure.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import isqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.client.arrow.varints import Bytes, Int64s, read_varints
from tidelog.records.batch import MIN_RECORD_BYTES

UInt16s = npt.NDArray[np.uint16]

_RECORDS_LEAST = 400
_RECORD_BYTES_MAX = 512
"""The cost of a guess grows with the size of records; above this size it does not pay."""
_WALK_RECORDS_LEAST = 16
_STEPS_BETWEEN_LOOKS = 16
_VARINT_BITS_MAX = 63


class Stretch(NamedTuple):
    """The bytes that should hold the remaining records of a batch, and their number."""

    start: int
    end: int
    records_count: int


def walk(body: bytes, stretches: Sequence[Stretch]) -> list[tuple[Int64s, int]]:
    """The starts of the records in each stretch, and the end of its last one.

    That end may differ from the stretch's. Raises IndexError if records run past the body.
    """
    count = sum(one.records_count for one in stretches)
    size_bytes = sum(one.end - one.start for one in stretches)
    if count < _RECORDS_LEAST or size_bytes > count * _RECORD_BYTES_MAX:
        return [_one_by_one(body, one) for one in stretches]
    found = _side_by_side(np.frombuffer(body, np.uint8), stretches)
    return [
        (starts, one.end) if len(starts) == one.records_count else _one_by_one(body, one)
        for starts, one in zip(found, stretches, strict=True)
    ]


def read_varint(body: bytes, position: int) -> tuple[int, int]:
    """Read a zig-zag varint; return it with the position after it."""
    value = shift = 0
    while (septet := body[position]) > 0x7F and shift < _VARINT_BITS_MAX:
        value |= (septet & 0x7F) << shift
        position, shift = position + 1, shift + 7
    value |= septet << shift
    return (value >> 1) ^ -(value & 1), position + 1


def _one_by_one(body: bytes, stretch: Stretch) -> tuple[Int64s, int]:
    position = stretch.start
    starts = [0] * stretch.records_count
    for index in range(stretch.records_count):
        starts[index] = position
        first = body[position]
        if first < 0x80:
            position += 1 + (first >> 1)
        elif (second := body[position + 1]) < 0x80:
            position += 2 + ((first & 0x7F | second << 7) >> 1)
        else:
            length, content = read_varint(body, position)
            position = content + length
    return np.array(starts, dtype=np.int64), position


def _side_by_side(data: Bytes, stretches: Sequence[Stretch]) -> list[Int64s]:
    """The starts in each stretch; none if a walk missed the place where the next one began."""
    starts, ends, counts = np.array(stretches, np.int64).T
    walk_records = max(_WALK_RECORDS_LEAST, isqrt(int(counts.sum())) // 2)
    places, owners = _places(data, starts, ends, counts, walk_records=walk_records)
    is_last = np.append(owners[1:] != owners[:-1], True)
    limits = np.where(is_last, ends[owners], np.append(places[1:], 0))
    steps = _steps(data, places, limits, steps_max=4 * walk_records)
    passed = (steps < limits[:, None]).sum(axis=1)
    arrivals = steps[np.arange(len(steps)), np.minimum(passed, steps.shape[1] - 1)]
    is_lost = np.zeros(len(stretches), np.bool_)
    is_lost[owners[arrivals != limits]] = True
    passed[is_lost[owners]] = 0
    ordered = steps[np.arange(steps.shape[1]) < passed[:, None]]
    sizes = np.bincount(owners, weights=passed, minlength=len(stretches)).astype(np.int64)
    return np.split(ordered, np.cumsum(sizes)[:-1])


def _steps(data: Bytes, places: Int64s, limits: Int64s, *, steps_max: int) -> Int64s:
    """The positions of each walk, one row per walk, from its place to beyond its limit."""
    words, steps = _words(data), [places]
    while len(steps) < steps_max and (steps[-1] < limits).any():
        for _ in range(_STEPS_BETWEEN_LOOKS):
            steps.append(steps[-1] + _sizes(words, steps[-1]))
    return np.ascontiguousarray(np.array(steps).T)


def _places(
    data: Bytes, starts: Int64s, ends: Int64s, counts: Int64s, *, walk_records: int
) -> tuple[Int64s, Int64s]:
    """The places where walks begin, in order, and the number of the stretch of each.

    Every stretch begins with one; the others are within it at about equal distances.
    """
    walks = np.maximum(counts // walk_records, 1)
    owners = np.repeat(np.arange(len(starts)), walks)
    nth = _count_up(walks)
    sizes = ends - starts
    targets = starts[owners] + sizes[owners] * nth // walks[owners]
    inner = np.flatnonzero(nth)
    widths = (2 * sizes // np.maximum(counts, 1))[owners[inner]]
    targets[inner] = _likely_start(data, targets[inner], widths, ends[owners[inner]])
    found = targets >= 0
    return targets[found], owners[found]


def _likely_start(data: Bytes, targets: Int64s, widths: Int64s, ends: Int64s) -> Int64s:
    """The probable start of a record within `widths` bytes of each target; -1: none.

    Its length, of one or two bytes, leads to another record, the attributes of both are 0, and the
    offset of the other one follows.
    """
    window = np.repeat(targets, widths) + _count_up(widths)
    is_zero = data.take(window, mode="clip") == 0
    attributes = np.tile(window[is_zero], 2)
    of = np.tile(np.repeat(np.arange(len(targets)), widths)[is_zero], 2)
    starts = attributes - np.repeat([1, 2], len(attributes) // 2)
    sizes = _sizes(_words(data), starts)
    good = (sizes > 0) & (_after_length(data, starts) == attributes) & (starts + sizes < ends[of])
    starts, attributes, of, following = (
        one[good] for one in (starts, attributes, of, starts + sizes)
    )
    others = _after_length(data, following)
    good = data.take(others, mode="clip") == 0
    good &= _offset_deltas(data, others) == _offset_deltas(data, attributes) + 1
    first = np.flatnonzero(good)
    first = first[np.argsort(-starts[first])]  # the first of several candidates is assigned last
    found = np.full(len(targets), -1)
    found[of[first]] = starts[first]
    return found


def _after_length(data: Bytes, starts: Int64s) -> Int64s:
    """The positions after lengths of one or two bytes."""
    return starts + 1 + (data.take(starts, mode="clip") >> 7)


def _offset_deltas(data: Bytes, attributes: Int64s) -> Int64s:
    _, after_timestamps = read_varints(data, attributes + 1, is_checked=False)
    return read_varints(data, after_timestamps, is_checked=False)[0]


def _words(data: Bytes) -> UInt16s:
    """A view with the two bytes at each position as one number."""
    return np.ndarray(len(data) - 1, "<u2", data.data, strides=(1,))


def _sizes(words: UInt16s, starts: Int64s) -> Int64s:
    """The sizes of records at `starts`, prefix included; 0 if the length takes over 2 bytes."""
    sizes: Int64s = _sizes_by_word()[words[np.minimum(starts, len(words) - 1)]]
    return sizes


@cache
def _sizes_by_word() -> Int64s:
    """The size of a record by its first two bytes; 0: invalid, or a longer length."""
    words = np.arange(1 << 16)
    is_long = words >> 7 & 1
    zigzag = words & 0x7F | (words >> 8) * is_long << 7
    sizes = 1 + is_long + (zigzag >> 1)
    is_none = (zigzag & 1 == 1) | (is_long & words >> 15 == 1) | (sizes < MIN_RECORD_BYTES)
    return np.where(is_none, 0, sizes)


def _count_up(counts: Int64s) -> Int64s:
    """The numbers 0, 1, 2… below each count, concatenated."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
