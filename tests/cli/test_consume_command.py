"""`tidelog consume`: where it starts and ends, which topics and partitions, and in which form."""

from __future__ import annotations

import pytest
from tests.cli.commands import CommandCluster, Run
from tests.client.partition_transactions import Transactions
from tests.client.real_cluster import encoded
from tests.client.topic_changes import add_partitions

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.cli import pipes, reading
from tidelog.cli.record_format import InvalidFormatError, compiled_format
from tidelog.client.records import Record as ReadRecord
from tidelog.records.records import Record, encode_batch

START = ("-o", "earliest", "-e")


def fill(cluster: CommandCluster, topic: str, *, partitions: int = 1, records: int = 3) -> None:
    cluster.create(topic, partitions=partitions)
    for number in range(partitions):
        values = [b"%s-%d-%d" % (topic.encode(), number, n) for n in range(records)]
        cluster.append(topic, number, [encoded(values)])


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ("earliest", [0, 1, 2]),
        ("beginning", [0, 1, 2]),
        ("latest", []),
        ("end", []),
        ("1", [1, 2]),
        ("99", []),
        ("-1", [2]),
        ("-99", [0, 1, 2]),
        ("-0", []),
    ],
)
def test_consume_starts_where_it_is_asked_to_and_exits_at_the_end(
    cluster: CommandCluster, run: Run, offset: str, expected: list[int]
) -> None:
    fill(cluster, "t")
    done = run("consume", "t", "--offset", offset, "--exit-at-end")
    assert (done.code, done.stdout.split()) == (0, [b"t-0-%d" % n for n in expected])


def test_consume_starts_at_times_in_both_notations(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    hours = [Record(0, hour * 3_600_000, None, b"hour %d" % hour) for hour in range(3)]
    cluster.append("t", 0, [encode_batch([hour]) for hour in hours])
    for offset in ("time:1970-01-01T01:00Z", "s@3600000"):
        assert run("consume", "t", "-o", offset, "-e").stdout == b"hour 1\nhour 2\n"


@pytest.mark.parametrize("ends", [("--timeout", "3"), ()])
@pytest.mark.parametrize(
    "cluster", [{"groups": GroupConfig(offsets_topic_replication_factor=4)}], indirect=True
)
def test_a_member_without_a_coordinator_ends_with_the_reason_and_health_has_it(
    cluster: CommandCluster, run: Run, ends: tuple[str, ...]
) -> None:
    fill(cluster, "t")
    done = run("consume", "t", "--group", "g", "--from-beginning", *ends)
    assert (done.code, done.stdout) == (1, b"")
    assert "__consumer_offsets could not be created: replication factor 4" in done.stderr
    health = run("cluster", "health")
    assert (health.code, b"__consumer_offsets could not be created" in health.stdout) == (1, True)


def test_an_offset_below_the_log_start_is_the_log_start(cluster: CommandCluster, run: Run) -> None:
    fill(cluster, "t")
    cluster.delete_before("t", 0, 2)
    assert run("consume", "t", "-o", "0", "-e").stdout == b"t-0-2\n"


def test_chosen_partitions_of_several_topics_are_read(cluster: CommandCluster, run: Run) -> None:
    fill(cluster, "t", partitions=3, records=1)
    fill(cluster, "u", partitions=3, records=1)
    done = run("consume", "t", "-t", "u", "--partitions", "0,2", *START)
    assert sorted(done.stdout.split()) == [b"t-0-0", b"t-2-0", b"u-0-0", b"u-2-0"]


def test_a_pattern_reads_the_topics_that_match(cluster: CommandCluster, run: Run) -> None:
    for topic in ("orders.eu", "orders.us", "ordersXeu", "my-orders.eu", "x.y", "xay"):
        fill(cluster, topic, records=1)
    done = run("consume", r"^orders\.", "x.y", *START)
    assert sorted(done.stdout.split()) == [b"orders.eu-0-0", b"orders.us-0-0", b"x.y-0-0"]


def test_an_option_is_a_pattern_of_whole_names(cluster: CommandCluster, run: Run) -> None:
    for topic in ("orders.eu", "orders.us", "x.y"):
        cluster.create(topic)
        cluster.append(topic, 0, [encoded([topic.encode()])])
    done = run("consume", "--pattern", r"orders\.e.", *START)
    assert done.stdout == b"orders.eu\n"
    assert run("consume", "--pattern", "orders", "-e").code == 1
    both = run("consume", "x.y", "--pattern", r"(?i)ORDERS\.us", *START)
    assert sorted(both.stdout.split()) == [b"orders.us", b"x.y"]
    broken = run("consume", "--pattern", "(", *START)
    assert (broken.code, "--pattern (" in broken.stderr) == (2, True)


def test_a_pattern_without_topics_is_an_error_only_at_the_end(
    cluster: CommandCluster, run: Run
) -> None:
    fill(cluster, "t")
    done = run("consume", "^no", "-e")
    assert (done.code, done.stderr) == (1, "tidelog: no topic matches ^no\n")
    waited = run("consume", "^no", "--timeout", "10ms")
    assert (waited.code, waited.stderr) == (0, "no topic matches ^no yet\n")


def test_partitions_added_later_are_read(
    cluster: CommandCluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cluster, "t", records=1)
    write = pipes.write_all

    async def add() -> None:
        await add_partitions(cluster.nodes, "t", 2)
        await cluster.nodes.topics["t"].partitions[1].append(encoded([b"late"]))

    def write_and_add(data: bytes) -> None:
        if len(cluster.nodes.topics["t"].partitions) == 1:
            cluster.nodes.beside(add())
        write(data)

    monkeypatch.setattr(reading, "write_all", write_and_add)
    done = run("consume", "t", "-o", "earliest", "-c", "2", "--timeout", "1m")
    assert done.stdout == b"t-0-0\nlate\n"


def test_records_that_arrive_after_the_start_are_not_printed_at_the_end(
    cluster: CommandCluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cluster, "t")
    ends = reading._ends

    async def ends_and_append(*arguments: object) -> object:
        found = await ends(*arguments)  # type: ignore[arg-type]  # as they came
        await cluster.nodes.topics["t"].partitions[0].append(encoded([b"late"]))
        return found

    monkeypatch.setattr(reading, "_ends", ends_and_append)
    assert run("consume", "t", *START).stdout == b"t-0-0\nt-0-1\nt-0-2\n"


def test_forms_of_output(cluster: CommandCluster, run: Run) -> None:
    cluster.create("t")
    records = [Record(0, 5, b"k", b"v", (("h", b"x"), ("n", None))), Record(0, 6, None, None)]
    cluster.append("t", 0, [encode_batch(records)])
    for arguments, expected in {
        ("--format", r"%t %p %o %T %k %v\n"): b"t 0 0 5 k v\nt 0 1 6  \n",
        ("-f", r"%K:%S:%h:%s%%\x21\t\\\0", "-Z"): b"1:1:h=x,n=NULL:v%!\t\\\0-1:-1::NULL%!\t\\\0",
        ("--print-key",): b"k\tv\n\t\n",
        ("-K", ":", "--null"): b"k:v\nNULL:NULL\n",
        ("-D", r"\0"): b"v\0\0",
    }.items():
        assert run("consume", "t", *START, *arguments).stdout == expected, arguments


@pytest.mark.parametrize("text", ["%q", r"\q", "%", "\\"])
def test_a_format_with_an_unknown_letter_is_refused(run: Run, text: str) -> None:
    if len(text) == 1:
        assert compiled_format(text)(ReadRecord("t", 0, 0, 0, None, None, ())) == text.encode()
        return
    with pytest.raises(InvalidFormatError):
        compiled_format(text)
    assert run("consume", "t", "--format", text).code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a TOPIC"),
        (("t", "-o", "soon"), "'soon' is none of earliest, latest, N, -N"),
        (("t", "-o", "time:noon"), "--offset 'noon' is not a time"),
        (("t", "-o", "1", "--tail", "1"), "only one of --offset"),
        (("t", "--json", "--print-key"), "only one of --json"),
        (("t", "-p", "0,x"), "no list of partitions"),
        (("t", "--timeout", "1 fortnight"), "is not a duration"),
    ],
)
def test_wrong_usage_has_exit_code_2_and_asks_nobody(
    cluster: CommandCluster, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    done = run("consume", *arguments)
    assert (done.code, message in done.stderr) == (2, True)
    assert not cluster.nodes.calls


def test_a_topic_that_does_not_exist_is_an_error_and_is_not_created(
    cluster: CommandCluster, run: Run
) -> None:
    done = run("consume", "no")
    assert (done.code, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("tidelog: topic 'no' does not exist")
    assert cluster.nodes.topics == {}


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("read_committed", [b"0", b"2", b"4"]),
        ("read_uncommitted", [b"0", b"1", b"2", b"4", b"6", b"7"]),
    ],
)
def test_consume_reads_up_to_the_end_of_its_isolation_level_though_markers_print_nothing(
    cluster: CommandCluster, run: Run, level: str, expected: list[bytes]
) -> None:
    cluster.create("t")
    writers = [Transactions(cluster.nodes, number, at=("t", 0)) for number in (70, 71, 72)]
    cluster.append("t", 0, [encoded([b"0"])])
    cluster.run(writers[0].send(b"1"))
    cluster.run(writers[1].send(b"2"))
    cluster.run(writers[0].end(is_commit=False))  # offset 3
    cluster.append("t", 0, [encoded([b"4"])])
    cluster.run(writers[1].end(is_commit=True))  # offset 5
    cluster.run(writers[2].send(b"6", b"7"))
    done = run("consume", "t", *START, "--isolation-level", level)
    assert (done.code, done.stdout.split()) == (0, expected)
    if level == "read_uncommitted":
        cluster.run(writers[2].end(is_commit=True))
        assert run("consume", "t", *START).stdout.split() == expected, "ends with a marker"


def test_consume_refuses_a_level_that_does_not_exist(cluster: CommandCluster, run: Run) -> None:
    done = run("consume", "t", "--isolation-level", "committed")
    assert done.code == 2
    assert "read_committed" in done.stderr
