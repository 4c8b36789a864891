"""Zig-zag varints of many records at once. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.core.errors import CorruptMessageError

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_BITS_MAX = 63


def read_varints(
    data: Bytes, positions: Int64s, *, is_checked: bool = True
) -> tuple[Int64s, Int64s]:
    """The varints at all `positions`, and the positions after them.

    Beyond the end of `data` the last byte is read again: callers compare the positions with a
    limit. Raises CorruptMessageError for a varint above 64 bits; unless `is_checked`, it is cut.
    """
    values = data.take(positions, mode="clip").astype(np.uint64)
    after = positions + 1
    unfinished = np.flatnonzero(values > 0x7F)
    values &= np.uint64(0x7F)
    shift = 7
    while unfinished.size:
        if shift > _BITS_MAX:
            if not is_checked:
                break
            raise CorruptMessageError("a number in a record is longer than 64 bits")
        septets = data.take(after[unfinished], mode="clip").astype(np.uint64)
        values[unfinished] |= (septets & np.uint64(0x7F)) << np.uint64(shift)
        after[unfinished] += 1
        unfinished = unfinished[septets > 0x7F]
        shift += 7
    signs = np.negative(values & np.uint64(1))
    return ((values >> np.uint64(1)) ^ signs).view(np.int64), after
