"""Where an append put its batches. Decides nothing."""

from __future__ import annotations

from typing import NamedTuple


class AppendResult(NamedTuple):
    """`last_offset` is inclusive. A duplicate is where it was, appended once."""

    base_offset: int
    last_offset: int
    log_end_offset: int
    log_append_time_ms: int | None = None
    is_duplicate: bool = False
