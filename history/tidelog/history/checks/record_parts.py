"""Parts of a record beside its value: a difference between those sent and those read. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.history.history import Parts


def difference(sent: Parts, read: Parts) -> str:
    """Describe what of a record was altered; empty: nothing that both sides know of."""
    return ", ".join(_differences(sent, read))


def _differences(sent: Parts, read: Parts) -> Iterator[str]:
    if sent.is_null != read.is_null:
        yield f"its value {_nullness(sent)} null when sent, and {_nullness(read)} when read"
    if sent.key != read.key:
        yield f"its key was {sent.key!r}, and is {read.key!r}"
    if sent.headers != read.headers:
        yield f"its headers were {sent.headers!r}, and are {read.headers!r}"
    if None not in (sent.timestamp_ms, read.timestamp_ms) and (
        sent.timestamp_ms != read.timestamp_ms
    ):
        yield f"its timestamp was {sent.timestamp_ms}, and is {read.timestamp_ms}"
    if sent.codec and read.codec and sent.codec != read.codec:
        yield f"its codec was {sent.codec}, and is {read.codec}"


def _nullness(parts: Parts) -> str:
    return "is" if parts.is_null else "is not"
