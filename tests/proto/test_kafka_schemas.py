"""Schemas and what is generated of them: read, written, complete, imported only when used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.proto.kafka_values import MESSAGES, SHAPES, VERSIONS, class_of

import kafka_messages
import kafka_schemas
from kafka_notation import NotationError, parse, write
from tidelog.kafka.apis import APIS, request_class, response_class
from tidelog.kafka.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

PATHS = sorted(kafka_schemas.SCHEMAS.glob("*.schema"))
HEAD = "request 1 ARequest 0-3 flexible 2+"


def test_generated_code_is_that_of_the_schemas() -> None:
    assert kafka_messages.problems() == []


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_schema_is_read_as_it_was_written(path: Path) -> None:
    head, _, body = path.read_text().partition("\n\n")
    assert head.startswith(f"# kafka-clients {kafka_schemas.VERSION}, by tools/kafka_schemas.py;")
    assert write(parse(body)) == body


@pytest.mark.parametrize(
    "line",
    [
        *("  Name", "  Name string 9-", "  Name string null tag = 3", "      Deep int32"),
        *("request ARequest", "  struct", "  Name string = ", "  Name []"),
    ],
)
def test_line_that_is_not_in_the_notation_is_named(line: str) -> None:
    with pytest.raises(NotationError, match=r"^line 2: "):
        parse(f"{HEAD}\n{line}\n")


def test_comparison_finds_what_is_not_derived(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TIDELOG_KAFKA_JARS", raising=False)
    assert kafka_schemas.main(["--check"]) == 0
    assert "proto/kafka is not compared with its origin" in capsys.readouterr().err
    monkeypatch.setenv("TIDELOG_KAFKA_JARS", str(tmp_path))
    assert kafka_schemas.main(["--check"]) == 0
    assert f"{tmp_path}: proto/kafka is not compared" in capsys.readouterr().err
    assert kafka_schemas.main(["--check", "--jars", str(tmp_path)]) == 1
    fresh = {path.name: path.read_text() for path in kafka_schemas.SCHEMAS.glob("*.schema")}
    monkeypatch.setattr(kafka_schemas, "derived", lambda jar: fresh)
    assert kafka_schemas.problems(tmp_path) == []
    fresh["produce.schema"] += "more"
    del fresh["fetch.schema"]
    assert [line.split(":")[0] for line in kafka_schemas.problems(tmp_path)] == [
        "proto/kafka/fetch.schema",
        "proto/kafka/produce.schema",
    ]


def test_each_api_has_the_messages_that_the_table_says() -> None:
    assert {api.name for api in APIS.values()} == set(kafka_schemas.APIS)
    for key, api in APIS.items():
        for kind in (request_class(key), response_class(key)):
            assert kind.API_KEY == key == api.key
            assert list(kind.VERSIONS) == list(range(api.first, api.last + 1))
            assert list(kind.FLEXIBLE) == list(range(api.flexible_from, api.last + 1))


@pytest.mark.parametrize("name", MESSAGES)
def test_class_has_the_fields_of_all_versions(name: str) -> None:
    kind = class_of(name)
    assert len(kind.__struct_fields__) == len(SHAPES[name].structs[name])
    assert list(kind.VERSIONS) == [version for one, version in VERSIONS if one == name]
    assert kind() == kind()


def test_messages_are_imported_when_they_are_asked_for() -> None:
    script = (
        "import sys, tidelog.kafka.apis as apis\n"
        "before = {m for m in sys.modules if m.startswith('tidelog.kafka.messages.')}\n"
        "apis.request_class(0)\n"
        "after = {m for m in sys.modules if m.startswith('tidelog.kafka.messages.')}\n"
        "print(len(before), *sorted(after - before))\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "tidelog.kafka.messages.produce_request"]


@pytest.mark.parametrize("version", [0, 4, 9, 13])
def test_topic_that_was_written_alone_is_put_into_a_message(version: int) -> None:
    partition = MetadataResponsePartition(leader_id=3, replica_nodes=[1, 2])
    topic = MetadataResponseTopic(name="t", partitions=[partition])
    written = MetadataResponseTopic(encoded=topic.encode(version))
    both = MetadataResponse(topics=[topic, topic]).encode(version)
    assert MetadataResponse(topics=[written, topic]).encode(version) == both
