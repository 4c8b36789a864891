"""Every configuration error names its key and says what is right."""

from __future__ import annotations

import pytest

from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.errors import KafkaError
from tidelog.log.cleaner import CleanerConfig
from tidelog.node.config import CLUSTER_ID_CHARACTERS_MAX, KEYS, parse_config
from tidelog.raft.config import RaftConfig
from tidelog.v1 import common_pb2

VALID = """
"node.id" = 2
"cluster.id" = "abc"
"listeners" = "127.0.0.1:9193"
"log.dirs" = "/data/node-2/"
"controller.quorum.voters" = {"1" = "127.0.0.1:9192", "2" = "127.0.0.1:9193"}
"""


def test_defaults_fill_what_is_not_given() -> None:
    config = parse_config(VALID)
    assert (config.node_id, config.data_dir, config.http_port) == (2, "/data/node-2", None)
    assert config.is_broker
    assert config.is_controller
    assert config.controller.session_timeout_ms == 3000
    assert config.controller.cluster_id == "abc"


def test_the_upkeep_of_logs_is_what_the_file_says() -> None:
    lines = """
"log.retention.check.interval.ms" = 1
"log.scrub.bytes.per.second" = 0
"log.scrub.interval.ms" = 3
"log.cleaner.enable" = false
"log.cleaner.dedupe.buffer.size" = 1048576
"log.cleaner.io.max.bytes.per.second" = 1024
"log.cleaner.backoff.ms" = 7
"""
    replica = parse_config(VALID + lines).replica
    assert replica.log_retention_check_interval_ms == 1
    assert (replica.log_scrub_bytes_per_second, replica.log_scrub_interval_ms) == (0, 3)
    assert replica.cleaner == CleanerConfig(
        enable=False, dedupe_buffer_size=1 << 20, io_max_bytes_per_second=1024, backoff_ms=7
    )
    assert parse_config(VALID).replica == ReplicaConfig()


def test_the_quorum_is_what_the_file_says() -> None:
    lines = """
"controller.quorum.election.timeout.ms" = 1000
"controller.quorum.heartbeat.interval.ms" = 100
"controller.quorum.engine" = "pysyncobj"
"metadata.log.max.record.bytes.between.snapshots" = 5000
"metadata.log.reserve.bytes" = 10000
"""
    assert parse_config(VALID + lines).raft == RaftConfig(
        cluster_id="abc",
        engine="pysyncobj",
        election_timeout_min_ms=1000,
        election_timeout_max_ms=2000,
        heartbeat_interval_ms=100,
        snapshot_interval_bytes=5000,
        wal_reserve_bytes=10000,
    )
    assert parse_config(VALID).raft == RaftConfig(cluster_id="abc")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('"controller.quorum.engine" = "zookeeper"', "must be one of tidelog, pysyncobj"),
        ('"controller.quorum.heartbeat.interval.ms" = 400', "must be below a third of controller"),
        ('"metadata.log.reserve.bytes" = 4096', "must be at least twice metadata.log.max"),
        ('"http.port" = 70000', "http.port = 70000: must be a whole number from 0 to 65535"),
        ('"process.roles" = ["boss"]', "process.roles"),
        ('"process.roles" = []', "process.roles"),
        ('"no.such.key" = 1', "unknown key 'no.such.key'"),
        ('"auto.create.topics.enable" = 1', "must be true or false"),
        ("= 3", "not valid TOML"),
    ],
)
def test_wrong_value_is_named(line: str, named: str) -> None:
    with pytest.raises(KafkaError) as caught:
        parse_config(VALID + line)
    assert caught.value.code == common_pb2.INVALID_CONFIG
    assert named in caught.value.message


@pytest.mark.parametrize(
    "cluster_id",
    ["", "c" * (CLUSTER_ID_CHARACTERS_MAX + 1), "a\\nb"],
    ids=["none", "long", "lines"],
)
def test_a_cluster_id_is_bounded_and_printable(cluster_id: str) -> None:
    with pytest.raises(KafkaError, match=r"cluster\.id"):
        parse_config(VALID.replace('"abc"', f'"{cluster_id}"'))
    longest = "c" * CLUSTER_ID_CHARACTERS_MAX
    assert parse_config(VALID.replace('"abc"', f'"{longest}"')).cluster_id == longest


@pytest.mark.parametrize("name", ["node.id", "listeners", "log.dirs", "cluster.id"])
def test_missing_required_key_is_named(name: str) -> None:
    text = "\n".join(line for line in VALID.splitlines() if f'"{name}"' not in line)
    with pytest.raises(KafkaError, match=f"{name} is missing"):
        parse_config(text)


def test_controller_must_stand_among_the_voters_at_its_own_address() -> None:
    with pytest.raises(KafkaError, match=r"must name node 2 at 127\.0\.0\.1:9199"):
        parse_config(VALID.replace('"127.0.0.1:9193"\n"log', '"127.0.0.1:9199"\n"log'))


def test_every_key_is_documented_once() -> None:
    names = [key.name for key in KEYS]
    assert len(names) == len(set(names))
    assert all(key.doc.endswith(".") for key in KEYS)
