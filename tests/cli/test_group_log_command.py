"""`tidelog groups log`: the internal topic decoded, whatever lies in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.commands import CommandCluster, Run
from tests.client.real_cluster import GROUPS

from tidelog import client
from tidelog.broker.coordinator.coordinator_records import BARRIER, CoordinatorRecord, encode
from tidelog.broker.coordinator.group_key import partition_of
from tidelog.cli import group_log
from tidelog.cli.group_log import line_of
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.records.records import Record, encode_batch
from tidelog.v1.coordinator_records_pb2 import (
    ClassicGroupKey,
    ClassicGroupValue,
    CoordinatorKey,
)

PARTITION = partition_of("g", GROUPS.offsets_topic_num_partitions)


@pytest.fixture
def filled(cluster: CommandCluster) -> CommandCluster:
    """A cluster with the topic t, two offsets of the group g, and one of other."""
    cluster.create("t", partitions=2)
    cluster.commit("g", {("t", 0): 3, ("t", 1): 4})
    cluster.commit("other", {("t", 0): 5})
    return cluster


def lines(run: Run, *options: str) -> list[dict[str, Any]]:
    done = run("groups", "log", *options, "--json")
    assert (done.code, done.stderr) == (0, "")
    return [json.loads(one) for one in done.stdout.splitlines()]


def append(cluster: CommandCluster, *records: tuple[bytes | None, bytes | None]) -> None:
    """Append records to the partition of g, as its coordinator does."""
    batch = encode_batch([Record(0, 1_000, key, value) for key, value in records])

    async def append() -> None:
        leader_id = cluster.nodes.image.topics[OFFSETS_TOPIC].partitions[PARTITION].leader_id
        assert leader_id is not None
        broker: Any = cluster.nodes.machines[leader_id].node._broker
        hosted = broker.groups.runtime.find(PARTITION)
        end = broker.replica_manager.writer.append(hosted.leadership, batch).end_offset
        await hosted.committed(end, is_write=True, timeout_ms=5_000)

    cluster.run(append())


def test_committed_offsets_are_shown_with_what_they_are_for(
    filled: CommandCluster, run: Run
) -> None:
    topic_id = filled.nodes.topics["t"].topic_id.hex()
    found = [one for one in lines(run) if one["key"]["group_id"] == "g"]
    assert [one["kind"] for one in found] == ["offset_commit"] * 2
    first = found[0]
    assert (first["partition"], first["offset"], first["tombstone"]) == (PARTITION, 0, False)
    assert first["key"] == {"group_id": "g", "topic_id": topic_id, "partition": 0}
    assert first["value"] == {
        "offset": 3,
        "leader_epoch": -1,
        "metadata": "",
        "committed_ms": first["value"]["committed_ms"],
        "topic": "t",
    }
    assert abs(first["time_ms"] - first["value"]["committed_ms"]) < 1_000
    text = run("groups", "log").stdout.decode()
    assert f"{PARTITION}:0  " in text
    assert f"offset_commit  group_id=g topic_id={topic_id} partition=0  → offset=3" in text


def test_members_groups_and_tombstones_are_shown(filled: CommandCluster, run: Run) -> None:
    run("consume", "t", "--group", "g", "--from-beginning", "--timeout", "1")
    found = [
        one for one in lines(run, "--partition", str(PARTITION)) if one["key"]["group_id"] == "g"
    ]
    kinds = {one["kind"] for one in found}
    assert kinds == {"offset_commit", "group", "member"}
    joined, *_, left = [one for one in found if one["kind"] == "member"]
    assert joined["value"]["subscribed_topics"] == ["t"]
    assert (left["value"], left["tombstone"]) == (None, True)
    group = [one for one in found if one["kind"] == "group"][-1]
    assert group["value"]["rebalances"][0]["cause"].endswith("joined")
    text = run("groups", "log", "--partition", str(PARTITION)).stdout.decode()
    assert f"member  group_id=g member_id={left['key']['member_id']}  → tombstone" in text
    del filled


def test_only_one_partition_is_read_when_it_is_named(filled: CommandCluster, run: Run) -> None:
    assert {one["partition"] for one in lines(run, "--partition", str(PARTITION))} == {PARTITION}
    del filled


def test_a_classic_group_is_shown_with_its_members(filled: CommandCluster, run: Run) -> None:
    value = ClassicGroupValue(generation=7, protocol="range", leader="m")
    value.members.add(member_id="m", client_id="old", subscription=b"\x00\x01", assignment=b"\xff")
    key = CoordinatorKey(classic_group=ClassicGroupKey(group_id="old"))
    append(filled, encode(CoordinatorRecord(key, value)))
    shown = lines(run, "--partition", str(PARTITION))[-1]
    assert shown["kind"] == "classic_group"
    assert shown["value"]["generation"] == 7
    (member,) = shown["value"]["members"]
    assert (member["subscription"], member["assignment"]) == ("0001", "ff")


def test_what_is_not_known_or_broken_is_shown_as_it_is(filled: CommandCluster, run: Run) -> None:
    later = b"\xa2\x06\x03abc"  # field 100, of a later version
    known = CoordinatorKey(classic_group=ClassicGroupKey(group_id="x")).SerializeToString()
    append(filled, (later, b"state"), (b"\xff\xff", None), (known, b"\xff"), (b"", b""))
    found = lines(run, "--partition", str(PARTITION))[-4:]
    kinds = ["unknown", "unreadable", "unreadable", "unknown"]
    assert [one["kind"] for one in found] == kinds
    assert (found[0]["raw_key"], found[0]["raw_value"]) == ("ogYDYWJj", "c3RhdGU=")
    assert (found[0]["error"], found[0]["key"]) == (None, None)
    assert (found[1]["tombstone"], found[1]["raw_value"]) == (True, None)
    assert "no message of its kind" in found[2]["error"]
    text = run("groups", "log", "--partition", str(PARTITION)).stdout.decode()
    assert "unknown  key=ogYDYWJj value=c3RhdGU=" in text
    assert "unreadable  key=//8= tombstone  a record of the internal topic is no message" in text


def test_a_coordinators_barrier_is_shown(filled: CommandCluster, run: Run) -> None:
    append(filled, encode(BARRIER))
    line = lines(run, "--partition", str(PARTITION))[-1]
    assert (line["kind"], line["key"], line["value"]) == ("barrier", {}, None)
    text = run("groups", "log", "--partition", str(PARTITION)).stdout.decode()
    assert text.endswith("  barrier   → tombstone\n")


def test_a_record_without_a_key_is_shown_too() -> None:
    line = line_of(client.Record(OFFSETS_TOPIC, 1, 2, 3, None, b"v", ()))
    assert (line.kind, line.raw_key, line.raw_value) == ("unreadable", None, "dg==")
    assert "has no key" in line.as_text()
    assert "no key" in json.loads(line.as_json())["error"]


def test_many_records_are_all_shown(
    filled: CommandCluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_log, "MAX_RECORDS", 7)
    filled.create("wide", partitions=50)
    for offset in range(10):
        filled.commit("g", {("wide", number): offset for number in range(50)})
    found = lines(run, "--partition", str(PARTITION))
    assert [one["offset"] for one in found] == list(range(len(found)))
    assert len([one for one in found if one["value"]["topic"] == "wide"]) == 500


def test_a_partition_or_a_topic_that_does_not_exist_is_said_so(
    cluster: CommandCluster, run: Run
) -> None:
    done = run("groups", "log")
    assert (done.code, done.stderr) == (
        *(1,),
        "tidelog: __consumer_offsets does not exist: the first group creates it\n",
    )
    cluster.create("t")
    cluster.commit("g", {("t", 0): 3})
    done = run("groups", "log", "--partition", "50")
    assert done.code == 1
    assert done.stderr == "tidelog: __consumer_offsets has no partition 50: it has 0 to 2\n"
    assert run("groups", "log", "--partition", "-1").code == 2
