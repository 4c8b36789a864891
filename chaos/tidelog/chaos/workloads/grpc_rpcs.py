"""Every RPC that a node serves, by the descriptors of its services: a new one is one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from tidelog.v1 import (
    admin_pb2,
    controller_pb2,
    coordinator_pb2,
    data_pb2,
    raft_pb2,
    transactions_pb2,
)

_FILES: tuple[FileDescriptor, ...] = (
    data_pb2.DESCRIPTOR,
    admin_pb2.DESCRIPTOR,
    controller_pb2.DESCRIPTOR,
    coordinator_pb2.DESCRIPTOR,
    transactions_pb2.DESCRIPTOR,
    raft_pb2.DESCRIPTOR,
    health_pb2.DESCRIPTOR,
    reflection_pb2.DESCRIPTOR,
)
# Who serves what, by the role of a node; all serve the rest.
BROKERS_ONLY = frozenset(
    f"tidelog.v1.{name}" for name in ("Broker", "Coordinator", "TransactionCoordinator", "Admin")
)
CONTROLLERS_ONLY = frozenset({"tidelog.v1.Controller", "tidelog.v1.RaftPeer"})


@dataclass(frozen=True, slots=True)
class Rpc:
    """An RPC; `path` as on the wire."""

    service: str
    path: str
    request: type[Message]
    response: type[Message]
    is_request_stream: bool
    is_response_stream: bool

    @property
    def name(self) -> str:
        """Without its service."""
        return self.path.rpartition("/")[2]


def rpcs() -> tuple[Rpc, ...]:
    """Every RPC, in the order of the files."""
    return tuple(_find_rpcs())


def _find_rpcs() -> Iterator[Rpc]:
    for file in _FILES:
        for service in file.services_by_name.values():
            for method in service.methods:
                yield Rpc(
                    service=service.full_name,
                    path=f"/{service.full_name}/{method.name}",
                    request=GetMessageClass(method.input_type),
                    response=GetMessageClass(method.output_type),
                    is_request_stream=method.client_streaming,
                    is_response_stream=method.server_streaming,
                )
