"""Kafka's murmur2 of a whole column of keys at once. Pure; one key at a time: `partitioners`."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.client.arrow.record_bytes import binary_lengths
from tidelog.client.arrow.varints import Bytes, Int64s
from tidelog.client.producing.partitioners import MURMUR2_M, MURMUR2_SEED, murmur2

UInt32s = npt.NDArray[np.uint32]

_M = np.uint32(MURMUR2_M)
_FEW_KEYS = 16
"""The number of keys below which hashing them one by one is cheaper than another array pass."""


def positive_hashes(keys: pa.Array) -> Int64s:
    """`toPositive(murmur2(key))` of every key in a binary array, as in Kafka's partitioner.

    A null has the hash of an empty key.
    """
    lengths = np.maximum(binary_lengths(keys), 0)
    if not lengths.any():
        return np.full(len(keys), murmur2(b"") & 0x7FFFFFFF, np.int64)
    edges = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset :][: len(keys)].astype(np.int64)
    data = np.frombuffer(keys.buffers()[2], np.uint8)
    hashes = np.uint32(MURMUR2_SEED) ^ lengths.astype(np.uint32)
    late = _mix_words(hashes, data, edges, lengths)
    _mix_rest(hashes, data, edges, lengths)
    hashes ^= hashes >> np.uint32(13)
    hashes *= _M
    hashes ^= hashes >> np.uint32(15)
    positive = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64)
    for row in late.tolist():
        positive[row] = murmur2(keys[row].as_py()) & 0x7FFFFFFF
    return positive


def _mix_words(
    hashes: UInt32s, data: npt.NDArray[np.uint8], edges: Int64s, lengths: Int64s
) -> Int64s:
    """Mix in the whole words of four bytes of the keys; return the keys with words left.

    Keys have any length: the first words of all keys are mixed in, then the second words, and so
    on, until only a few keys are left.
    """
    if len(data) < 4:
        return np.empty(0, np.int64)
    words = np.ndarray(len(data) - 3, "<u4", data.data, strides=(1,))
    position = 0
    rows = np.flatnonzero(lengths >= 4)
    while rows.size and (position == 0 or rows.size > _FEW_KEYS):
        k = words[edges[rows] + position] * _M
        k ^= k >> np.uint32(24)
        k *= _M
        hashes[rows] = hashes[rows] * _M ^ k
        position += 4
        rows = rows[lengths[rows] >= position + 4]
    return rows


def _mix_rest(hashes: UInt32s, data: Bytes, edges: Int64s, lengths: Int64s) -> None:
    """Mix in the last one, two or three bytes of the keys."""
    rows = np.flatnonzero(lengths % 4)
    count, start = lengths[rows] % 4, edges[rows] + lengths[rows] // 4 * 4
    rest = np.zeros(len(rows), np.uint32)
    for place in range(3):
        byte = data.take(start + place, mode="clip").astype(np.uint32)
        rest |= np.where(count > place, byte << np.uint32(8 * place), np.uint32(0))
    hashes[rows] = (hashes[rows] ^ rest) * _M
