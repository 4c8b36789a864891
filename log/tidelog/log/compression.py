"""Codecs of record batches: their Kafka numbers, and the ones this side has. Pure.

lz4 is written as independent 64 KiB blocks without content checksum or size: Kafka's own readers
refuse linked blocks. Nothing is inflated beyond the limit the caller names.
"""

from __future__ import annotations

import zlib
from enum import IntEnum

import lz4.frame

from tidelog.log.errors import CorruptMessageError, UnsupportedCompressionTypeError


class Codec(IntEnum):
    """Codec numbers as in bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


SUPPORTED = (Codec.NONE, Codec.GZIP, Codec.LZ4)
_GZIP_WBITS = 31
_GZIP_LEVEL = 6


def codec_named(name: str) -> Codec:
    """The codec of a `compression.type`; raises `UnsupportedCompressionTypeError`."""
    for codec in SUPPORTED:
        if codec.name.lower() == name:
            return codec
    raise _unsupported(repr(name))


def compress(codec: Codec, data: bytes) -> bytes:
    """`data` packed by `codec`; raises `UnsupportedCompressionTypeError`."""
    if codec == Codec.NONE:
        return data
    if codec == Codec.GZIP:
        packer = zlib.compressobj(level=_GZIP_LEVEL, wbits=_GZIP_WBITS)
        return packer.compress(data) + packer.flush()
    if codec == Codec.LZ4:
        return bytes(
            lz4.frame.compress(
                data,
                block_size=lz4.frame.BLOCKSIZE_MAX64KB,
                block_linked=False,
                content_checksum=False,
                store_size=False,
            )
        )
    raise _unsupported(codec.name.lower())


def decompress(codec_id: int, data: bytes | memoryview, *, max_bytes: int) -> bytes:
    """`data` unpacked, at most `max_bytes` of it.

    Raises `UnsupportedCompressionTypeError`, and `CorruptMessageError` when the data is damaged,
    incomplete, followed by something else, or inflates beyond `max_bytes`.
    """
    if codec_id == Codec.NONE:
        return bytes(data)
    if codec_id == Codec.GZIP:
        return _inflate(zlib.decompressobj(wbits=_GZIP_WBITS), data, max_bytes)
    if codec_id == Codec.LZ4:
        return _inflate(lz4.frame.LZ4FrameDecompressor(), data, max_bytes)
    known = {int(codec): codec.name.lower() for codec in Codec}
    raise _unsupported(known.get(codec_id, str(codec_id)))


def _inflate(
    inflater: zlib._Decompress | lz4.frame.LZ4FrameDecompressor,
    data: bytes | memoryview,
    max_bytes: int,
) -> bytes:
    try:
        plain = bytes(inflater.decompress(data, max_bytes + 1))
    except (zlib.error, RuntimeError) as error:
        raise CorruptMessageError(f"compressed records are damaged: {error}") from error
    if len(plain) > max_bytes:
        raise CorruptMessageError(f"compressed records inflate to more than {max_bytes} bytes")
    if not inflater.eof or inflater.unused_data:
        raise CorruptMessageError("compressed records are cut short or followed by other bytes")
    return plain


def _unsupported(what: str) -> UnsupportedCompressionTypeError:
    names = ", ".join(codec.name.lower() for codec in SUPPORTED)
    return UnsupportedCompressionTypeError(f"compression {what} is not supported; use {names}")
