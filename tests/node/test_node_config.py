"""Every configuration error names its key and says what is right."""

from __future__ import annotations

import json
import tomllib

import pytest

from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.errors import KafkaError
from tidelog.log.cleaner import CleanerConfig
from tidelog.node.config import (
    CLUSTER_ID_CHARACTERS_MAX,
    NODE_KEYS,
    PATH_CHARACTERS_MAX,
    RACK_CHARACTERS_MAX,
    node_settings,
    parse_config,
)
from tidelog.node.config_text import config_text
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
    assert config.controller.session_timeout_ms == 9000
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
        retry_interval_ms=80,
        snapshot_interval_bytes=5000,
        wal_reserve_bytes=10000,
    )
    usual = RaftConfig(cluster_id="abc", election_timeout_max_ms=2000, retry_interval_ms=80)
    assert parse_config(VALID).raft == usual
    slow = parse_config(VALID + '"controller.quorum.election.timeout.ms" = 5000').raft
    assert (slow.election_timeout_min_ms, slow.election_timeout_max_ms) == (5000, 10_000)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('"controller.quorum.engine" = "zookeeper"', "must be one of tidelog, pysyncobj"),
        ('"controller.quorum.heartbeat.interval.ms" = 400', "must be below a third of controller"),
        ('"metadata.log.reserve.bytes" = 4096', "must be at least twice metadata.log.max"),
        ('"queued.max.request.bytes" = 4096', "must be at least socket.request.max.bytes"),
        ('"socket.request.max.bytes" = 536870912', "must be a whole number from 1024 to"),
        ('"http.port" = 70000', "http.port = 70000: must be a whole number from 0 to 65535"),
        ('"process.roles" = ["boss"]', "process.roles"),
        ('"process.roles" = []', "process.roles"),
        ('"no.such.key" = 1', "unknown key 'no.such.key'"),
        ('"auto.create.topics.enable" = 1', "must be true or false"),
        ("= 3", "not valid TOML"),
        ('"log.dir" = "/x"', "unknown key 'log.dir': did you mean 'log.dirs'?"),
        ('"zebra" = 1', "unknown key 'zebra': see docs/CONFIGURATION.md"),
        ('[log]\ndirs = "/y"', "log.dirs is given twice"),
        ('"http.port" = "80"', "http.port = '80': must be a whole number"),
        ('"broker.rack" = 7', "broker.rack = 7: must be 0 to 249 printable characters"),
        ('"broker.rack" = true', "broker.rack = True: must be 0 to 249 printable characters"),
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


@pytest.mark.parametrize(
    ("name", "longest"),
    [("broker.rack", RACK_CHARACTERS_MAX), ("log.dirs", PATH_CHARACTERS_MAX)],
)
def test_a_text_is_bounded(name: str, longest: int) -> None:
    variable = NODE_KEYS[name].variable
    assert node_settings(VALID, {variable: "x" * longest}).values[name] == "x" * longest
    with pytest.raises(KafkaError, match=f"must be . to {longest} printable characters"):
        parse_config(VALID, {variable: "x" * (longest + 1)})


@pytest.mark.parametrize("name", ["node.id", "listeners", "log.dirs", "cluster.id"])
def test_missing_required_key_is_named(name: str) -> None:
    text = "\n".join(line for line in VALID.splitlines() if f'"{name}"' not in line)
    with pytest.raises(KafkaError, match=f"{name} is missing"):
        parse_config(text)


def test_controller_must_stand_among_the_voters_at_its_own_address() -> None:
    with pytest.raises(KafkaError, match=r"must name node 2 at 127\.0\.0\.1:9199"):
        parse_config(VALID.replace('"127.0.0.1:9193"\n"log', '"127.0.0.1:9199"\n"log'))


@pytest.mark.parametrize(
    "given", ['"1@h:0"', '"1@h:1,1@h:2"', '"h:1"', '{"x" = "h:1"}', "{}", "[]"]
)
def test_voters_have_an_id_and_an_address_each(given: str) -> None:
    lines = [line for line in VALID.splitlines() if "voters" not in line]
    with pytest.raises(
        KafkaError, match=r"controller\.quorum\.voters = .*: must be a list such as"
    ):
        parse_config("\n".join([*lines, f'"controller.quorum.voters" = {given}']))


def test_a_table_is_read_as_dotted_keys() -> None:
    nested = """
node.id = 2
cluster.id = "abc"
listeners = "127.0.0.1:9193"

[log]
dirs = "/data/node-2/"
cleaner.backoff.ms = 7

[controller.quorum]
heartbeat.interval.ms = 100

[controller.quorum.voters]
1 = "127.0.0.1:9192"
2 = "127.0.0.1:9193"
"""
    flat = '"log.cleaner.backoff.ms" = 7\n"controller.quorum.heartbeat.interval.ms" = 100\n'
    assert parse_config(nested) == parse_config(VALID + flat)


def test_the_environment_goes_before_the_file_and_the_file_before_the_default() -> None:
    environ = {"TIDELOG_HTTP_PORT": "81", "TIDELOG_LOG_CLEANER_ENABLE": "false", "PATH": "/bin"}
    text = VALID + '"http.port" = 80\n"broker.rack" = "b"\n'
    config = parse_config(text, environ)
    assert (config.http_port, config.rack, config.replica.cleaner.enable) == (81, "b", False)
    sources = node_settings(text, environ).sources
    assert sources["http.port"] == "TIDELOG_HTTP_PORT"
    assert (sources["broker.rack"], sources["num.partitions"]) == ("file", "default")


def test_the_environment_alone_configures_a_node() -> None:
    environ = {
        "TIDELOG_NODE_ID": "2",
        "TIDELOG_CLUSTER_ID": "abc",
        "TIDELOG_LISTENERS": "127.0.0.1:9193",
        "TIDELOG_LOG_DIRS": "/data/node-2",
        "TIDELOG_PROCESS_ROLES": "broker,controller",
        "TIDELOG_CONTROLLER_QUORUM_VOTERS": "1@127.0.0.1:9192,2@127.0.0.1:9193",
    }
    assert parse_config("", environ) == parse_config(VALID)


def test_a_value_from_the_environment_is_refused_under_its_variable() -> None:
    with pytest.raises(KafkaError, match=r"TIDELOG_HTTP_PORT='x': must be a whole number"):
        parse_config(VALID, {"TIDELOG_HTTP_PORT": "x"})


def test_a_variable_that_is_nearly_a_key_is_refused_and_others_are_not_ours() -> None:
    parse_config(VALID, {"TIDELOG_BOOTSTRAP": "h:1", "TIDELOG_SERVICE_HOST": "10.0.0.1"})
    with pytest.raises(KafkaError, match="'TIDELOG_LOG_DIR': did you mean 'TIDELOG_LOG_DIRS'"):
        parse_config(VALID, {"TIDELOG_LOG_DIR": "/x"})


def test_all_errors_are_told_at_once() -> None:
    text = VALID.replace('"cluster.id" = "abc"', '"cluster.idd" = "abc"')
    with pytest.raises(KafkaError) as caught:
        parse_config(text + '"controller.quorum.heartbeat.interval.ms" = 400\n"http.port" = -1\n')
    lines = caught.value.message.splitlines()
    assert lines[0] == "node configuration: 4 errors"
    expected = [
        "unknown key 'cluster.idd'",
        "cluster.id is missing",
        "http.port = -1",
        "a third of",
    ]
    assert all(part in line for part, line in zip(expected, lines[1:], strict=True))


def test_every_default_is_what_its_own_key_reads() -> None:
    """Otherwise the documentation would show a value that the key refuses."""
    defaults = {n: k for n, k in NODE_KEYS.items() if k.default is not None}
    for name, key in defaults.items():
        assert key.parse(key.default_text) == key.default, name
    lines = {name: _toml(key.default) for name, key in defaults.items()}
    assert parse_config(VALID + config_text(lines)) == parse_config(VALID)


def _toml(default: object) -> object:
    return list(default) if isinstance(default, tuple) else default


def test_every_key_is_documented_and_reaches_the_configuration() -> None:
    assert all(key.doc.endswith(".") for key in NODE_KEYS.values())
    assert len({key.variable for key in NODE_KEYS.values()}) == len(NODE_KEYS)
    # What they do: `test_listener_keys.py`.
    given = set(tomllib.loads(VALID)) | {"process.roles"}
    given |= {"advertised.listeners", "inter.broker.listener.name"}
    base = parse_config(VALID)
    with_http = parse_config(VALID + '"http.port" = 81\n')
    for name, key in NODE_KEYS.items():
        if name not in given:
            needs_http = name == "http.produce.enable"
            text, plain = (VALID + '"http.port" = 81\n', with_http) if needs_http else (VALID, base)
            assert parse_config(text, {key.variable: _another(name)}) != plain, name


def _another(name: str) -> str:
    """A valid value of the key that is not its default."""
    key = NODE_KEYS[name]
    if isinstance(key.default, bool):
        return json.dumps(not key.default)
    if name == "controller.quorum.engine":
        return "pysyncobj"
    if name == "http.port":
        return "80"
    if isinstance(key.default, int):
        low = key.default - 1
        return str(low if key.type.parse(str(low)) is not None else key.default + 1)
    return "other"
