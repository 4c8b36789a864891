"""Codecs of record batches, as Kafka's clients write and read them. Pure.

    none
    gzip     one member; read: several, with zeros behind
    snappy   written in xerial framing, as Java clients do: a header of 16 bytes, then
             blocks of 32 KiB, each after its length i32; read so or as one bare block (librdkafka)
    lz4      a frame of independent 64 KiB blocks without content checksum or size: Kafka's own
             readers refuse linked blocks
    zstd     one frame; read: several, skippable ones among them

A few bytes can claim to inflate to gigabytes. So inflation stops at the caller's limit and at the
ratio that valid records can reach (`inflation_limit`). Memory grows with the bytes actually
inflated.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, Protocol

import lz4.frame
from cramjam import DecompressionError, snappy

from tidelog.core.errors import CorruptMessageError, UnsupportedCompressionTypeError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class Codec(IntEnum):
    """Codec numbers as in bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


INFLATION_FREE_BYTES = 16 << 20
INFLATION_RATIO_MAX = 1032
"""Maximum ratio of deflate. lz4 ends at 255, snappy at 22; zstd is bounded by block size only."""
LEVELS = {Codec.GZIP: range(1, 10), Codec.LZ4: range(1, 18), Codec.ZSTD: range(-131072, 23)}
"""Kafka's compression.gzip.level, lz4.level and zstd.level (KIP-390)."""

_CHUNK_BYTES = 4 << 20
_FRAMES_MAX = 100
"""Maximum number of gzip members or zstd frames of a batch; each costs as much as a small batch."""
_GZIP_WBITS = 31
_GZIP_LEVEL = 6
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 << 10
_LENGTH = struct.Struct(">i")
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
"""128 MiB, the largest window of any level, and the limit of Kafka's own readers."""
_CUT_SHORT = "compressed records are cut short or followed by other bytes"


def codec_named(name: str, *, level: int | None = None) -> Codec:
    """Look up the codec of a `compression.type`; raises `UnsupportedCompressionTypeError`.

    Raises `ValueError` when the codec does not have this level; None is the codec's default.
    """
    for codec in Codec:
        if codec.name.lower() == name:
            if level is not None and level not in LEVELS.get(codec, ()):
                raise ValueError(f"{name} has no compression level {level}")
            return codec
    raise _unsupported_error(repr(name))


def inflation_limit(compressed_bytes: int) -> int:
    """Maximum size that compressed records of this size may inflate to, for every reader."""
    return max(INFLATION_FREE_BYTES, INFLATION_RATIO_MAX * compressed_bytes)


def compress(codec: Codec, data: bytes, *, level: int | None = None) -> bytes:
    """Compress `data` with `codec`, at one of its `LEVELS` or its default level."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return zlib.compress(data, _GZIP_LEVEL if level is None else level, _GZIP_WBITS)
        case Codec.SNAPPY:
            return _compress_snappy(data)
        case Codec.LZ4:
            return _compress_lz4(data, level or 0)
        case Codec.ZSTD:
            return zstd.compress(data, level)


def compress_readably(codec: Codec, data: bytes) -> tuple[Codec, bytes]:
    """Compress `data` with `codec`, or with gzip where readers would refuse to inflate the result.

    For records that were compressed together with others before: zstd may compress the remaining
    ones beyond `inflation_limit`.
    """
    packed = compress(codec, data)
    if len(data) <= inflation_limit(len(packed)):
        return codec, packed
    return Codec.GZIP, compress(Codec.GZIP, data)


def decompress(codec_id: int, data: bytes | memoryview, *, max_bytes: int) -> bytes:
    """Decompress `data` to at most `max_bytes`, or `inflation_limit` if that is less.

    Raises `UnsupportedCompressionTypeError`, and `CorruptMessageError` when the data is damaged,
    incomplete, followed by other bytes, or inflates beyond the limit (`TooLargeInflatedError` where
    that is `max_bytes`).
    """
    limit = _Limit.of(max_bytes=max_bytes, compressed_bytes=len(data))
    try:
        match codec_id:
            case Codec.NONE:
                return bytes(data)
            case Codec.GZIP:
                return _inflate_all(
                    lambda: zlib.decompressobj(_GZIP_WBITS), data, limit, padding=b"\0"
                )
            case Codec.SNAPPY:
                return _decompress_snappy(memoryview(data), limit)
            case Codec.LZ4:
                return _inflate(lz4.frame.LZ4FrameDecompressor(), data, limit)[0]
            case Codec.ZSTD:
                return _inflate_all(
                    lambda: zstd.ZstdDecompressor(options=_ZSTD_OPTIONS), data, limit
                )
    except (zlib.error, RuntimeError, DecompressionError, zstd.ZstdError) as error:
        raise CorruptMessageError(f"compressed records are damaged: {error}") from error
    raise _unsupported_error(str(codec_id))


class TooLargeInflatedError(CorruptMessageError):
    """Compressed data that inflates beyond its reader's limit, and may be valid."""


class _Limit(NamedTuple):
    size_bytes: int
    reason: str
    error: type[CorruptMessageError]

    @classmethod
    def of(cls, *, max_bytes: int, compressed_bytes: int) -> _Limit:
        honest = inflation_limit(compressed_bytes)
        if max_bytes <= honest:
            return cls(max_bytes, "the most that is read at once", TooLargeInflatedError)
        reason = f"the most that {compressed_bytes} bytes of valid records inflate to"
        return cls(honest, reason, CorruptMessageError)

    def check(self, size_bytes: int) -> None:
        if size_bytes > self.size_bytes:
            raise self.error(
                f"compressed records inflate to more than {self.size_bytes} bytes, {self.reason}"
            )


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: bytes | memoryview, max_length: int, /) -> bytes: ...


def _inflate_all(
    inflater: Callable[[], _Inflater],
    data: bytes | memoryview,
    limit: _Limit,
    *,
    padding: bytes = b"",
) -> bytes:
    """Inflate all members or frames, and skip `padding` behind the last, as Kafka's readers do."""
    whole, rest = _inflate(inflater(), data, limit, is_last=False)
    frames = 1
    while rest.strip(padding):
        frames += 1
        if frames > _FRAMES_MAX:
            raise CorruptMessageError(f"compressed records are of more than {_FRAMES_MAX} frames")
        part, rest = _inflate(inflater(), rest, limit, size_before=len(whole), is_last=False)
        whole += part
    return whole


def _inflate(
    inflater: _Inflater,
    data: bytes | memoryview,
    limit: _Limit,
    *,
    size_before: int = 0,
    is_last: bool = True,
) -> tuple[bytes, bytes]:
    """Inflate one frame; also return what follows it, which is nothing if it `is_last`."""
    parts: list[bytes] = []
    size = size_before
    while not inflater.eof:
        part = inflater.decompress(data, min(_CHUNK_BYTES, limit.size_bytes - size + 1))
        if not part and not inflater.eof:
            raise CorruptMessageError(_CUT_SHORT)
        parts.append(part)
        size += len(part)
        limit.check(size)
        # Only zlib returns the bytes it did not read; the others keep them.
        data = getattr(inflater, "unconsumed_tail", b"")
    rest = inflater.unused_data or b""
    if rest and is_last:
        raise CorruptMessageError(_CUT_SHORT)
    return b"".join(parts), rest


def _compress_lz4(data: bytes, level: int) -> bytes:
    return bytes(
        lz4.frame.compress(
            data,
            compression_level=level,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            content_checksum=False,
            store_size=False,
        )
    )


def _compress_snappy(data: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, limit: _Limit) -> bytes:
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _decompress_block(data, 0, limit)
    parts: list[bytes] = []
    size, position = 0, len(_XERIAL_HEADER)
    while position != len(data):
        start = position + _LENGTH.size
        if start > len(data):
            raise CorruptMessageError(_CUT_SHORT)
        position = start + _LENGTH.unpack_from(data, position)[0]
        if not start <= position <= len(data):
            raise CorruptMessageError(_CUT_SHORT)
        parts.append(_decompress_block(data[start:position], size, limit))
        size += len(parts[-1])
    return b"".join(parts)


def _decompress_block(block: memoryview, size_before: int, limit: _Limit) -> bytes:
    """Decompress a bare snappy block; its claimed size is checked before memory is allocated."""
    limit.check(size_before + snappy.decompress_raw_len(block))
    return bytes(snappy.decompress_raw(block))


def _unsupported_error(what: str) -> UnsupportedCompressionTypeError:
    names = ", ".join(codec.name.lower() for codec in Codec)
    return UnsupportedCompressionTypeError(f"compression {what} is not supported; use {names}")
