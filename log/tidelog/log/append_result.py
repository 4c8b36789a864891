"""Result of an append. Decides nothing."""

from __future__ import annotations

from typing import NamedTuple


class AppendResult(NamedTuple):
    """Offsets of an appended batch, `last_offset` inclusive. A duplicate keeps its offsets."""

    base_offset: int
    last_offset: int
    log_end_offset: int
    log_append_time_ms: int | None = None
    is_duplicate: bool = False
