"""Apache's command-line tools, unmodified, and by them Java's producer, consumer and admin client.

They need Java and `TIDELOG_KAFKA_JARS=DIR`, the folder of Kafka's jars with all that they need.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.integration.local_cluster import LocalCluster
from tests.kafka.group_members import ConfluentMember, Joining, until_shared

VARIABLE = "TIDELOG_KAFKA_JARS"
JARS = os.environ.get(VARIABLE, "")
TOOLS = "org.apache.kafka.tools"
DEADLINE_S = 120
RECORDS = 500
QUIET = """
rootLogger.level = error
rootLogger.appenderRef.to.ref = to
appender.to.type = Console
appender.to.name = to
appender.to.target = SYSTEM_ERR
appender.to.layout.type = PatternLayout
appender.to.layout.pattern = %m%n
"""


def missing() -> str | None:
    """Say what these tests lack here."""
    if not JARS:
        return f"{VARIABLE} is not set: it names the folder of Kafka's jars"
    if not list(Path(JARS).glob("kafka-tools-*.jar")):
        return f"{VARIABLE}={JARS} has no kafka-tools jar"
    return None if shutil.which("java") else "there is no java"


pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(missing() is not None, reason=f"Kafka's tools: {missing()}"),
]


class Tools:
    """Runs tools against a cluster; each has a Java of its own."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._log = folder / "log4j2.properties"
        self._log.write_text(QUIET)

    def run(self, tool: str, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """Return what it prints; its exit code is this one."""
        ran = subprocess.run(
            [
                *("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
                *(f"-Dlog4j2.configurationFile={self._log}", "-cp", f"{JARS}/*"),
                *(tool, "--bootstrap-server", self._bootstrap, *arguments),
            ],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert ran.returncode == code, (tool, arguments, ran.stdout, ran.stderr)
        return ran.stdout + ran.stderr


@pytest.fixture
def tools(brokers: LocalCluster, tmp_path: Path) -> Tools:
    return Tools(brokers.kafka_bootstrap, tmp_path)


def test_topics_and_configs_are_administered(tools: Tools) -> None:
    def topics(*arguments: str, code: int = 0) -> str:
        return tools.run(f"{TOOLS}.TopicCommand", *arguments, "--topic", "java", code=code)

    def configs(*arguments: str) -> str:
        return tools.run("kafka.admin.ConfigCommand", *arguments)

    create = ("--create", "--partitions", "2", "--replication-factor", "3")
    assert "Created topic java." in topics(*create, "--config", "retention.ms=100000")
    assert "already exists" in topics(*create, code=1)
    topics("--alter", "--partitions", "3")
    of_topic = ("--entity-type", "topics", "--entity-name", "java")
    configs("--alter", *of_topic, "--add-config", "cleanup.policy=compact")
    configs("--alter", *of_topic, "--delete-config", "retention.ms")
    described = configs("--describe", *of_topic)
    assert "DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact" in described
    assert "retention.ms" not in described
    assert "node.id=2" in configs(
        *("--describe", "--all", "--entity-type", "brokers", "--entity-name", "2")
    )
    told = topics("--describe")
    assert "PartitionCount: 3" in told
    assert "cleanup.policy=compact" in told
    assert len(re.findall(r"Isr: \d,\d,\d", told)) == 3
    topics("--delete")
    assert "does not exist" in topics("--describe", code=1)


def test_records_are_written_read_and_counted(tools: Tools) -> None:
    topic = ("--topic", "java-records")
    create = ("--create", "--partitions", "1", "--replication-factor", "3")
    tools.run(f"{TOOLS}.TopicCommand", *create, *topic)
    tools.run(f"{TOOLS}.ConsoleProducer", *topic, stdin="one\ntwo\n")
    performed = tools.run(
        f"{TOOLS}.ProducerPerformance",
        *topic,
        *("--num-records", str(RECORDS), "--record-size", "100", "--throughput", "-1"),
    )
    assert f"{RECORDS} records sent" in performed
    assert f"java-records:0:{RECORDS + 2}" in tools.run(f"{TOOLS}.GetOffsetShell", *topic)
    read = tools.run(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *topic,
        *("--partition", "0", "--offset", "earliest", "--max-messages", str(RECORDS + 2)),
        *("--timeout-ms", str(DEADLINE_S * 500)),
    )
    assert read.startswith("one\ntwo\n")
    assert f"Processed a total of {RECORDS + 2} messages" in read
    of_group = tools.run(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *topic,
        *("--group", "java-group", "--from-beginning", "--max-messages", "2"),
        *("--timeout-ms", str(DEADLINE_S * 500)),
    )
    assert of_group.startswith("one\ntwo\n")


def test_the_cluster_is_looked_at_and_leaders_are_elected(tools: Tools) -> None:
    status = tools.run(f"{TOOLS}.MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId:\s+[123]\n", status)
    replication = tools.run(f"{TOOLS}.MetadataQuorumCommand", "describe", "--replication")
    assert (replication.count("Leader"), replication.count("Follower")) == (1, 2)
    create = ("--create", "--partitions", "1", "--replication-factor", "3", "--topic", "java-dirs")
    tools.run(f"{TOOLS}.TopicCommand", *create)
    folders = tools.run(f"{TOOLS}.LogDirsCommand", "--describe", "--broker-list", "1,2,3")
    assert folders.count('"partition":"java-dirs-0"') == 3
    every = ("--election-type", "preferred", "--all-topic-partitions")
    tools.run(f"{TOOLS}.LeaderElectionCommand", *every)
    one = ("--election-type", "preferred", "--topic", "java-dirs", "--partition", "0")
    assert "Valid replica already elected" in tools.run(f"{TOOLS}.LeaderElectionCommand", *one)


GROUPS = f"{TOOLS}.consumer.group.ConsumerGroupCommand"


def test_groups_are_listed_and_described_with_members(tools: Tools, brokers: LocalCluster) -> None:
    tools.run(f"{TOOLS}.TopicCommand", "--create", "--topic", "java-members", "--partitions", "2")
    for protocol, strategy in (("classic", "range"), ("consumer", "consumer")):
        group = ("--group", f"java-{protocol}")
        member = ConfluentMember(
            Joining(brokers.kafka_bootstrap, group[1], "java-members", strategy)
        )
        try:
            until_shared([member], "java-members", 2)
            described = tools.run(GROUPS, "--describe", *group, "--members", "--verbose")
            assert "rdkafka" in described
            assert re.search(r"java-members.*0,1", described), described
            state = tools.run(GROUPS, "--describe", *group, "--state", "--verbose")
            assert re.search(rf"{group[1]} .*Stable", state), state
            assert "java-members" in tools.run(GROUPS, "--describe", *group, "--offsets")
            refused = tools.run(GROUPS, "--delete", *group)
            assert "not empty" in refused, refused
        finally:
            member.close()
    listed = tools.run(GROUPS, "--list", "--type", "--state")
    for protocol in ("Classic", "Consumer"):
        assert re.search(rf"java-{protocol.lower()}\s+{protocol}\s+Empty", listed), listed


RESETS = {
    ("--to-earliest",): 0,
    ("--to-latest",): 3,
    ("--to-offset", "2"): 2,
    ("--shift-by", "-1"): 1,
    ("--to-current",): 1,
    ("--to-datetime", "2020-01-01T00:00:00.000"): 0,
    ("--by-duration", "PT0S"): 3,
}
"""Options, one after the other, and the offset that they lead to; by time, of an hour's records."""


def test_a_groups_offsets_are_reset_deleted_and_the_group_too(
    tools: Tools, brokers: LocalCluster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    topic, group = "java-reset", ("--group", "java-reset")
    tools.run(f"{TOOLS}.TopicCommand", "--create", "--topic", topic, "--partitions", "1")
    tools.run(f"{TOOLS}.ConsoleProducer", "--topic", topic, stdin="one\ntwo\nthree\n")
    settings = {"bootstrap.servers": brokers.kafka_bootstrap, "group.id": group[1]}
    consumer = Consumer(settings)
    request.addfinalizer(consumer.close)
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)

    def committed() -> int:
        (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=DEADLINE_S)
        return int(found.offset)

    reset = ("--reset-offsets", *group, "--topic", topic)
    tools.run(GROUPS, *reset, "--to-earliest", "--dry-run")
    assert committed() == 1
    for options, offset in RESETS.items():
        tools.run(GROUPS, *reset, *options, "--execute")
        assert committed() == offset, options
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{topic},0,2\n")
    tools.run(GROUPS, "--reset-offsets", *group, "--from-file", str(plan), "--execute")
    described = tools.run(GROUPS, "--describe", *group)
    assert re.search(rf"{group[1]}\s+{topic}\s+0\s+2\s+3\s+1 ", described), described
    tools.run(GROUPS, "--delete-offsets", *group, "--topic", topic)
    assert committed() < 0
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    assert "successful" in tools.run(GROUPS, "--delete", *group)
    assert group[1] not in tools.run(GROUPS, "--list")
