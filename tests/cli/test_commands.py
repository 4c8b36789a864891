"""The commands that talk to a cluster, against real nodes: output, errors, exit codes."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import pytest
from tests.cli.commands import CommandCluster, Done, Run
from tests.client.meddler import Mishap
from tests.client.real_cluster import encoded

from tidelog.cli.main import main
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2


def test_every_line_is_a_record_split_at_newlines_only(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    done = run("produce", "t", stdin=b"a\n\nb\r\x0b\x85c\nlast")
    assert done == Done(0, b"", "4 records acknowledged\n")
    assert cluster.values("t") == [[b"a", b"", b"b\r\x0b\x85c", b"last"]]


def test_many_lines_from_a_file_arrive_in_order(
    cluster: CommandCluster, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create("t")
    lines = [b"line %d" % n for n in range(50_000)]
    (tmp_path / "lines").write_bytes(b"\n".join(lines) + b"\n")
    with (tmp_path / "lines").open() as file:
        monkeypatch.setattr("tidelog.cli.produce.sys.stdin", file)
        monkeypatch.setattr(sys, "argv", ["tidelog", "produce", "t"])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0
    assert cluster.values("t") == [lines]


def test_key_is_what_stands_before_the_separator(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    assert run("produce", "t", "--key-separator", ":", stdin=b"k:v:w\nplain\n:x\n").code == 0
    pairs = [(r.key, r.value) for r in cluster.records("t")]
    assert pairs == [(b"k", b"v:w"), (None, b"plain"), (b"", b"x")]


def test_partition_and_acks_and_compression_are_passed_on(
    cluster: CommandCluster, run: Run
) -> None:
    cluster.create("t", partitions=3)
    arguments = ("--partition", "2", "--acks", "1", "--compression", "zstd")
    assert run("produce", "t", *arguments, stdin=b"x\n" * 1000).code == 0
    assert [len(values) for values in cluster.values("t")] == [0, 0, 1000]
    assert {request.acks for request in cluster.requests("Produce")} == {1}


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [(b"a\nb\n", "2 records were not acknowledged: "), (b"a\n", "1 record was not acknowledged: ")],
)
def test_records_that_were_refused_make_the_exit_code_1(
    cluster: CommandCluster, run: Run, lines: bytes, sentence: str
) -> None:
    cluster.create("t")
    cluster.nodes.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_TIMESTAMP))
    done = run("produce", "t", stdin=lines)
    assert done.code == 1
    error, last = done.stderr.splitlines()
    assert error.startswith(f"tidelog: {sentence}")
    assert last == "0 records acknowledged"


def test_line_without_end_is_refused(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    done = run("produce", "t", stdin=b"good\n" + b"x" * 3_000_000)
    assert done.code == 1
    assert "longer than 1048576 bytes" in done.stderr
    assert done.stderr.endswith("\n1 record acknowledged\n")


def test_consume_writes_value_bytes_and_newlines_only(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    cluster.append("t", 0, [encoded([b"a", b"", b"\xff\x00"])])
    done = run("consume", "t", "--from-beginning", "--timeout", "0.05")
    assert done == Done(0, b"a\n\n\xff\x00\n", "")


def test_consume_stops_after_the_records_asked_for(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    cluster.append("t", 0, [encoded([b"%d" % n for n in range(10)])])
    assert run("consume", "t", "--from-beginning", "--max-records", "3").stdout == b"0\n1\n2\n"
    assert run("consume", "t", "--max-records", "0").stdout == b""


def test_consume_starts_at_the_end_unless_told(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    cluster.append("t", 0, [encoded([b"old"])])
    assert run("consume", "t", "--timeout", "0.05") == Done(0, b"", "")


def test_consume_starts_at_a_time(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t", partitions=2)
    hours = [Record(0, hour * 3_600_000, None, b"hour %d" % hour) for hour in range(3)]
    cluster.append("t", 1, [encode_batch([hour]) for hour in hours])
    arguments = ("consume", "t", "--timeout", "0.05", "--from-time")
    assert run(*arguments, "1970-01-01T01:00Z") == Done(0, b"hour 1\nhour 2\n", "")
    assert run(*arguments, "1970-01-01T02:00:00.001+00:00").stdout == b""
    assert "is not a time" in run(*arguments, "noon").stderr
    assert run(*arguments, "1970-01-01T00:00Z", "--from-beginning").code == 2


@pytest.mark.parametrize(
    ("tail", "expected"),
    [("2", [b"3", b"3", b"4", b"4"]), ("4", 2 * [b"1", b"2", b"3", b"4"]), ("0", [])],
)
def test_consume_starts_before_the_end_of_each_partition(
    tail: str, expected: list[bytes], cluster: CommandCluster, run: Run
) -> None:
    cluster.create("t", partitions=2)
    for number in range(2):
        cluster.append("t", number, [encoded([b"%d" % n for n in range(5)])])
    done = run("consume", "t", "--timeout", "0.05", "--tail", tail)
    assert (done.code, sorted(done.stdout.split())) == (0, sorted(expected))


@pytest.mark.parametrize("other", [("--from-beginning",), ("--from-time", "1970-01-01")])
def test_consume_starts_in_one_way_only(other: tuple[str, ...], run: Run) -> None:
    done = run("consume", "t", "--tail", "1", *other)
    assert done.code == 2
    assert "only one of" in done.stderr


def test_json_tells_text_from_bytes(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t", partitions=2)
    records = [
        Record(0, 1234, "ä".encode(), b"\xff", (("h", b"x"),)),
        Record(0, 1234, None, None, (("h", None),)),
    ]
    cluster.append("t", 1, [encode_batch(records)])
    arguments = ("--from-beginning", "--partition", "1", "--json", "--timeout", "0.05")
    first, second = map(json.loads, run("consume", "t", *arguments).stdout.splitlines())
    assert first == {
        "topic": "t",
        "partition": 1,
        "offset": 0,
        "timestamp": 1234,
        "key": "ä",
        "value": base64.b64encode(b"\xff").decode(),
        "value_encoding": "base64",
        "headers": [{"key": "h", "value": "x"}],
    }
    assert (second["key"], second["value"]) == (None, None)
    assert second["headers"] == [{"key": "h", "value": None}]


def test_a_topic_gets_more_partitions(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t", partitions=2, replicas=1)
    done = run("topics", "alter", "t", "--partitions", "5", "--replica-assignment", "1,2,3,1,2")
    assert (done.code, done.stdout) == (0, b"t has 5 partitions now\n")
    (asked,) = cluster.requests("CreatePartitions")[0].topics
    named = [(one.partition, list(one.broker_ids)) for one in asked.assignments]
    assert named == [(2, [3]), (3, [1]), (4, [2])]
    assert run("topics", "alter", "t", "--partitions", "5").code == 1
    bad = run("topics", "alter", "t", "--partitions", "9", "--replica-assignment", "1:x")
    assert (bad.code, "broker ids" in bad.stderr) == (2, True)


def test_a_topic_is_created_on_the_brokers_named(cluster: CommandCluster, run: Run) -> None:
    assert run("topics", "create", "t", "--replica-assignment", "3:1,1:2").code == 0
    (asked,) = cluster.requests("CreateTopics")[0].topics
    assert [list(one.broker_ids) for one in asked.assignments] == [[3, 1], [1, 2]]
    assert (asked.partitions, asked.replication_factor) == (0, 0)


def test_topics_are_created_listed_described_and_deleted(cluster: CommandCluster, run: Run) -> None:
    created = run("topics", "create", "t", "--partitions", "2", "--replication-factor", "1")
    assert (created.code, created.stderr) == (0, "")
    assert run("topics", "list", "--names").stdout == b"t\n"
    cluster.kill(cluster.nodes.topics["t"].partitions[1].leader_id or 0)
    described = json.loads(run("topics", "describe", "t", "--json").stdout)
    assert list(described) == ["name", "topic_id", "configs", "partitions"]
    assert described["partitions"][1]["leader"] is None
    assert described["partitions"][1]["high_watermark"] is None
    assert list(described["partitions"][0]) == [
        *("partition", "leader", "leader_epoch", "replicas", "isr"),
        *("elr", "last_known_leader", "damaged", "offline"),
        *("high_watermark", "log_start_offset", "log_end_offset", "size_bytes"),
    ]
    assert b"none" in run("topics", "describe", "t").stdout
    assert run("topics", "delete", "t").code == 0
    assert run("topics", "list", "--names").stdout == b""


def test_of_topics_deleted_each_has_its_line(cluster: CommandCluster, run: Run) -> None:
    cluster.create("a")
    cluster.create("b")
    done = run("topics", "delete", "a", "nosuch", "b")
    assert (done.code, done.stdout) == (1, b"deleted a\ndeleted b\n")
    assert done.stderr.startswith("nosuch: ")
    assert cluster.nodes.topics == {}


def test_partitions_that_refuse_a_deletion_are_named(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t", partitions=2)
    for number in range(2):
        cluster.append("t", number, [encoded([b"a"])])
    refusal = Mishap("DeleteRecords", code=common_pb2.OFFSET_OUT_OF_RANGE)
    cluster.nodes.mishaps.append(refusal)
    done = run("topics", "delete-records", "t", "--before", "1")
    assert done.code == 1
    (refused,), (deleted,) = done.stderr.splitlines(), done.stdout.decode().splitlines()
    assert {refused.partition(":")[0], deleted.partition(" ")[0]} == {"t-0", "t-1"}
    assert deleted.endswith("begins at offset 1")


def test_records_are_deleted_below_an_offset(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t", partitions=3)
    for number in range(3):
        cluster.append("t", number, [encoded([b"a", b"b", b"c"])])
    done = run("topics", "delete-records", "t", "--before", "2", "--partition", "1")
    assert done == Done(0, b"t-1 begins at offset 2\n", "")
    assert [one.start_offset for one in cluster.nodes.topics["t"].partitions] == [0, 2, 0]
    assert run("topics", "delete-records", "t", "--before", "-1").code == 0
    assert [one.start_offset for one in cluster.nodes.topics["t"].partitions] == [3, 3, 3]


def test_configs_are_set_described_and_deleted(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    done = run("configs", "set", "t", "segment.bytes=1000", "retention.ms=-1")
    assert done == Done(0, b"set segment.bytes=1000, retention.ms=-1 of t\n", "")
    done = run("configs", "set", "--cluster", "flush.ms=5", "retention.ms=7")
    assert done == Done(0, b"set flush.ms=5, retention.ms=7 of the cluster\n", "")
    described = json.loads(run("configs", "describe", "t", "--json").stdout)
    assert list(described) == ["topic", "configs"]
    assert [list(one) for one in described["configs"]] == [
        ["name", "value", "source", "default", "type", "doc"]
    ] * 3
    assert [(one["name"], one["value"], one["source"]) for one in described["configs"]] == [
        ("segment.bytes", "1000", "DYNAMIC_TOPIC_CONFIG"),
        ("retention.ms", "-1", "DYNAMIC_TOPIC_CONFIG"),
        ("flush.ms", "5", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    ]
    done = run("configs", "delete", "t", "segment.bytes", "retention.ms")
    assert done == Done(0, b"deleted segment.bytes, retention.ms of t\n", "")
    assert run("configs", "delete", "--cluster", "flush.ms").code == 0
    assert cluster.nodes.image.topics["t"].configs == {}
    assert cluster.nodes.image.cluster_configs == {"retention.ms": "7"}


def test_configs_are_shown_as_a_table_of_what_is_set_or_of_all(
    cluster: CommandCluster, run: Run
) -> None:
    cluster.create("t")
    nothing = run("configs", "describe", "t")
    assert nothing == Done(
        0, b"nothing is set: all 21 configs are at their defaults, see --all\n", ""
    )
    assert run("configs", "set", "t", "segment.bytes=1000").code == 0
    assert run("configs", "describe", "t").stdout.decode().splitlines() == [
        "key\tvalue\tsource\tdefault",
        "segment.bytes\t1000\tDYNAMIC_TOPIC_CONFIG\t1073741824",
    ]
    rows = run("configs", "describe", "--cluster", "--all").stdout.decode().splitlines()
    assert len(rows) == 22
    assert rows[1].split() == ["segment.bytes", "1073741824", "DEFAULT_CONFIG", "1073741824"]
    assert json.loads(run("configs", "describe", "--cluster", "--json").stdout) == {
        "topic": None,
        "configs": [],
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("set",),
        ("set", "t"),
        ("set", "t", "retention.ms"),
        ("set", "t", "=5"),
        ("set", "t", "segment.bytes=7d"),
        ("set", "retention.ms=5", "flush.ms=5"),
        ("set", "t", "flush.ms=5", "flush.ms=6"),
        ("set", "--cluster", "t", "flush.ms=5"),
        ("delete", "t"),
        ("delete", "--cluster"),
        ("describe",),
        ("describe", "t", "--cluster"),
    ],
)
def test_wrong_usage_of_configs_has_exit_code_2_and_asks_nobody(
    cluster: CommandCluster, run: Run, arguments: tuple[str, ...]
) -> None:
    done = run("configs", *arguments)
    assert done.code == 2
    assert "Usage: " in done.stderr
    assert not cluster.nodes.calls


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("topics", "create", "old"), "topic 'old' already exists"),
        (("topics", "describe", "no"), "topic 'no' does not exist"),
        (("configs", "describe", "no"), "topic 'no' does not exist"),
        (("configs", "delete", "no", "flush.ms"), "topic 'no' does not exist"),
        (("configs", "set", "old", "flush.ms=x"), "flush.ms='x': must be a whole number from 0"),
        (("configs", "set", "--cluster", "flsh.ms=1"), "did you mean flush.ms?"),
        (("topics", "create", "t", "--bootstrap", "nonsense"), "'nonsense' is not host:port"),
        (("consume", "no"), "topic 'no' does not exist"),
        (("consume", "old", "--partition", "4"), "partitions 0 to 0, not 4"),
    ],
)
def test_error_is_one_line_and_exit_code_1(
    cluster: CommandCluster, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    cluster.create("old")
    done = run(*arguments)
    assert (done.code, done.stdout) == (1, b"")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert done.stderr.startswith("tidelog: ")


def test_unreachable_cluster_is_said(cluster: CommandCluster, run: Run) -> None:
    cluster.cut_off()
    done = run("topics", "list")
    assert done.code == 1
    assert "no broker answers at node1:9192" in done.stderr


def test_wrong_usage_has_exit_code_2(run: Run) -> None:
    assert run("topics", "create").code == 2
    assert run("nonsense").code == 2


def test_help_lists_every_command(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    for name in (b"cluster", b"topics", b"configs", b"produce", b"consume"):
        assert name in done.stdout


def test_a_reader_that_left_is_no_error(
    cluster: CommandCluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create("t")
    cluster.append("t", 0, [encoded([b"x"])])

    def leave(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("tidelog.cli.reading.write_all", leave)
    monkeypatch.setattr("tidelog.cli.pipes.os.dup2", lambda *_: None)
    assert run("consume", "t", "--from-beginning", "--timeout", "1") == Done(0, b"", "")
