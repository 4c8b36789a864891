"""Names of the other ends of TCP connections, as gRPC has them. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

_MAPPED = "::ffff:"
"""Beginning of an IPv4 address at a socket of IPv6."""


def plain_host(host: str) -> str:
    """Return the address; an IPv4 address without the form it has at sockets of IPv6."""
    return host.removeprefix(_MAPPED)


def peer_name(host: str, port: int) -> str:
    """Return `ipv4:127.0.0.1:5000` or `ipv6:%5B::1%5D:5000`."""
    host = plain_host(host)
    return f"ipv6:%5B{host}%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"
