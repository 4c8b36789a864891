"""Codecs one by one: what other writers write is read, what claims too much is refused."""

from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
from cramjam import snappy

from tidelog.core.errors import CorruptMessageError, UnsupportedCompressionTypeError
from tidelog.records.compression import (
    INFLATION_FREE_BYTES,
    INFLATION_RATIO_MAX,
    LEVELS,
    Codec,
    codec_named,
    compress,
    decompress,
)
from tidelog.records.records import Record, encode_batch, iter_records

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS = [codec for codec in Codec if codec is not Codec.NONE]
DATA = bytes(range(256)) * 1000
XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def xerial(*blocks: bytes) -> bytes:
    return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("data", [b"", b"x", DATA], ids=len)
def test_what_was_packed_is_unpacked(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), max_bytes=len(data)) == data
    assert decompress(codec, memoryview(compress(codec, data)), max_bytes=1 << 20) == data


@pytest.mark.parametrize("codec", PACKERS)
def test_data_of_many_chunks_is_unpacked_whole(codec: Codec) -> None:
    data = random.Random(3).randbytes(1_500_000) + bytes(3_000_000) + DATA
    assert decompress(codec, compress(codec, data), max_bytes=len(data)) == data


@pytest.mark.parametrize("codec", PACKERS)
def test_more_than_the_reader_takes_is_refused(codec: Codec) -> None:
    packed = compress(codec, bytes(1 << 22))
    assert len(decompress(codec, packed, max_bytes=1 << 22)) == 1 << 22
    with pytest.raises(CorruptMessageError, match=r"more than 4194303 bytes.*read at once"):
        decompress(codec, packed, max_bytes=(1 << 22) - 1)
    batch = encode_batch([Record(0, 5, None, bytes(1 << 20))], compression=codec)
    with pytest.raises(CorruptMessageError, match="more than 524288 bytes"):
        list(iter_records(batch, max_decompressed_bytes=1 << 19))


def test_more_than_honest_records_become_is_refused_whatever_the_reader_takes() -> None:
    whole = zstd.compress(bytes(INFLATION_FREE_BYTES))
    assert len(whole) * INFLATION_RATIO_MAX < INFLATION_FREE_BYTES
    assert len(decompress(Codec.ZSTD, whole, max_bytes=1 << 40)) == INFLATION_FREE_BYTES
    beyond = zstd.compress(bytes(INFLATION_FREE_BYTES + 1))
    with pytest.raises(CorruptMessageError, match=rf"than 16777216 bytes.* {len(beyond)} bytes of"):
        decompress(Codec.ZSTD, beyond, max_bytes=1 << 40)


def test_large_records_may_inflate_beyond_what_is_free() -> None:
    data = random.Random(4).randbytes(1 << 16) + bytes(INFLATION_FREE_BYTES)
    assert decompress(Codec.GZIP, compress(Codec.GZIP, data), max_bytes=1 << 26) == data


MIB = 1 << 20
ZEROS = bytes(MIB)


def gzip_bomb() -> bytes:
    """Blocks after a full flush stand alone, so they can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, again = (packer.compress(ZEROS) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * 1024


def lz4_bomb() -> bytes:
    packer = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX64KB)
    parts = [packer.begin(), *(packer.compress(ZEROS) for _ in range(1024)), packer.flush()]
    return b"".join(parts)


def zstd_bomb(*, window_log: int) -> bytes:
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: window_log})
    return b"".join(packer.compress(ZEROS) for _ in range(1024)) + packer.flush()


BOMBS: dict[str, Callable[[], tuple[Codec, bytes]]] = {
    "gzip": lambda: (Codec.GZIP, gzip_bomb()),
    "lz4": lambda: (Codec.LZ4, lz4_bomb()),
    "zstd": lambda: (Codec.ZSTD, zstd_bomb(window_log=21)),
    "zstd window": lambda: (Codec.ZSTD, zstd_bomb(window_log=27)),
    "zstd claim": lambda: (Codec.ZSTD, bytes.fromhex("28b52ffda0ffffff7f")),
    "snappy": lambda: (Codec.SNAPPY, xerial(*[bytes(snappy.compress_raw(ZEROS))] * 1024)),
    "snappy claim": lambda: (Codec.SNAPPY, bytes.fromhex("ffffffff0f") + bytes(MIB)),
}
MEASURE = """
import sys
from pathlib import Path
from tidelog.records.compression import decompress
from tidelog.core.errors import CorruptMessageError

def peak_bytes():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10

bomb = Path(sys.argv[2]).read_bytes()
before = peak_bytes()
try:
    decompress(int(sys.argv[1]), bomb, max_bytes=32 << 20)
except CorruptMessageError as error:
    print(peak_bytes() - before, error)
"""


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("gzip", 1),
        ("lz4", 1),
        ("zstd", 1),
        ("zstd window", 2),  # what came out is kept once more, for later blocks to refer to
        ("zstd claim", 0),
        ("snappy", 1),
        ("snappy claim", 0),
    ],
)
def test_a_gigabyte_out_of_little_takes_no_more_memory_than_the_limit(
    tmp_path: Path, name: str, limits: int
) -> None:
    codec, bomb = BOMBS[name]()
    path = tmp_path / "bomb"
    path.write_bytes(bomb)
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(int(codec)), path],
        check=True,
        capture_output=True,
        text=True,
    )
    grown, refusal = run.stdout.split(maxsplit=1)
    assert "more than 33554432 bytes" in refusal or "too much memory" in refusal
    limit, chunk = 32 * MIB, 4 * MIB
    assert limits * limit - chunk < int(grown) < limits * limit + 2 * chunk + 2 * len(bomb)


@pytest.mark.parametrize("window_log", [27, 28])
def test_a_zstd_frame_may_look_back_128_mib_and_no_farther(window_log: int) -> None:
    window = bytes(((window_log - 10) << 3,))
    frame = bytes.fromhex("28b52ffd00") + window + bytes.fromhex("090000") + b"x"
    if window_log == 27:
        assert decompress(Codec.ZSTD, frame, max_bytes=1) == b"x"
    else:
        with pytest.raises(CorruptMessageError, match="too much memory"):
            decompress(Codec.ZSTD, frame, max_bytes=1)


@pytest.mark.parametrize("codec", PACKERS)
def test_cut_or_prolonged_data_is_refused(codec: Codec) -> None:
    packed = compress(codec, bytes(range(256)) * 400)
    for damaged in (packed[:-1], packed[:17], packed[:10], packed[:3], b"", packed + b"x"):
        with pytest.raises(CorruptMessageError):
            decompress(codec, damaged, max_bytes=1 << 20)


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1])
def test_a_snappy_block_that_leaves_its_frame_is_refused(length: int) -> None:
    with pytest.raises(CorruptMessageError, match="cut short"):
        decompress(Codec.SNAPPY, XERIAL + struct.pack(">i", length) + b"abc", max_bytes=9)


def test_lz4_frames_have_independent_blocks_as_kafkas_readers_demand() -> None:
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, random.Random(1).randbytes(200_000)))
    assert not info["block_linked"]
    assert not info["content_checksum"]
    assert info["block_size_id"] == lz4.frame.BLOCKSIZE_MAX64KB
    assert info["content_size"] == 0


def test_snappy_is_framed_as_java_reads_it() -> None:
    packed = compress(Codec.SNAPPY, DATA)
    blocks = [
        bytes(snappy.compress_raw(DATA[start : start + 32768]))
        for start in range(0, len(DATA), 32768)
    ]
    assert packed == xerial(*blocks)


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        (Codec.LZ4, lz4.frame.compress(DATA, block_linked=True, content_checksum=True)),
        (Codec.LZ4, lz4.frame.compress(DATA, block_size=lz4.frame.BLOCKSIZE_MAX4MB)),
        (Codec.GZIP, gzip.compress(DATA)),
        (Codec.SNAPPY, bytes(snappy.compress_raw(DATA))),
        (Codec.SNAPPY, xerial(*(bytes(snappy.compress_raw(DATA[at::2])) for at in (0, 1)))),
        (Codec.ZSTD, zstd.ZstdCompressor().compress(DATA, zstd.ZstdCompressor.FLUSH_FRAME)),
        (
            Codec.ZSTD,
            zstd.compress(DATA, options={zstd.CompressionParameter.checksum_flag: True}),
        ),
    ],
)
def test_frames_of_other_writers_are_read(codec: Codec, packed: bytes) -> None:
    assert len(decompress(codec, packed, max_bytes=len(DATA))) == len(DATA)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_every_level_of_kafkas_is_taken_and_no_other(codec: Codec) -> None:
    levels = LEVELS[codec]
    data = b"".join(b"%d," % random.Random(place).randrange(900) for place in range(5000))
    sizes = set()
    for level in (levels[0], levels[-1]):
        assert codec_named(codec.name.lower(), level=level) is codec
        packed = compress(codec, data, level=level)
        assert decompress(codec, packed, max_bytes=len(data)) == data
        sizes.add(len(packed))
    assert len(sizes) == 2
    for level in (levels[0] - 1, levels[-1] + 1):
        with pytest.raises(ValueError, match=f"no compression level {level}"):
            codec_named(codec.name.lower(), level=level)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
def test_a_codec_without_levels_takes_none(codec: Codec) -> None:
    with pytest.raises(ValueError, match="no compression level 1"):
        codec_named(codec.name.lower(), level=1)


def test_codecs_have_kafkas_names() -> None:
    assert [codec_named(name) for name in ("none", "gzip", "snappy", "lz4", "zstd")] == list(Codec)


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_an_unknown_codec_is_refused_with_those_there_are(codec_id: int) -> None:
    with pytest.raises(UnsupportedCompressionTypeError, match=r"none, gzip, snappy, lz4, zstd"):
        decompress(codec_id, b"x", max_bytes=9)
    with pytest.raises(UnsupportedCompressionTypeError, match="'brotli' is not supported"):
        codec_named("brotli")


SKIPPABLE = struct.pack("<II", 0x184D2A50, 4) + b"skip"


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        (Codec.GZIP, gzip.compress(DATA[:500]) + gzip.compress(DATA[500:])),
        (Codec.GZIP, gzip.compress(DATA) + bytes(8)),
        (Codec.GZIP, gzip.compress(DATA[:9]) + gzip.compress(b"") + gzip.compress(DATA[9:])),
        (Codec.ZSTD, zstd.compress(DATA[:500]) + zstd.compress(DATA[500:])),
        (Codec.ZSTD, SKIPPABLE + zstd.compress(DATA)),
        (Codec.ZSTD, zstd.compress(DATA[:9]) + SKIPPABLE + zstd.compress(DATA[9:]) + SKIPPABLE),
    ],
    ids=range(6),
)
def test_several_frames_are_read_as_one(codec: Codec, packed: bytes) -> None:
    assert decompress(codec, packed, max_bytes=len(DATA)) == DATA
    assert decompress(codec, memoryview(packed), max_bytes=1 << 20) == DATA
    with pytest.raises(CorruptMessageError, match="inflate to more than"):
        decompress(codec, packed, max_bytes=len(DATA) - 1)
    for wrong in (packed + b"x", packed[:-9]):
        with pytest.raises(CorruptMessageError):
            decompress(codec, wrong, max_bytes=1 << 20)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_no_more_frames_are_read_than_the_bound(codec: Codec) -> None:
    frame = compress(codec, b"x")
    assert decompress(codec, frame * 100, max_bytes=1 << 20) == b"x" * 100
    with pytest.raises(CorruptMessageError, match="more than 100 frames"):
        decompress(codec, frame * 101, max_bytes=1 << 20)
