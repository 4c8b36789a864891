"""Endpoints of a broker with one listener, as registrations and images hold them."""

from __future__ import annotations

from tidelog.metadata.endpoints import EndpointImage, endpoints_of, images_of
from tidelog.net.listeners import one_listener
from tidelog.v1.common_pb2 import BrokerEndpoint


def registered_at(address: str) -> list[BrokerEndpoint]:
    """The endpoints of a registration."""
    return endpoints_of(one_listener(address))


def reached_at(address: str) -> tuple[EndpointImage, ...]:
    """The endpoints of a broker's image."""
    return images_of(registered_at(address))
