"""Options that every client has: their ranges are checked before anything is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.client.real_cluster import BOOTSTRAP, RealCluster

from tidelog.client import Admin, ClientConfigError, Consumer, Producer, TidelogError, sync
from tidelog.client.arrow import TableWriter
from tidelog.client.connections import IDLE_MS_MAX, IDLE_MS_MIN, RETRIES_MAX, ConnectionConfig
from tidelog.net.client_ids import CLIENT_ID_CHARS_MAX

CLIENTS: dict[str, Callable[..., Any]] = {  # constructors
    "Producer": Producer,
    "Consumer": Consumer,
    "Admin": Admin,
    "TableWriter": TableWriter,
    "sync.Producer": sync.Producer,
    "sync.Consumer": sync.Consumer,
    "sync.Admin": sync.Admin,
    "RangeReader": lambda *_, transport, **options: ConnectionConfig(**options),
}
PRODUCERS = ("Producer", "TableWriter", "sync.Producer")
ADMINS = ("Admin", "sync.Admin")


def made(name: str, **options: object) -> Any:  # one of CLIENTS
    return CLIENTS[name](BOOTSTRAP, transport=RealCluster(), **options)


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(
    "client_id", ["", "a b", "a/b", "ä", "a\n", 7, None, "x" * (CLIENT_ID_CHARS_MAX + 1)]
)
async def test_a_client_id_that_no_broker_would_name_is_refused(name: str, client_id: Any) -> None:
    with pytest.raises(ClientConfigError, match=r"client_id=.*1 to 128 of the characters a-z"):
        made(name, client_id=client_id)


@pytest.mark.parametrize("name", CLIENTS)
async def test_kafkas_characters_and_the_longest_name_are_taken(name: str) -> None:
    for client_id in ("Orders_2.service-1", "x" * CLIENT_ID_CHARS_MAX):
        client = made(name, client_id=client_id)
        if name.startswith("sync"):
            client.close()


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("value", [IDLE_MS_MIN - 1, IDLE_MS_MAX + 1, True, 1e3, None, "1000"])
async def test_an_idle_time_outside_its_range_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ClientConfigError, match=r"connections_max_idle_ms=.* from 100 to 86400000"):
        made(name, connections_max_idle_ms=value)


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("value", [-1, 86_400_001, None])
async def test_a_wait_for_the_cluster_outside_its_range_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ClientConfigError, match=r"bootstrap_timeout_ms=.* from 0 to 86400000"):
        made(name, bootstrap_timeout_ms=value)


@pytest.mark.parametrize("name", [*PRODUCERS, *ADMINS])
@pytest.mark.parametrize("value", [-1, RETRIES_MAX + 1, True, None])
async def test_retries_outside_their_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ClientConfigError, match=r"retries=.* from 0 to 2147483647"):
        made(name, retries=value)


@pytest.mark.parametrize("name", PRODUCERS)
async def test_idempotence_without_retries_is_a_contradiction(name: str) -> None:
    with pytest.raises(ClientConfigError, match="needs retries of at least 1"):
        made(name, enable_idempotence=True, retries=0)


def test_the_error_is_the_projects_and_a_value_error() -> None:
    assert issubclass(ClientConfigError, TidelogError)
    assert issubclass(ClientConfigError, ValueError)
