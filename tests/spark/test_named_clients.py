"""Kafka's options of every client in Spark: its name, and when its connections are idle."""

from __future__ import annotations

import pytest

from tidelog.spark.option_values import OptionError
from tidelog.spark.options import BATCH_READ, STREAM_READ, Options
from tidelog.spark.sink_options import parse_sink_options

HOST = {"bootstrap.servers": "h:1"}
INVALID = (
    ("kafka.client.id", "a b", "kafka.client.id is 1 to 128 of the characters a-z"),
    ("kafka.client.id", "", "kafka.client.id is 1 to 128"),
    ("kafka.client.id", "x" * 129, "kafka.client.id is 1 to 128"),
    ("kafka.connections.max.idle.ms", "99", "from 100 to 86400000, not '99'"),
    ("kafka.connections.max.idle.ms", "soon", "from 100 to 86400000, not 'soon'"),
)


@pytest.mark.parametrize("known", [BATCH_READ, STREAM_READ], ids=["batch", "stream"])
def test_a_read_takes_a_name_and_an_idle_time(known: tuple[str, ...]) -> None:
    given = {"kafka.client.id": "lake-1", "kafka.connections.max.idle.ms": "5000"}
    connections = Options(given, known=known, purpose="a read").client().connections
    assert (connections.client_id, connections.connections_max_idle_ms) == ("lake-1", 5_000)
    default = Options({}, known=known, purpose="a read").client().connections
    assert (default.client_id, default.connections_max_idle_ms) == ("tidelog-reader", 540_000)


def test_a_write_takes_a_name_and_an_idle_time() -> None:
    given = {"kafka.client.id": "lake-1", "kafka.connections.max.idle.ms": "5000"}
    client = parse_sink_options({**HOST, **given}).client
    assert (client["client_id"], client["connections_max_idle_ms"]) == ("lake-1", 5_000)
    assert not {"client_id", "connections_max_idle_ms"} & set(parse_sink_options(HOST).client)


@pytest.mark.parametrize(("name", "value", "message"), INVALID)
def test_values_that_no_client_takes_are_refused_by_name(
    name: str, value: str, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        Options({name: value}, known=BATCH_READ, purpose="a batch read").client()
    with pytest.raises(OptionError, match=message):
        parse_sink_options({**HOST, name: value})
