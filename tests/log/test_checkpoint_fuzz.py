"""The readers of a log's small files take what was written and nothing else; see the fuzzer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.checkpoint_fuzz import FILES, again, run


def test_each_file_is_read_by_its_own_reader_alone() -> None:
    for data in FILES:
        assert [written for written in again(data).values() if written is not None] == [data]


@given(st.binary(max_size=400))
def test_noise_is_never_taken(data: bytes) -> None:
    assert set(again(data).values()) == {None}


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_stop_no_reader(seed: int) -> None:
    run(2_500, seed)


def test_every_single_changed_byte_of_a_sealed_file_is_seen() -> None:
    for data in (*FILES[:2], FILES[3], FILES[5]):
        for at in range(len(data)):
            changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
            assert set(again(changed).values()) == {None}, at
