"""Requests and record bytes by client id, for metrics. Pure.

A client names itself, so the number of names is bounded: beyond it the client that was heard least
recently is forgotten, and counts from zero when it comes back, as after a restart of the broker.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

CLIENTS_MAX = 200
"""Maximum client ids with counters of their own."""


@dataclass(slots=True)
class ClientCounters:
    """Counters of one client id since it was first heard."""

    produce_requests: int = 0
    produce_bytes: int = 0
    """Size of its Produce requests."""
    fetch_requests: int = 0
    """Fetch requests answered; a long poll without news is answered when it ends."""
    fetch_bytes: int = 0
    """Size of the records in the answers."""


class ClientTraffic:
    """The counters of the clients that were heard most recently."""

    def __init__(self, *, clients_max: int = CLIENTS_MAX) -> None:
        self._clients_max = clients_max
        self._clients: dict[str, ClientCounters] = {}

    def produced(self, client_id: str, size_bytes: int) -> None:
        """Count a Produce request of this size."""
        counters = self._heard(client_id)
        counters.produce_requests += 1
        counters.produce_bytes += size_bytes

    def fetched(self, client_id: str, size_bytes: int) -> None:
        """Count the answer to a Fetch request, with records of this size."""
        counters = self._heard(client_id)
        counters.fetch_requests += 1
        counters.fetch_bytes += size_bytes

    def stats(self) -> Mapping[str, Mapping[str, float]]:
        """Return each counter by its name, and in it by client id."""
        return {
            one.name: {
                name: getattr(counters, one.name) for name, counters in self._clients.items()
            }
            for one in fields(ClientCounters)
        }

    def _heard(self, client_id: str) -> ClientCounters:
        counters = self._clients.pop(client_id, None)
        if counters is None:
            counters = ClientCounters()
            if len(self._clients) >= self._clients_max:
                del self._clients[next(iter(self._clients))]
        self._clients[client_id] = counters
        return counters
