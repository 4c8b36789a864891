"""Handlers of Kafka's protocol that are loaded at their first request: each is there."""

from __future__ import annotations

import subprocess
import sys
from unittest.mock import MagicMock

from tidelog.kafka.apis import request_class
from tidelog.node.kafka_apis.admin_table import admin_rows
from tidelog.node.kafka_apis.groups_rows import group_rows
from tidelog.node.kafka_apis.loaded_later import LoadedLater

IMPORTED = "import sys, tidelog.node.server; print(*(m for m in sys.modules if 'kafka' in m))"


def test_each_row_has_its_handler() -> None:
    names = set()
    for row in (*admin_rows(MagicMock()), *group_rows(MagicMock(), MagicMock())):
        assert isinstance(row.handler, LoadedLater)
        api = request_class(row.key).__name__.removesuffix("Request")
        handler = row.handler.load()
        assert type(handler).__name__ == f"{api}Handler"
        assert row.handler.load() is handler
        names.add(api)
    assert len(names) == 27


def test_a_node_loads_none_of_them_before_it_serves() -> None:
    found = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, check=True)
    modules = found.stdout.decode().split()
    assert "tidelog.kafka.messages.produce_request" in modules
    later = ("admin_topics", "admin_configs", "groups_classic", "groups_described")
    assert not [name for name in modules if name.rpartition(".")[2] in later]
    assert len([name for name in modules if ".kafka.messages." in name]) <= 20
