"""A batch is skipped if, and only if, it is the one that was written last, as it was then."""

from __future__ import annotations

import pytest

from tidelog.spark.commit_markers import (
    Marker,
    MarkerError,
    StreamBatch,
    check_replay,
    is_written_already,
)

BATCH = StreamBatch("q", "run", 7)


@pytest.mark.parametrize(
    ("last", "expected"),
    [(None, False), (Marker(6, 1), False), (Marker(0, 1), False), (Marker(7, 1), True)],
)
def test_only_the_batch_that_was_written_last_is_skipped(
    last: Marker | None, expected: bool
) -> None:
    assert is_written_already(BATCH, last) is expected


def test_a_batch_before_the_last_one_is_refused() -> None:
    with pytest.raises(MarkerError, match="batch 7 of query q comes after its batch 8 was written"):
        is_written_already(BATCH, Marker(8, 1))


def test_a_skipped_batch_has_as_many_rows_as_were_written() -> None:
    check_replay(BATCH, Marker(7, 3), records=3)
    with pytest.raises(MarkerError, match="written with 3 rows and has 2 now"):
        check_replay(BATCH, Marker(7, 3), records=2)


def test_a_marker_is_read_as_it_was_stored() -> None:
    stored = Marker(7, 3).encode()
    assert stored == b'{"version": 1, "batchId": 7, "records": 3}'
    assert Marker.decode(stored) == Marker(7, 3)


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"7",
        b'{"version": 2, "batchId": 7, "records": 3}',
        b'{"version": 1, "batchId": "7", "records": 3}',
        b'{"version": 1, "batchId": 7}',
        b"[" * 900,
        b'{"version": 1, "batchId": 7, "records": 3}' + b" " * 1024,
        b"\xff",
    ],
)
def test_what_is_no_marker_is_said(stored: bytes) -> None:
    with pytest.raises(MarkerError, match="no commit marker of version 1"):
        Marker.decode(stored)
