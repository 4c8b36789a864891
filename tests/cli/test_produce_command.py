"""`tidelog produce`: keys, headers, nulls, JSON and files become records, byte for byte."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.commands import CommandCluster, Run
from tests.client.real_cluster import encoded

from tidelog.cli import produce
from tidelog.cli.record_json import InputRecord, record_as_json, record_of_json
from tidelog.client.records import Record as ReadRecord
from tidelog.records.compression import Codec
from tidelog.records.records import Record, encode_batch


def test_headers_and_a_key_are_those_of_every_record(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    arguments = ("-H", "a=1=2", "--header", "b=", "-H", "null", "-k", "key")
    done = run("produce", "t", *arguments, stdin=b"x\ny\n")
    assert (done.code, done.stderr) == (0, "2 records acknowledged\n")
    assert [(r.key, r.value, r.headers) for r in cluster.records("t")] == [
        (b"key", value, (("a", b"1=2"), ("b", b""), ("null", None))) for value in (b"x", b"y")
    ]


def test_an_empty_value_is_a_tombstone_only_with_null(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    for null in ((), ("-Z",)):
        assert run("produce", "t", "-K", ":", *null, stdin=b"k:\n:v\n").code == 0
    pairs = [(r.key, r.value) for r in cluster.records("t")]
    assert pairs == [(b"k", b""), (b"", b"v"), (b"k", None), (None, b"v")]


def test_records_are_split_at_another_delimiter(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    assert run("produce", "t", "-D", r"\0", stdin=b"a\nb\0c\0").code == 0
    assert cluster.values("t") == [[b"a\nb", b"c"]]


def test_a_file_is_read_instead_of_standard_input(
    cluster: CommandCluster, run: Run, tmp_path: Path
) -> None:
    cluster.create("t")
    (tmp_path / "lines").write_bytes(b"a\nb")
    assert run("produce", "t", str(tmp_path / "lines"), stdin=b"no").code == 0
    assert run("produce", "-t", "t", str(tmp_path / "lines"), stdin=b"no").code == 0
    assert run("produce", "t", "-", stdin=b"c").code == 0
    assert cluster.values("t") == [[b"a", b"b", b"a", b"b", b"c"]]
    missing = run("produce", "t", str(tmp_path / "missing"))
    assert missing.code == 1
    assert "missing: No such file or directory" in missing.stderr


def test_what_consume_prints_as_json_is_produced_byte_for_byte(
    cluster: CommandCluster, run: Run
) -> None:
    originals = [
        Record(0, 1, b"k", b"v", (("h", b"x"), ("h", None), ("b", b"\xff"))),
        Record(0, 2, None, None),
        Record(0, 3, b"", b"", (("", b""),)),
        Record(0, 4, b"\xff\x00", b"\xfe"),
        Record(0, 5, 'ä\u2028\n"'.encode(), b"eHg="),
    ]
    cluster.create("a")
    cluster.append("a", 0, [encode_batch([one]) for one in originals])
    printed = run("consume", "a", "--json", "--offset", "earliest", "--exit-at-end")
    assert printed.code == 0
    cluster.create("b")
    assert run("produce", "b", "--json", stdin=printed.stdout).code == 0
    copies = [(r.timestamp, r.key, r.value, r.headers) for r in cluster.records("b")]
    assert copies == [(r.timestamp, r.key, r.value, r.headers) for r in originals]


content = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=100)
@given(
    content,
    content,
    st.lists(st.tuples(st.text(max_size=9), content), max_size=3),
    st.integers(0, 1 << 50),
)
def test_every_record_survives_json(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
    timestamp_ms: int,
) -> None:
    line = record_as_json(ReadRecord("t", 0, 7, timestamp_ms, key, value, tuple(headers)))
    assert b"\n" not in line
    assert record_of_json(line) == InputRecord(key, value, tuple(headers), timestamp_ms)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[1]", "[1] is no JSON object"),
        (b"{}", 'no field "value"'),
        (b'{"vlaue": "x"}', "unknown field 'vlaue'"),
        (b'{"value": 5}', '"value" is neither text nor null'),
        (b'{"value": "x", "value_encoding": "hex"}', "\"value_encoding\" is 'hex'"),
        (b'{"value": "?", "value_encoding": "base64"}', '"value" is not base64'),
        (b'{"value": "\\ud800"}', '"value" is not UTF-8'),
        (b'{"value": "x", "headers": "h"}', '"headers" is no list'),
        (b'{"value": "x", "headers": [{"value": "h"}]}', 'a header has no "key"'),
        (b'{"value": "x", "timestamp": -1}', '"timestamp" is no number'),
    ],
)
def test_a_line_that_is_no_record_is_named(
    cluster: CommandCluster, run: Run, line: bytes, message: str
) -> None:
    cluster.create("t")
    done = run("produce", "t", "--json", stdin=b'{"value": "good"}\n' + line + b"\n")
    assert done.code == 1
    first, last = done.stderr.splitlines()
    assert first.startswith(f"tidelog: line 2: {message}")
    assert last == "1 record acknowledged"


def test_a_topic_that_producing_created_is_said(cluster: CommandCluster, run: Run) -> None:
    done = run("produce", "new", stdin=b"x\n")
    assert (done.code, done.stderr) == (0, "created new: 1 partition\n1 record acknowledged\n")
    assert run("produce", "new", stdin=b"x\n").stderr == "1 record acknowledged\n"


@pytest.mark.parametrize("cluster", [{"auto_create": False}], indirect=True)
@pytest.mark.usefixtures("cluster")
def test_a_topic_that_may_not_be_created_is_an_error(run: Run) -> None:
    done = run("produce", "no", stdin=b"x\n")
    assert done.code == 1
    assert "created" not in done.stderr
    assert "topic 'no' does not exist" in done.stderr


def test_silence_is_said_after_a_second_and_ended_by_an_answer(
    cluster: CommandCluster, run: Run
) -> None:
    cluster.create("t")
    cluster.cut_off()

    async def return_later() -> None:
        await asyncio.sleep(2 * produce.SILENCE_S)
        cluster.nodes.cut_off.clear()

    cluster.begin(return_later())
    done = run("produce", "t", "-b", "node1:9192", stdin=b"x\n")
    assert done.code == 0
    assert done.stderr.splitlines() == [
        "no broker answers at node1:9192 yet; trying for 30 s",
        "1 record acknowledged",
    ]


def test_a_cluster_that_answers_is_not_called_silent(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    assert "no broker" not in run("produce", "t", stdin=b"x\n").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name one TOPIC"),
        (("t", "-t", "u", "file"), "name one FILE at most"),
        (("-t", "t", "-t", "u"), "name one TOPIC"),
        (("t", "--json", "-K", ":"), "--json lines name keys"),
        (("t", "-k", "a", "-K", ":"), "only one of --key and --key-delimiter"),
        (("t", "-K", ""), "--key-delimiter must not be empty"),
        (("t", "-D", r"\q"), "is no escape"),
        (("t", "-H", "=x"), "is not KEY=VALUE"),
    ],
)
def test_wrong_usage_has_exit_code_2_and_asks_nobody(
    cluster: CommandCluster, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    done = run("produce", *arguments)
    assert (done.code, message in done.stderr) == (2, True)
    assert not cluster.nodes.calls


def test_compressions_are_those_that_there_are() -> None:
    assert [codec.name.lower() for codec in Codec] == list(produce.COMPRESSIONS)


def test_json_lines_are_objects_that_other_programs_read(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    cluster.append("t", 0, [encoded([b"\xff"])])
    line = run("consume", "t", "-J", "-o", "earliest", "-e").stdout
    assert json.loads(line)["value_encoding"] == "base64"
