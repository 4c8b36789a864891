"""`tidelog sql`: topics as tables of DuckDB, what it prints, and what a query cannot reach."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cli.commands import Done, Run, command_runner, without_logs
from tests.client.real_cluster import BOOTSTRAP, encoded
from tests.client.threaded_cluster import ThreadedCluster, threaded_cluster

from tidelog.cli.sql_tables import TopicTable
from tidelog.client import ports
from tidelog.client.arrow import SCHEMA
from tidelog.records.records import Record, encode_batch

ENOUGH = 64 << 20


class Shared:
    """The cluster as a transport that each command closes, and the next one uses."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self.call = cluster.call
        self.open_stream = cluster.open_stream

    async def close(self) -> None:
        """Nothing to release."""


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    """Nodes on a thread of their own: DuckDB scans on threads."""
    with without_logs(), threaded_cluster() as cluster:
        yield cluster


@pytest.fixture
def run(
    cluster: ThreadedCluster,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Run:
    monkeypatch.setattr(ports, "_grpc_transport", lambda _: Shared(cluster))
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", BOOTSTRAP)
    return command_runner(monkeypatch, capfdbinary)


def fill(cluster: ThreadedCluster, topic: str, *values: bytes, partitions: int = 1) -> None:
    cluster.create(topic, partitions=partitions)
    for number in range(partitions):
        cluster.append(topic, number, [encoded([value]) for value in values])


def lines(done: Done) -> list[str]:
    assert (done.code, done.stderr) == (0, "")
    return done.stdout.decode().splitlines()


def test_a_topic_has_the_columns_of_the_arrow_reader(cluster: ThreadedCluster, run: Run) -> None:
    cluster.create("a.b", partitions=2)
    record = Record(0, 5, b"k", b"v", (("h", b"x"), ("n", None)))
    cluster.append("a.b", 1, [encode_batch([record])])
    headers = '[{"key": "h", "value": "x"}, {"key": "n", "value": null}]'
    assert lines(run("sql", "select * from topic('a.b')")) == [
        "\t".join(SCHEMA.names),
        "k\tv\ta.b\t1\t0\t1970-01-01 00:00:00.005000+00:00\t0\t" + headers,
    ]
    (row,) = lines(run("sql", "from topic('a.b')", "--json"))
    assert json.loads(row) == {
        "key": "k",
        "value": "v",
        "topic": "a.b",
        "partition": 1,
        "offset": 0,
        "timestamp": "1970-01-01 00:00:00.005000+00:00",
        "timestampType": 0,
        "headers": [{"key": "h", "value": "x"}, {"key": "n", "value": None}],
    }


def test_topics_are_joined_and_each_is_scanned_as_often_as_it_is_named(
    cluster: ThreadedCluster, run: Run
) -> None:
    fill(cluster, "t", b"a", b"b", partitions=3)
    fill(cluster, "u", b"b", b"c")
    joined = "select t.partition from topic('t') t join topic('u') using (value) order by all"
    assert lines(run("sql", joined)) == ["partition", "0", "1", "2"]
    twice = "select count(*) from topic('t') a join topic('t') b using (partition, \"offset\")"
    assert lines(run("sql", twice))[1:] == ["6"]


def test_every_scan_has_the_records_that_were_there_at_the_beginning(
    cluster: ThreadedCluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cluster, "t", b"a", b"b")
    batches = TopicTable._batches

    def append_and_read(table: TopicTable) -> Iterator[Any]:
        cluster.append("t", 0, [encoded([b"late"])])
        return batches(table)

    monkeypatch.setattr(TopicTable, "_batches", append_and_read)
    query = "select (select count(*) from topic('t')), (select max(value) from topic('t'))"
    assert lines(run("sql", query))[1:] == ["2\tb"]
    assert [len(values) for values in cluster.values("t")] == [4]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "3 0 2"),
        (("-o", "earliest"), "3 0 2"),
        (("-o", "1"), "2 1 2"),
        (("-o", "99"), "0  "),
        (("-o", "latest"), "0  "),
        (("-o", "-1"), "1 2 2"),
        (("-o", "-99"), "3 0 2"),
        (("-o", "time:1970-01-01T01:00Z"), "2 1 2"),
        (("-o", "time:1990-01-01T01:00Z"), "0  "),
    ],
)
def test_a_query_begins_where_it_is_asked_to(
    cluster: ThreadedCluster, run: Run, options: tuple[str, ...], expected: str
) -> None:
    cluster.create("t")
    for hour in range(3):
        cluster.append("t", 0, [encode_batch([Record(0, hour * 3_600_000, None, b"v")])])
    query = 'select count(*), min("offset"), max("offset") from topic(\'t\')'
    assert lines(run("sql", query, *options))[1] == expected.replace(" ", "\t")


def test_chosen_partitions_are_read(cluster: ThreadedCluster, run: Run) -> None:
    fill(cluster, "t", b"a", partitions=3)
    query = "select partition from topic('t') order by all"
    assert lines(run("sql", query, "-p", "0,2"))[1:] == ["0", "2"]
    refused = run("sql", query, "-p", "7")
    assert (refused.code, refused.stdout) == (1, b"")
    assert refused.stderr == "tidelog: topic 't' has partitions 0 to 2, not [7]\n"


def test_values_that_are_no_text_are_escaped_or_base64(cluster: ThreadedCluster, run: Run) -> None:
    fill(cluster, "t", b"\xff\tx")
    query = "select value, key, [value] l from topic('t')"
    assert lines(run("sql", query, "-Z"))[1] == (
        '\\xff\\tx\tNULL\t[{"value": "/wl4", "value_encoding": "base64"}]'
    )
    (row,) = lines(run("sql", query, "--json"))
    assert json.loads(row) == {
        "value": "/wl4",
        "value_encoding": "base64",
        "key": None,
        "l": [{"value": "/wl4", "value_encoding": "base64"}],
    }


OTHER_TYPES: list[tuple[str, str, object]] = [
    ("1.50::decimal(9,2)", "1.50", 1.5),
    ("sum(2)", "2", 2),
    ("'nan'::double", "nan", "nan"),
    ("true", "true", True),
    ("null", "", None),
    ("interval 25 hour - interval 1 day", "-1 days 25:00:00", "-1 days 25:00:00"),
    ("interval '1 month 1 us'", "1 month 00:00:00.000001", "1 month 00:00:00.000001"),
    ("interval '-90 seconds'", "-00:01:30", "-00:01:30"),
    ("interval 0 day", "00:00:00", "00:00:00"),
    ("date '2026-11-23'", "2026-11-23", "2026-11-23"),
    ("map{'x': 1}", '[["x", 1]]', [["x", 1]]),
    ("{'a': 1.0}", '{"a": 1}', {"a": 1}),
]
"""Expressions, and how a table and JSON show them."""


def test_types_that_records_do_not_have_are_printed(run: Run) -> None:
    named = [f"{expression} c{number}" for number, (expression, _, _) in enumerate(OTHER_TYPES)]
    query = f"select {', '.join(named)}"
    assert lines(run("sql", query))[1].split("\t") == [cell for _, cell, _ in OTHER_TYPES]
    (row,) = lines(run("sql", query, "--json"))
    assert list(json.loads(row).values()) == [field for _, _, field in OTHER_TYPES]


def test_times_beyond_pythons_years_are_printed(run: Run) -> None:
    late = "make_timestamp(400000000000000000)"  # of the year 14645
    shown = "400000000000000000 us since 1970-01-01"
    query = f"select {late} a, [{late}] b, {{'at': {late}}} c, {late}::date d"

    cells = lines(run("sql", query))[1].split("\t")
    assert cells[:3] == [shown, json.dumps([shown]), json.dumps({"at": shown})]
    assert cells[3] == "4629629 days since 1970-01-01"
    (row,) = lines(run("sql", query, "--json"))
    assert json.loads(row)["a"] == shown


def test_columns_of_one_name_are_told_apart(run: Run) -> None:
    assert lines(run("sql", "select 1 a, 2 a, 3 a", "--json")) == ['{"a": 1, "a_1": 2, "a_2": 3}']


def test_the_query_may_come_from_standard_input(run: Run) -> None:
    assert lines(run("sql", "-", stdin=b"select 1 a;\n")) == ["a", "1"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("selec 1", 'Parser Error: syntax error at or near "selec"'),
        ("select offset from topic('t')", 'the column "offset" needs its double quotes'),
        ("select nokey from topic('t')", 'Binder Error: Referenced column "nokey" not found'),
        ("select * from nosuch", "Catalog Error: Table with name nosuch does not exist!"),
        ("select * from topic()", "topic() takes the name of one topic in single quotes"),
        ("select * from topic('t', 't')", "topic() takes the name of one topic"),
        ("select * from topic(lower('T'))", "topic() takes the name of one topic"),
        ("select topic('t')", "Binder Error: Function"),
        ("select 1; select 2", "one query at a time, not 2"),
        ("", "one query at a time, not 0"),
        ("create table x as select 1", "only a query is allowed"),
        ("set memory_limit = '9GB'", "only a query is allowed"),
        ("install httpfs", "only a query is allowed"),
        ("copy (select 1) to 'out.csv'", "only a query is allowed"),
        ("attach 'x.db'", "only a query is allowed"),
        ("select decode(value) from topic('t')", "Conversion Error: Failure in decode"),
    ],
)
def test_a_wrong_query_is_one_line_and_exit_code_1(
    cluster: ThreadedCluster, run: Run, query: str, message: str
) -> None:
    fill(cluster, "t", b"\xff")
    done = run("sql", query)
    assert (done.code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("tidelog: ")
    assert message in done.stderr
    assert list(cluster.nodes.topics) == ["t"]


def test_a_query_without_topics_needs_no_cluster(cluster: ThreadedCluster, run: Run) -> None:
    assert lines(run("sql", "select 1 a")) == ["a", "1"]
    assert not cluster.nodes.calls


def test_records_that_vanish_while_a_query_runs_are_its_error(
    cluster: ThreadedCluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cluster, "t", b"a", b"b")
    batches = TopicTable._batches

    def delete_and_read(table: TopicTable) -> Iterator[Any]:
        cluster.delete_before("t", 0, 1)
        return batches(table)

    monkeypatch.setattr(TopicTable, "_batches", delete_and_read)
    done = run("sql", "select count(*) from topic('t')")
    assert (done.code, done.stdout) == (1, b"")
    assert done.stderr == ("tidelog: records of t-0 from offset 0 on are gone: it holds 1 to 2\n")


@pytest.mark.parametrize(
    "query",
    [
        "from read_text('{path}')",
        "from read_csv('{path}')",
        "from '{path}'",
        "from glob('{path}*')",
        "from read_csv('https://127.0.0.1:1/x.csv')",
    ],
)
def test_a_query_reaches_no_files_and_no_network(run: Run, tmp_path: Path, query: str) -> None:
    path = tmp_path / "secret.csv"
    path.write_text("secret\n1\n")
    done = run("sql", query.format(path=path))
    assert (done.code, done.stdout) == (1, b"")
    assert "disabled by configuration" in done.stderr


def test_a_query_sees_no_variables_of_python(cluster: ThreadedCluster, run: Run) -> None:
    fill(cluster, "t", b"a")
    done = run("sql", "select * from topic('t'), \"table\"")  # `table` is one in `rows`
    assert (done.code, "Table with name table does not exist" in done.stderr) == (1, True)


def test_ctrl_c_in_a_read_ends_the_command(
    cluster: ThreadedCluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cluster, "t", b"a")

    def interrupted(*_: object, **__: object) -> Iterator[Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidelog.cli.sql_tables.iter_batches", interrupted)
    done = run("sql", "select * from topic('t')")
    assert (done.code, done.stdout) == (130, b"")


def test_a_query_leaves_no_thread_behind(cluster: ThreadedCluster, run: Run) -> None:
    fill(cluster, "t", *([b"x"] * 50))
    lines(run("sql", "select value from topic('t') limit 1"))
    run("sql", "select decode('\\xff'::blob), value from topic('t')")
    assert [one.name for one in threading.enumerate() if one.name == "tidelog-loop"] == []


class Endless(TopicTable):
    """A table of as many batches as somebody reads."""

    def __init__(self) -> None:
        super().__init__("t", "", {}, {})
        self.made = 0
        self.is_closed = False

    def _batches(self) -> Iterator[Any]:
        columns = {name: [None] * 1_000 for name in SCHEMA.names} | {
            "value": [b"x" * 1_000] * 1_000
        }
        try:
            while True:
                self.made += 1
                yield pa.RecordBatch.from_pydict(columns, schema=SCHEMA)
        finally:
            self.is_closed = True


def test_rows_come_while_records_are_read() -> None:
    from tidelog.cli.sql_query import rows  # late: what collection imports is never freed

    table = Endless()
    query = "select value from topic('t')"
    with closing(rows(query, {"t": table}, memory_bytes=ENOUGH)) as found:
        assert next(found).num_rows == 0
        received = sum(next(found).num_rows for _ in range(100))
        made = table.made
    assert received > 0
    assert made < 1_000
    assert table.is_closed


def test_a_query_that_needs_more_memory_than_it_has_says_so(
    run: Run,
) -> None:
    done = run("sql", "select list(range) from range(3000000)", "--memory", "16MiB")
    assert (done.code, done.stdout) == (1, b"")
    assert "Out of Memory Error" in done.stderr
    assert done.stderr.endswith("; --memory gives a query more\n")
    assert run("sql", "select 1", "--memory", "much").code == 2


def test_topics_are_found_wherever_a_query_names_them() -> None:
    from tidelog.cli.sql_query import topics_of  # late, as above

    query = """
        with x as (from TOPIC('b')) -- topic('no')
        select 'topic(''no'')' from topic('a'), x
        where key in (select key from topic('c.d')) and exists (from topic('a'))
    """
    assert sorted(topics_of(query)) == ["a", "b", "c.d"]
    assert topics_of("summarize from topic('a')") == ["a"]
