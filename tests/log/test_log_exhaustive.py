"""Whatever is cut off, flipped or gone, a log opens and serves nothing that was not written.

A stride through what `python -m tests.log.damage_sweep` does byte by byte.
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests.log.damage_sweep import KINDS, Reference, cuts, deletions, flips, reference, sweep

FLIP_STRIDE, CUT_STRIDE = 397, 23
EVERY_KIND = set(KINDS)


@pytest.fixture(params=[True, False], ids=["closed", "killed"])
def is_clean(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def large(*, is_clean: bool) -> Reference:
    return await reference(size_bytes=256 << 10, batches=250, is_clean=is_clean)


def outcomes_of(counts: Counter[tuple[str, str]], kind: str) -> set[str]:
    return {result for of_kind, result in counts if of_kind == kind}


async def test_a_log_cut_anywhere_serves_whole_batches_that_were_written(is_clean: bool) -> None:
    known = await reference(size_bytes=12_000, batches=100, is_clean=is_clean)
    counts = await sweep(known, cuts(known, stride=CUT_STRIDE))
    assert outcomes_of(counts, ".log") == ({"damaged"} if is_clean else {"damaged", "truncated"})
    assert_log_alone_matters(counts, is_clean=is_clean)


async def test_a_flipped_bit_anywhere_is_never_served(is_clean: bool) -> None:
    known = await large(is_clean=is_clean)
    counts = await sweep(known, flips(known, stride=FLIP_STRIDE))
    found = outcomes_of(counts, ".log")
    assert found == ({"damaged"} if is_clean else {"damaged", "truncated", "untold"})
    assert_log_alone_matters(counts, is_clean=is_clean)


async def test_a_missing_file_stops_no_start_and_only_a_missing_log_costs_records(
    is_clean: bool,
) -> None:
    known = await large(is_clean=is_clean)
    counts = await sweep(known, deletions(known))
    for kind, result in counts:
        assert (result in ("damaged", "truncated")) == (".log" in kind)
    assert_log_alone_matters(counts, is_clean=is_clean)


def assert_log_alone_matters(counts: Counter[tuple[str, str]], *, is_clean: bool) -> None:
    """All kinds of files were there, and all but the log's can be made anew."""
    kinds = EVERY_KIND if is_clean else EVERY_KIND - {".clean"}
    assert kinds <= {kind for kind, _ in counts}
    for kind in kinds - {".log"}:
        assert outcomes_of(counts, kind) <= {"rebuilt", "unaffected"}
