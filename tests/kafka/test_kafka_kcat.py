"""kcat, unmodified, where it is installed: produces, consumes, queries, joins a group."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from tests.doc_blocks import ROOT, blocks_of
from tests.integration.local_cluster import LocalCluster

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        shutil.which("kcat") is None, reason="kcat is not installed (Debian: apt-get install kcat)"
    ),
]

DEADLINE_S = 60
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
EACH = "%p %o %k=%s %h\\n"
"""Format of a message: partition, offset, key, value, headers."""


class Kcat:
    """Runs kcat against a cluster."""

    def __init__(self, brokers: LocalCluster) -> None:
        self.brokers = brokers

    def command(self, *arguments: str) -> list[str]:
        """The whole command line."""
        return ["kcat", "-b", self.brokers.kafka_bootstrap, *arguments]

    def run(self, *arguments: str, stdin: str = "") -> str:
        """Return what it prints, when it has succeeded."""
        ran = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr)
        return ran.stdout

    def create(self, topic: str) -> None:
        """Create a topic, by our command."""
        told = self.brokers.run("topics", "create", topic, "--partitions", f"{PARTITIONS}")
        assert told.returncode == 0, told.stderr


@pytest.fixture(scope="module")
def kcat(brokers: LocalCluster) -> Kcat:
    return Kcat(brokers)


def written(kcat: Kcat, topic: str, codec: str) -> list[str]:
    """Write to partition 1 of a new topic; what it reads of it by `EACH`."""
    kcat.create(topic)
    lines = "".join(f"k{number}:value-{number}\n" for number in range(50))
    settings = ("-X", "enable.idempotence=true", "-z", codec, "-H", "h=x")
    kcat.run("-P", "-t", topic, "-p", "1", "-K", ":", *settings, stdin=lines)
    return [f"1 {number} k{number}=value-{number} h=x" for number in range(50)]


def read_from(kcat: Kcat, topic: str, offset: str) -> list[str]:
    end = ("-e", "-q", "-f", EACH)
    return kcat.run("-C", "-t", topic, "-p", "1", *end, "-o", offset).splitlines()


@pytest.mark.parametrize("codec", CODECS)
def test_what_it_writes_it_reads(kcat: Kcat, codec: str) -> None:
    topic = f"kcat-{codec}"
    expected = written(kcat, topic, codec)
    assert read_from(kcat, topic, "beginning") == expected


def test_it_finds_offsets_and_reads_from_them(kcat: Kcat) -> None:
    topic = "kcat-offsets"
    expected = written(kcat, topic, "none")
    for start, part in (("47", expected[47:]), ("-3", expected[-3:]), ("s@1000", expected)):
        assert read_from(kcat, topic, start) == part
    for timestamp, offset in ((-2, 0), (-1, 50), (1000, 0)):
        told = kcat.run("-Q", "-t", f"{topic}:1:{timestamp}")
        assert told.split() == [topic, "[1]", "offset", f"{offset}"]


def test_it_shows_the_metadata(kcat: Kcat) -> None:
    kcat.create("kcat-metadata")
    told: Any = json.loads(kcat.run("-L", "-J", "-t", "kcat-metadata"))
    assert {one["name"] for one in told["brokers"]} == set(kcat.brokers.kafka_bootstrap.split(","))
    assert told["controllerid"] in {1, 2, 3}
    (topic,) = told["topics"]
    assert [one["partition"] for one in topic["partitions"]] == list(range(PARTITIONS))
    for one in topic["partitions"]:
        assert {part["id"] for part in one["replicas"]} == {1, 2, 3}
        assert one["leader"] in {part["id"] for part in one["isrs"]}
    every: Any = json.loads(kcat.run("-L", "-J"))
    assert "kcat-metadata" in {one["topic"] for one in every["topics"]}


def test_its_members_read_on_where_the_last_one_was(kcat: Kcat) -> None:
    topic = group_id = "kcat-group"
    kcat.create(topic)

    for word in ("first", "second"):
        values = sorted(f"{word}-{number}" for number in range(40))
        kcat.run("-P", "-t", topic, stdin="\n".join(values))
        end = ("-X", "auto.offset.reset=earliest", "-c", "40", "-q")
        assert sorted(kcat.run("-G", group_id, *end, topic).splitlines()) == values
    told = kcat.brokers.run("groups", "describe", group_id, "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["state"] == "Empty"


def test_the_commands_of_the_page_run(kcat: Kcat) -> None:
    (text,) = [one.text for one in blocks_of(ROOT / "docs/KAFKA.md") if "kcat -P" in one.text]
    text = text.replace("127.0.0.1:9092", kcat.brokers.kafka_bootstrap)
    ran = subprocess.run(
        ["bash", "-euc", text], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "hello\nhello\n"), ran.stderr
