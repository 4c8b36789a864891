"""`tidelog events`: output and exit codes, against journals whose clock is set."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP
from tests.virtual_loop import run_virtual

from tidelog.cli.main import main
from tidelog.client import ports
from tidelog.core.errors import UnreachableError
from tidelog.core.journal import Event, Kind
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.node.journal.node_journal import NodeJournal
from tidelog.v1.admin_pb2 import DescribeClusterResponse
from tidelog.v1.metadata_records_pb2 import BrokerFencingRecord, MetadataBatch, MetadataRecord
from tidelog.v1.methods import DESCRIBE_CLUSTER, LIST_EVENTS

BASE_MS = 1_700_000_000_000
LED = Event(
    Kind.LEADER,
    "broker 1 fenced: silent for 3000 ms",
    before="1",
    after="2",
    topic="flights",
    partition=0,
    leader_epoch=4,
    partition_epoch=7,
    metadata_offset=90,
)
REFUSED = Event(
    Kind.REFUSAL,
    "append refused: NOT_ENOUGH_REPLICAS: the ISR [2] is smaller",
    before="append refused",
    after="NOT_ENOUGH_REPLICAS",
    topic="flights",
    partition=0,
)


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines()]


Run = Callable[..., Done]


class Clock:
    """Settable."""

    def __init__(self) -> None:
        self.now_ms = BASE_MS

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms

    def monotonic_s(self) -> float:
        return self.now_ms / 1000


class Journals:
    """Nodes that know each other, with journals; all that happens goes by `clock`."""

    def __init__(self) -> None:
        self.dead: set[int] = set()
        self.clock = Clock()
        self.journals = {
            one: NodeJournal(node_id=one, clock=self.clock, size_max=5000, bytes_max=1 << 22)
            for one in ADDRESSES
        }
        self.on_page: Callable[[], None] | None = None

    async def close(self) -> None:
        """Nothing to release."""

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        del timeout_ms
        node_id = next(one for one, known in ADDRESSES.items() if known == address)
        if node_id in self.dead:
            raise UnreachableError("gone")
        if method is DESCRIBE_CLUSTER:
            described = DescribeClusterResponse()
            for one, known in ADDRESSES.items():
                described.brokers.add(broker_id=one, address=known)
            return described
        assert method is LIST_EVENTS
        if self.on_page is not None:
            self.on_page()
        return self.journals[node_id].list_events(request)

    def note(self, event: Event, *nodes: int, at_ms: int = 0) -> None:
        self.clock.now_ms = BASE_MS + at_ms
        for one in nodes:
            self.journals[one].note(event)


@pytest.fixture
def cluster() -> Journals:
    return Journals()


@pytest.fixture
def run(
    cluster: Journals, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Runs `tidelog events` in this process."""
    monkeypatch.setattr(ports, "_grpc_transport", lambda _: cluster)
    monkeypatch.setattr(asyncio, "run", run_virtual)
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", BOOTSTRAP)

    def run_command(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["tidelog", "events", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, captured.out, captured.err)

    return run_command


def test_all_nodes_tell_one_story_in_the_order_of_time(cluster: Journals, run: Run) -> None:
    cluster.note(LED, 2, at_ms=5)
    cluster.note(REFUSED, 2, at_ms=20)
    cluster.note(REFUSED, 2, at_ms=30)
    cluster.note(replace(LED, partition=1), 1, at_ms=7)
    cluster.note(LED, 1, 3, at_ms=9)
    done = run("--json")
    assert (done.code, done.stderr) == (0, "")
    assert [(one["kind"], one["partition"], one["nodes"]) for one in done.lines] == [
        ("leader", 0, [1, 2, 3]),
        ("leader", 1, [1]),
        ("refusal", 0, [2]),
    ]
    led, _, refused = done.lines
    assert led == {
        "time_ms": BASE_MS + 5,
        "kind": "leader",
        "nodes": [1, 2, 3],
        "topic": "flights",
        "partition": 0,
        "broker_id": None,
        "before": "1",
        "after": "2",
        "cause": "broker 1 fenced: silent for 3000 ms",
        "count": 1,
        "last_ms": BASE_MS + 5,
        "leader_epoch": 4,
        "partition_epoch": 7,
        "broker_epoch": None,
        "controller_epoch": None,
        "metadata_offset": 90,
        "group": None,
    }
    assert (refused["count"], refused["last_ms"]) == (2, BASE_MS + 30)


def test_people_read_what_happened_to_what_and_why(cluster: Journals, run: Run) -> None:
    cluster.note(LED, 1, 2, at_ms=5)
    cluster.note(REFUSED, 2, at_ms=6)
    cluster.note(REFUSED, 2, at_ms=6)
    assert run().stdout.splitlines() == [
        (
            "2023-11-14 22:13:20.005  leader       flights-0  1 → 2  (epoch 4)  "
            "broker 1 fenced: silent for 3000 ms"
        ),
        (
            "2023-11-14 22:13:20.006  refusal      flights-0 on 2  "
            "append refused: NOT_ENOUGH_REPLICAS: the ISR [2] is smaller  ×2"
        ),
    ]


def test_what_happened_to_groups_is_chosen_by_the_group(cluster: Journals, run: Run) -> None:
    joined = Event(
        Kind.GROUP, "member a joined", before="members 0", after="members 1", group="billing"
    )
    cluster.note(joined, 2, at_ms=5)
    cluster.note(replace(joined, group="other"), 3, at_ms=6)
    read = Event(Kind.GROUP, "read 1 groups", topic="__consumer_offsets", partition=7)
    cluster.note(replace(read, after="coordinator", leader_epoch=4), 3, at_ms=7)
    cluster.note(LED, 1, at_ms=8)
    (line,) = run("--group", "billing", "--json").lines
    assert (line["kind"], line["group"], line["nodes"]) == ("group", "billing", [2])
    assert run("--kind", "group").stdout.splitlines() == [
        (
            "2023-11-14 22:13:20.005  group        group billing on 2  "
            "members 0 → members 1  member a joined"
        ),
        (
            "2023-11-14 22:13:20.006  group        group other on 3  "
            "members 0 → members 1  member a joined"
        ),
        (
            "2023-11-14 22:13:20.007  group        __consumer_offsets-7 on 3  "
            "→ coordinator  (epoch 4)  read 1 groups"
        ),
    ]


def test_events_are_chosen_by_topic_partition_node_kind_and_age(
    cluster: Journals, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.note(LED, 1, at_ms=0)
    cluster.note(replace(LED, topic="other", metadata_offset=91), 1, at_ms=1)
    cluster.note(replace(LED, partition=1, metadata_offset=92), 2, at_ms=2)
    cluster.note(REFUSED, 2, at_ms=60_000)
    assert len(run("--json").lines) == 4
    assert len(run("--json", "--topic", "flights").lines) == 3
    assert len(run("--json", "--topic", "flights", "--partition", "0").lines) == 2
    assert len(run("--json", "--node", "2").lines) == 2
    assert len(run("--json", "--kind", "leader").lines) == 3
    assert len(run("--json", "--kind", "leader", "--kind", "refusal").lines) == 4
    monkeypatch.setattr("time.time", lambda: (BASE_MS + 61_000) / 1000)
    assert [one["kind"] for one in run("--json", "--since", "30s").lines] == ["refusal"]
    assert run("--since", "soon").code == 2
    assert run("--kind", "gossip").code == 2
    for kind in Kind:
        assert run("--kind", kind.value).code == 0, "whatever a node may report can be asked for"


def test_more_than_a_page_is_asked_for_page_by_page(cluster: Journals, run: Run) -> None:
    for number in range(1_700):
        cluster.note(replace(LED, partition=number, metadata_offset=number), 1, at_ms=number)
    assert [one["partition"] for one in run("--json").lines] == list(range(1_700))


def test_a_node_that_does_not_answer_is_named_and_no_cluster_is_an_error(
    cluster: Journals, run: Run
) -> None:
    cluster.note(LED, 1, 2)
    cluster.dead = {1}
    done = run("--json")
    assert (done.code, done.stderr) == (0, "node 1 does not answer\n")
    assert done.lines[0]["nodes"] == [2]
    cluster.dead = set(ADDRESSES)
    done = run()
    assert done.code == 1
    assert done.stderr.startswith("tidelog: no broker answers at")


def test_what_happens_is_followed_and_told_once(cluster: Journals, run: Run) -> None:
    rounds: list[int] = []

    def happen() -> None:
        rounds.append(1)
        if len(rounds) == 4:
            cluster.note(LED, 2, at_ms=5)
        if len(rounds) == 7:
            cluster.note(LED, 3, at_ms=9)  # heard of it later
            cluster.note(REFUSED, 3, at_ms=9)
        if len(rounds) == 13:
            raise KeyboardInterrupt

    cluster.on_page = happen
    done = run("--json", "--follow")
    assert done.code == 130
    assert [(one["kind"], one["nodes"]) for one in done.lines] == [
        ("leader", [2]),
        ("refusal", [3]),
    ]


def test_a_batch_is_told_by_when_it_was_decided(cluster: Journals, run: Run) -> None:
    record = MetadataRecord(
        broker_fencing=BrokerFencingRecord(broker_id=4, broker_epoch=9, fenced=True, cause="why")
    )
    batch = MetadataBatch(records=[record], decided_ms=BASE_MS - 5)
    for one in (1, 2):
        journal = cluster.journals[one]
        journal.on_batch(EMPTY_IMAGE, batch, 12)
    (line,) = run("--json").lines
    assert (line["time_ms"], line["nodes"], line["broker_id"]) == (BASE_MS - 5, [1, 2], 4)
