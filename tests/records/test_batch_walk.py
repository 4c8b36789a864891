"""The walk over stored batches: how far they are good, and what is wrong with the next one."""

from __future__ import annotations

import pytest
from tests.log.cleaned_logs import but
from tests.log.partition_logs import END, batch

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import HEADER, HEADER_BYTES, Walk, parse_header, walk

BASE = 10
EPOCHS = {10: (3, 12), 12: (4, 13), 13: (6, END)}
BATCHES = [
    batch(b"a", b"b", base_offset=10, epoch=3),
    batch(b"c", base_offset=12, epoch=4),
    batch(b"d", b"e", base_offset=13, epoch=6),
]
ENDS = [(0, 10), (len(BATCHES[0]), 12), (len(BATCHES[0] + BATCHES[1]), 13)]
ALL = Walk(len(b"".join(BATCHES)), 15, None)


def walked(data: bytes, *, upper_bound: int = END, end_offset: int = END) -> Walk:
    return walk(
        data,
        next_offset=BASE,
        upper_bound=upper_bound,
        end_offset=end_offset,
        run_at=lambda offset: EPOCHS[offset],
    )


def test_all_good_batches_are_passed() -> None:
    assert walked(b"".join(BATCHES)) == ALL
    assert walked(b"") == Walk(0, BASE, None)


def test_a_batch_that_is_not_all_there_is_the_end_and_no_fault() -> None:
    data = b"".join(BATCHES)
    for size in range(len(data)):
        last = max(end for end in ENDS if end[0] <= size)
        assert walked(data[:size]) == Walk(*last, None)


@pytest.mark.parametrize("bound", range(9, 17))
def test_no_batch_reaches_the_bound(bound: int) -> None:
    position, next_offset, fault = walked(b"".join(BATCHES), upper_bound=bound, end_offset=15)
    passed = [end for end in [*ENDS[1:], ALL[:2]] if end[1] <= bound]
    assert (position, next_offset) == (passed[-1] if passed else ENDS[0])
    assert fault is None


def test_no_changed_byte_is_passed() -> None:
    for place, good in enumerate(BATCHES):
        for byte in range(len(good)):
            changed = bytearray(good)
            changed[byte] ^= 1 << byte % 8
            data = b"".join([*BATCHES[:place], changed, *BATCHES[place + 1 :]])
            position, next_offset, fault = walked(data)
            assert (position, next_offset) == ENDS[place]
            assert fault is not None or 8 <= byte < 12


def test_a_batch_left_out_reaches_no_farther_than_the_log() -> None:
    data = b"".join(BATCHES)
    assert walked(data, upper_bound=14, end_offset=15).fault is None
    assert walked(data, upper_bound=14, end_offset=14).fault is not None
    assert walked(data[:-1], end_offset=14).fault is not None


FIELDS = {
    "an offset before": {"base_offset": 9},
    "an offset behind": {"base_offset": 11},
    "an older epoch": {"partition_leader_epoch": 2},
    "a newer epoch": {"partition_leader_epoch": 4},
    "another magic": {"magic": 1},
    "offsets backwards": {"last_offset_delta": -1},
}


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_a_batch_under_a_right_crc_may_be_wrong_all_the_same(fields: dict[str, int]) -> None:
    found = walked(but(BATCHES[0], **fields) + BATCHES[1])
    assert found[:2] == ENDS[0]
    assert found.fault is not None


@pytest.mark.parametrize("length", [-(2**31), -12, 0, HEADER_BYTES - 13])
def test_a_batch_shorter_than_its_header_is_none(length: int) -> None:
    """Even where the CRC of nothing, which is 0, is the one it has."""
    good = parse_header(BATCHES[0])
    header = HEADER.pack(*good._replace(batch_length=length, crc=0, last_offset_delta=0))
    found = walked(header + bytes(200))
    assert found[:2] == ENDS[0]
    assert found.fault is not None
    with pytest.raises(CorruptMessageError):
        parse_header(header)


@pytest.mark.parametrize(
    "fields", [{"last_offset_delta": -1}, {"records_count": -1}, {"magic": 3}, {"batch_length": 48}]
)
def test_no_header_says_that(fields: dict[str, int]) -> None:
    good = parse_header(BATCHES[0])
    assert parse_header(HEADER.pack(*good)) == good
    with pytest.raises(CorruptMessageError):
        parse_header(HEADER.pack(*good._replace(**fields)))
