"""Numbers of heartbeats whose protocol has none: those of Kafka's own clients. Pure.

They have one request at a time on a connection that keeps order, so a request names, without saying
it, the newest assignment that was answered on its connection (decision 0049). The first request of
a connection names none: it may have been written before answers of another one came. Partitions
that it owns count once the member knows the newest assignment and says that they are the same. A
client has one connection at a time: what comes of an earlier one comes late, and changes nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import replace

from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat, Reply
from tidelog.broker.coordinator.consumer_member import JOINING
from tidelog.broker.coordinator.consumer_sessions import Answered


def is_late(connection: int, newest: Answered | None) -> bool:
    """True for a request of a connection that its client has given up for a later one."""
    return newest is not None and connection < newest.connection


def numbered(request: Heartbeat, connection: int, newest: Answered | None) -> Heartbeat:
    """Fill in what a request says without saying it; `newest` is the member's newest answer."""
    if newest is None or newest.connection != connection or request.epoch <= JOINING:
        return request
    owned = newest.owned if request.owned is None else request.owned
    return replace(request, version=newest.version, owned=owned)


def answered(
    request: Heartbeat, reply: Reply, connection: int, newest: Answered | None
) -> Answered:
    """Note an answer to a request as `numbered` returned it."""
    if newest is not None and is_late(connection, newest):
        return newest
    is_first = newest is None or newest.connection != connection
    is_same = newest is not None and newest.version == reply.version
    return Answered(connection, reply.version, request.owned if is_first or is_same else None)
