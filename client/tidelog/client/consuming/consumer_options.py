"""The values of a consumer's options that are words, and their checks. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple

from tidelog.client.errors import ClientConfigError
from tidelog.client.offsets import EARLIEST, LATEST, Spec

RESETS: dict[str, Spec | None] = {"earliest": EARLIEST, "latest": LATEST, "none": None}
"""The start that each value of `auto_offset_reset` means; None: an error."""
_TRUNCATIONS = ("raise", "reset", None)
DEFAULT_MAX_RECORDS = 5_000


def checked_reset(
    auto_offset_reset: str, on_truncation: str | None, *, max_poll_records: int
) -> Spec | None:
    """Return the start that `auto_offset_reset` means; None: an error.

    Errors: ClientConfigError, which names the allowed values, for any of the options.
    """
    if auto_offset_reset not in RESETS:
        raise ClientConfigError(
            f'auto_offset_reset={auto_offset_reset!r}: "earliest", "latest", "none"'
        )
    if on_truncation not in _TRUNCATIONS:
        raise ClientConfigError(f'on_truncation={on_truncation!r}: "raise", "reset" or None')
    if max_poll_records < 1:
        raise ClientConfigError(f"max_poll_records={max_poll_records}: at least 1")
    return RESETS[auto_offset_reset]


class MemberOptions(NamedTuple):
    """Options of a consumer about itself as a member."""

    group_id: str
    instance_id: str | None
    assignor: str
    """Assignor of the coordinator; empty: any."""
    rack_id: str
    client_id: str


class PollOptions(NamedTuple):
    """Options of a consumer about commits and reads; times in milliseconds."""

    enable_auto_commit: bool
    auto_commit_interval_ms: int
    max_poll_interval_ms: int
