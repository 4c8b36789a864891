"""`tidelog groups` and `consume --group`: members, offsets, resets, and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.cli.commands import CommandCluster, Run
from tests.client.real_cluster import ADDRESSES, encoded

from tidelog.cli import pipes, reading
from tidelog.cli.group_views import describe_group

ALL = ("--group", "g", "--from-beginning", "--timeout", "2")


@pytest.fixture
def filled(cluster: CommandCluster) -> CommandCluster:
    """A cluster with the topic t: two partitions of five records."""
    cluster.create("t", partitions=2)
    for number in range(2):
        cluster.append("t", number, [encoded([b"%d-%d" % (number, n)]) for n in range(5)])
    return cluster


def described(run: Run, group: str = "g") -> Any:  # what JSON holds
    done = run("groups", "describe", group, "--json")
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def committed(run: Run, group: str = "g") -> dict[int, int]:
    return {one["partition"]: one["committed"] for one in described(run, group)["offsets"]}


def reset(run: Run, *options: str) -> dict[int, tuple[int | None, int]]:
    done = run("groups", "reset-offsets", "g", *options, "--json")
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["executed"] == ("--execute" in options)
    return {one["partition"]: (one["before"], one["after"]) for one in found["offsets"]}


# consume --group


def test_what_was_printed_is_committed_and_the_next_one_goes_on(
    filled: CommandCluster, run: Run
) -> None:
    first = run("consume", "t", *ALL, "--max-records", "3")
    assert len(first.stdout.split()) == 3
    assert sum(committed(run).values()) == 3
    rest = run("consume", "t", *ALL)
    assert sorted(first.stdout.split() + rest.stdout.split()) == sorted(
        b"%d-%d" % (number, n) for number in range(2) for n in range(5)
    )
    assert committed(run) == {0: 5, 1: 5}
    assert run("consume", "t", *ALL).stdout == b""
    assert described(run)["members"] == []
    del filled


def test_a_pattern_is_the_coordinators_to_match(filled: CommandCluster, run: Run) -> None:
    filled.create("tides", partitions=1)
    filled.append("tides", 0, [encoded([b"high"])])
    whole = run("consume", "--pattern", "T|(?i)t[a-z]+", *ALL)
    assert whole.stdout == b"high\n"
    begins = run("consume", "^ti", *ALL, "--json")
    assert (begins.code, begins.stdout) == (0, b"")  # committed before
    refused = run("consume", "--pattern", "(a+)+", *ALL)
    assert refused.code == 1
    assert "INVALID_REGULAR_EXPRESSION" in refused.stderr or "backtrack" in refused.stderr
    mixed = run("consume", "t", "^tid", "--pattern", "x", "--group", "other", *ALL[2:])
    assert len(mixed.stdout.split()) == 11


def test_members_subscriptions_are_shown() -> None:
    shown = described_members(["t", "u"], "t.*")
    assert "t,u,/t.*/" in shown


def described_members(topics: list[str], pattern: str) -> str:
    member: dict[str, Any] = {
        **dict.fromkeys(("member_id", "instance_id", "client_id", "host", "epoch"), "m"),
        "topics": topics,
        "pattern": pattern,
        "assignment": [],
    }
    group = dict.fromkeys(("group", "state", "type", "epoch", "assignor", "coordinator"), "g")
    with CliRunner().isolation() as (output, *_):
        describe_group(
            {
                **group,
                "assignment_failure": "assignor 'm:C' raised",
                "members": [member],
                "offsets": [],
                "rebalances": [],
            }
        )
        return output.getvalue().decode()


def test_a_new_group_begins_at_the_end(filled: CommandCluster, run: Run) -> None:
    assert run("consume", "t", "--group", "new", "--timeout", "2").stdout == b""
    assert committed(run, "new") == {0: 5, 1: 5}
    del filled


@pytest.mark.parametrize("error", [BrokenPipeError(32, "gone"), click.ClickException("disk full")])
def test_what_could_not_be_written_is_not_committed(
    filled: CommandCluster, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    write, written = pipes.write_all, 0

    def write_once(data: bytes) -> None:
        nonlocal written
        written += 1
        if written == 2:
            raise error
        write(data)

    monkeypatch.setattr(reading, "MAX_RECORDS", 3)
    monkeypatch.setattr(reading, "write_all", write_once)
    monkeypatch.setattr(pipes, "_give_up_output", lambda: None)
    first = run("consume", "t", *ALL)
    assert len(first.stdout.split()) == sum(committed(run).values()) == 3
    assert described(run)["members"] == []
    rest = run("consume", "t", *ALL)
    assert len(set(first.stdout.split() + rest.stdout.split())) == 10
    del filled


@pytest.mark.parametrize(
    "option", [("-o", "earliest"), ("--tail", "1"), ("-p", "0"), ("-e",), ("--from-time", "2026")]
)
def test_places_do_not_go_with_a_group(
    filled: CommandCluster, run: Run, option: tuple[str, ...]
) -> None:
    done = run("consume", "t", "--group", "g", *option)
    assert done.code != 0
    assert "where the group committed" in done.stderr
    del filled


# list, describe


def test_a_group_is_listed_and_described(filled: CommandCluster, run: Run) -> None:
    run("consume", "t", *ALL, "--max-records", "4")
    filled.append("t", 0, [encoded([b"new"])])
    (listed,) = json.loads(run("groups", "list", "--json").stdout)["groups"]
    assert (listed["group"], listed["type"], listed["state"]) == ("g", "consumer", "Empty")
    assert (listed["members"], listed["coordinator"]) == (0, described(run)["coordinator"])
    found = described(run)
    assert set(found) == {
        *("group", "type", "state", "epoch", "assignor", "coordinator"),
        *("members", "offsets", "rebalances"),
    }
    lags = {one["partition"]: one["lag"] for one in found["offsets"]}
    assert sum(lags.values()) == 7
    assert {one["log_start_offset"] for one in found["offsets"]} == {0}
    assert [one["cause"].split()[-1] for one in found["rebalances"]] == ["joined", "left"]
    table = run("groups", "describe", "g").stdout.decode()
    assert "g: Empty, consumer protocol" in table
    assert "high_watermark" in table
    assert run("groups", "list").stdout.decode().splitlines()[0].startswith("group\ttype")


def test_a_group_that_does_not_exist_is_said_so(filled: CommandCluster, run: Run) -> None:
    done = run("groups", "describe", "nobody")
    assert (done.code, "does not exist" in done.stderr) == (1, True)
    done = run("groups", "delete", "nobody")
    assert (done.code, "does not exist" in done.stderr) == (1, True)
    del filled


def test_a_partition_without_a_leader_is_described_at_once(
    cluster: CommandCluster, run: Run
) -> None:
    cluster.create("t", partitions=3, replicas=1)
    cluster.commit("g", {("t", number): 0 for number in range(3)})
    coordinator = described(run)["coordinator"]
    dead = next(one for one in ADDRESSES if one != coordinator)
    cluster.kill(dead)

    async def now() -> float:
        return asyncio.get_running_loop().time()

    began = cluster.run(now())
    rows = described(run)["offsets"]
    assert cluster.run(now()) - began < 5
    unknown = [one for one in rows if one["high_watermark"] is None]
    assert [(one["partition"], one["committed"], one["lag"]) for one in unknown] == [
        (dead - 1, 0, None)  # partition n is led by n + 1
    ]


# delete


def test_groups_and_offsets_are_deleted(filled: CommandCluster, run: Run) -> None:
    run("consume", "t", *ALL)
    done = run("groups", "delete-offsets", "g", "--topic", "t:1", "--json")
    assert json.loads(done.stdout) == {"topic": "t", "partition": 1, "error": None}
    assert committed(run) == {0: 5}
    missing = run("groups", "delete-offsets", "g", "--topic", "t:1")
    assert (missing.code, "no offset of t-1" in missing.stderr) == (1, True)
    assert run("groups", "delete", "g").stdout == b"deleted g\n"
    assert json.loads(run("groups", "list", "--json").stdout) == {"groups": []}
    del filled


# reset-offsets


@pytest.mark.parametrize(
    ("place", "after"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 5),
        (("--to-current",), 3),
        (("--to-offset", "4"), 4),
        (("--to-offset", "99"), 5),
        (("--shift-by", "-2"), 1),
        (("--shift-by", "-9"), 0),
        (("--shift-by", "9"), 5),
        (("--to-datetime", "1970-01-01T00:00:00Z"), 0),
        (("--to-datetime", "2100-01-01T00:00:00Z"), 5),
        (("--by-duration", "P99999D"), 0),
    ],
)
def test_offsets_are_reset_to_each_place(
    filled: CommandCluster, run: Run, place: tuple[str, ...], after: int
) -> None:
    filled.commit("g", {("t", 0): 3, ("t", 1): 3})
    assert reset(run, "--topic", "t:0", *place) == {0: (3, after)}
    assert committed(run) == {0: 3, 1: 3}  # it was a dry run
    assert reset(run, "--topic", "t:0", *place, "--execute") == {0: (3, after)}
    assert committed(run) == {0: after, 1: 3}


def test_a_file_carries_offsets_to_another_group(
    filled: CommandCluster, run: Run, tmp_path: Path
) -> None:
    filled.commit("other", {("t", 0): 2})
    path = tmp_path / "offsets.csv"
    exported = run(
        *("groups", "reset-offsets", "other", "--all-topics", "--to-current", "--export", str(path))
    )
    assert (exported.code, path.read_text()) == (0, "t,0,2\n")
    assert "add --execute" in exported.stderr
    assert reset(run, "--from-file", str(path), "--execute") == {0: (None, 2)}
    assert committed(run) == {0: 2}
    path.write_text("t,0,2\nt,0,3\n")
    twice = run("groups", "reset-offsets", "g", "--from-file", str(path))
    assert (twice.code, "offsets.csv:2: t-0 came before" in twice.stderr) == (2, True)
    path.write_text("t,zero,2\n")
    broken = run("groups", "reset-offsets", "g", "--from-file", str(path))
    assert (broken.code != 0, "offsets.csv:1" in broken.stderr) == (True, True)


def test_a_topic_without_commits_is_reset_in_all_partitions(
    filled: CommandCluster, run: Run
) -> None:
    assert reset(run, "--topic", "t", "--to-latest", "--execute") == {0: (None, 5), 1: (None, 5)}
    assert reset(run, "--all-topics", "--to-earliest") == {0: (5, 0), 1: (5, 0)}
    del filled


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--topic", "t"), "name one of"),
        (("--topic", "t", "--to-earliest", "--to-latest"), "name one of"),
        (("--to-earliest",), "name topics"),
        (("--topic", "t", "--all-topics", "--to-latest"), "name topics"),
        (("--topic", "t:x", "--to-latest"), "orders:0,2"),
        (("--topic", "t", "--by-duration", "1h"), "PT1H"),
        (("--topic", "t", "--to-datetime", "noon"), "noon"),
        (("--topic", "nosuch", "--to-latest"), "does not exist"),
        (("--topic", "t:9", "--to-latest"), "partitions 0 to 1"),
        (("--all-topics", "--to-latest"), "has no committed offsets"),
    ],
)
def test_resets_that_make_no_sense_are_refused(
    filled: CommandCluster, run: Run, options: tuple[str, ...], says: str
) -> None:
    done = run("groups", "reset-offsets", "g", *options)
    assert done.code != 0
    assert says in done.stderr
    del filled


def test_a_group_with_members_is_neither_reset_nor_deleted(
    filled: CommandCluster, run: Run
) -> None:
    filled.join("g", "t")
    done = run("groups", "reset-offsets", "g", "--topic", "t", "--to-latest", "--execute")
    assert (done.code, "has members" in done.stderr) == (1, True)
    deleted = run("groups", "delete", "g", "--json")
    assert deleted.code == 1
    assert "1 members: stop them" in json.loads(deleted.stdout)["error"]
    (member,) = described(run)["members"]
    assert member["client_id"] == "hand"
    assert member["assignment"] == [{"topic": "t", "partition": one} for one in range(2)]
    assert member["target"] == member["assignment"]
    row = described(run)["offsets"][0]
    assert (row["committed"], row["member_id"]) == (None, member["member_id"])


def test_offsets_of_a_subscribed_topic_stay(filled: CommandCluster, run: Run) -> None:
    run("consume", "t", *ALL)
    filled.join("g", "t")
    done = run("groups", "delete-offsets", "g", "--topic", "t", "--json")
    assert done.code == 1
    errors = [json.loads(line)["error"] for line in done.stdout.splitlines()]
    assert ["is subscribed to t" in one for one in errors] == [True, True]
    assert committed(run) == {0: 5, 1: 5}
    plain = run("groups", "delete-offsets", "g", "--topic", "t:0")
    assert (plain.code, "stop its members first" in plain.stderr) == (1, True)


@pytest.mark.parametrize(
    "command",
    [
        ("describe", "nobody"),
        ("delete", "nobody"),
        ("delete-offsets", "nobody", "--topic", "t"),
        ("reset-offsets", "nobody", "--all-topics", "--to-earliest", "--execute"),
    ],
)
def test_a_group_that_nobody_knows_is_an_error_of_each_command(
    filled: CommandCluster, run: Run, command: tuple[str, ...]
) -> None:
    done = run("groups", *command)
    assert done.code == 1, done.stdout
    assert "does not exist" in done.stderr or "no committed offsets" in done.stderr
    assert json.loads(run("groups", "list", "--json").stdout) == {"groups": []}
    del filled


@pytest.mark.parametrize("group", ["", "x" * 250])
def test_an_id_of_no_group_is_refused(filled: CommandCluster, run: Run, group: str) -> None:
    for command in ("describe", "delete"):
        done = run("groups", command, group)
        assert (done.code, "group id" in done.stderr) == (1, True), command
    done = run("consume", "t", "--group", group, "--timeout", "1")
    assert done.code != 0
    del filled
