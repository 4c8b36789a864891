"""Connections of members to their coordinator, and what is pushed over them.

At most one push waits for each: a newer assignment replaces an older one, an error replaces both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from tidelog.broker.coordinator.consumer_heartbeats import Reply
from tidelog.core.errors import GroupMaxSizeReachedError, TidelogError


class MemberKey(NamedTuple):
    """A member of a group."""

    group_id: str
    member_id: str


class MemberStream:
    """A connection of a member."""

    def __init__(self, key: MemberKey) -> None:
        self.key = key
        self.is_replaced = False
        """True when the member has another one: this one ends."""
        self.news = asyncio.Event()
        """Set when something waits or the stream is replaced; its reader clears it."""
        self._pushed: Reply | TidelogError | None = None

    def push(self, pushed: Reply | TidelogError) -> None:
        """Have it sent; an error is not replaced by a reply."""
        if isinstance(self._pushed, TidelogError) and not isinstance(pushed, TidelogError):
            return
        self._pushed = pushed
        self.news.set()

    def take(self) -> Reply | TidelogError | None:
        """Take what waits; None: nothing."""
        pushed, self._pushed = self._pushed, None
        return pushed


class MemberStreams:
    """The newest connection of each member, `streams_max` at most."""

    def __init__(self, streams_max: int) -> None:
        self._max = streams_max
        self._by_member: dict[MemberKey, MemberStream] = {}

    def __len__(self) -> int:
        return len(self._by_member)

    def connect(self, key: MemberKey) -> MemberStream:
        """Take a new connection for the member's; an older one ends.

        Raises `GroupMaxSizeReachedError` when there are too many of others.
        """
        older = self._by_member.get(key)
        if older is None and len(self._by_member) >= self._max:
            raise GroupMaxSizeReachedError(
                f"this broker has {self._max} streams of members, its group.streams.max: close "
                "members that are not needed, or have more brokers"
            )
        if older is not None:
            older.is_replaced = True
            older.news.set()
        stream = self._by_member[key] = MemberStream(key)
        return stream

    def disconnect(self, stream: MemberStream) -> bool:
        """Forget a connection that ended; True if it was the member's newest."""
        if self._by_member.get(stream.key) is not stream:
            return False
        del self._by_member[stream.key]
        return True

    def find(self, key: MemberKey) -> MemberStream | None:
        """Find the member's connection."""
        return self._by_member.get(key)

    def push(self, key: MemberKey, pushed: Reply | TidelogError) -> None:
        """Push to the member's connection, if it has one."""
        stream = self.find(key)
        if stream is not None:
            stream.push(pushed)

    def all(self) -> Iterator[MemberStream]:
        """Iterate over all, as of now."""
        return iter(list(self._by_member.values()))
