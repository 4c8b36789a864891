"""Requests that only the cluster's own nodes may send, and only to an internal listener. Pure.

A client at another listener can neither be a voter nor a replica, nor decide for a broker: Raft's
messages, brokers' calls to the controllers, a follower's fetch and a forwarded request are refused
there before a handler sees them (decision 0041).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import ClusterAuthorizationFailedError
from tidelog.net.listeners import Listener
from tidelog.v1.data_pb2 import FetchRequest

_INTERNAL_SERVICES = frozenset({"tidelog.v1.Controller", "tidelog.v1.RaftPeer"})
_INTERNAL_METHODS = frozenset(
    {
        ("tidelog.v1.Broker", "WriteTransactionMarkers"),
        ("tidelog.v1.TransactionCoordinator", "AddPartitionsToTransactions"),
    }
)
# What operators' tools ask a controller; it changes nothing.
_OPEN_METHODS = frozenset({("tidelog.v1.Controller", "DescribeQuorum")})


def check_method(service: str, method: str, listener: Listener) -> None:
    """Errors: `KafkaError` CLUSTER_AUTHORIZATION_FAILED where the RPC is not for clients."""
    is_internal = service in _INTERNAL_SERVICES or (service, method) in _INTERNAL_METHODS
    if is_internal and (service, method) not in _OPEN_METHODS:
        _check(f"{service}.{method}", listener)


def check_request(request: object, listener: Listener) -> None:
    """Errors: as `check_method`, for a request in a node's name."""
    if listener.is_internal:
        return
    if isinstance(request, FetchRequest) and request.HasField("replica_id"):
        _check("a fetch with a replica_id", listener)
    if getattr(request, "forwarded", False) or getattr(request, "from_broker", False):
        _check("a forwarded request", listener)
    if getattr(request, "internal_topic", False):
        _check("the creation of an internal topic", listener)


def _check(what: str, listener: Listener) -> None:
    if not listener.is_internal:
        raise ClusterAuthorizationFailedError(
            f"{what} is for the cluster's own nodes, and listener {listener.name} is for clients: "
            "nodes call the listener that inter.broker.listener.name names",
        )
