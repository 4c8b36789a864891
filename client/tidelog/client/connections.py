"""The options of a client's connections, which every client has, and their ranges. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.client.errors import ClientConfigError
from tidelog.net.client_ids import CLIENT_ID_CHARS_MAX, is_client_id

CONNECTIONS_MAX_IDLE_MS = 540_000
"""Kafka's default: less than a broker's own limit, so that the client closes first."""
IDLE_MS_MIN, IDLE_MS_MAX = 100, 86_400_000
BOOTSTRAP_TIMEOUT_MS_MAX = 86_400_000
RETRIES_MAX = 2**31 - 1
"""The largest number of retries, and Kafka's default: the delivery timeout ends them before."""


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """The options of a client's connections; times in milliseconds.

    Raises ClientConfigError, which names the range, for a value outside of it.
    """

    client_id: str = "tidelog"
    """The name under which brokers count the client's requests: up to 128 of a-z, A-Z, 0-9, ._-"""
    connections_max_idle_ms: int = CONNECTIONS_MAX_IDLE_MS
    """A connection without a request for this long is closed; the next request opens another."""
    bootstrap_timeout_ms: int = 0
    """The time for which refusals by all addresses are retried before the first connection."""

    def __post_init__(self) -> None:
        """Check every range."""
        if not is_client_id(self.client_id):
            raise ClientConfigError(
                f"client_id={self.client_id!r:.80}: 1 to {CLIENT_ID_CHARS_MAX} of the characters "
                "a-z, A-Z, 0-9, '.', '_' and '-'"
            )
        check_range(
            "connections_max_idle_ms",
            self.connections_max_idle_ms,
            least=IDLE_MS_MIN,
            most=IDLE_MS_MAX,
        )
        check_range(
            "bootstrap_timeout_ms",
            self.bootstrap_timeout_ms,
            least=0,
            most=BOOTSTRAP_TIMEOUT_MS_MAX,
        )


def check_range(option: str, value: int, *, least: int, most: int) -> None:
    """Raise ClientConfigError unless the option's value is a whole number in this range."""
    if type(value) is not int or not least <= value <= most:
        raise ClientConfigError(f"{option}={value!r}: a whole number from {least} to {most}")
