"""Topic settings by Kafka's names."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from tidelog.core.config_keys import SHOWN_CHARACTERS_MAX
from tidelog.core.errors import KafkaError
from tidelog.log.config import (
    TOPIC_CONFIGS,
    LogConfig,
    log_config,
    topic_config,
)
from tidelog.v1 import common_pb2

MAX_I64 = 2**63 - 1

# A value other than the default for each key, as text and as parsed.
OTHERS = {
    "segment.bytes": ("14", 14),
    "segment.ms": ("1", 1),
    "segment.index.bytes": ("12", 12),
    "index.interval.bytes": ("0", 0),
    "retention.ms": ("-1", -1),
    "retention.bytes": ("0", 0),
    "cleanup.policy": ("compact, delete", ("compact", "delete")),
    "min.cleanable.dirty.ratio": ("0.25", 0.25),
    "min.compaction.lag.ms": ("5", 5),
    "max.compaction.lag.ms": (str(MAX_I64 - 1), MAX_I64 - 1),
    "delete.retention.ms": ("0", 0),
    "file.delete.delay.ms": ("0", 0),
    "max.message.bytes": ("2147483647", 2**31 - 1),
    "message.timestamp.type": ("LogAppendTime", "LogAppendTime"),
    "message.timestamp.before.max.ms": ("0", 0),
    "message.timestamp.after.max.ms": (str(MAX_I64), MAX_I64),
    "flush.messages": ("1", 1),
    "flush.ms": ("0", 0),
    "compression.type": ("zstd", "zstd"),
    "min.insync.replicas": ("2", 2),
    "unclean.leader.election.enable": ("true", True),
}
BAD = {
    "segment.bytes": ["13", str(2**31), "1_000", " 100", "1e3", "", "x", "٣٣٣"],
    "segment.ms": ["0", str(2**63), "9" * 5000],
    "segment.index.bytes": ["11"],
    "index.interval.bytes": ["-1"],
    "retention.ms": ["-2"],
    "retention.bytes": ["-2"],
    "cleanup.policy": [
        "",
        "compact,",
        "compact,compact",
        "Delete",
        "none",
        "compact;delete",
        " delete",
        "delete,  compact",
    ],
    "min.cleanable.dirty.ratio": ["1.1", "-0.1", "nan", "inf", "", ".", "half", "0,5"],
    "min.compaction.lag.ms": ["-1"],
    "max.compaction.lag.ms": ["0"],
    "delete.retention.ms": ["-1"],
    "file.delete.delay.ms": ["-1"],
    "max.message.bytes": ["-1"],
    "message.timestamp.type": ["createtime", "", "NoTimestampType"],
    "message.timestamp.before.max.ms": ["-1"],
    "message.timestamp.after.max.ms": ["-1"],
    "flush.messages": ["0"],
    "flush.ms": ["-1"],
    "compression.type": ["none", "brotli", ""],
    "min.insync.replicas": ["0", "1.5", "-1"],
    "unclean.leader.election.enable": ["True", "1", "", "yes"],
}


def test_defaults_are_kafkas() -> None:
    config = log_config({})
    assert config == LogConfig()
    assert asdict(config) == {
        "segment_bytes": 1073741824,
        "segment_ms": 604800000,
        "segment_index_bytes": 10485760,
        "index_interval_bytes": 4096,
        "retention_ms": 604800000,
        "retention_bytes": -1,
        "cleanup_policy": ("delete",),
        "min_cleanable_dirty_ratio": 0.5,
        "min_compaction_lag_ms": 0,
        "max_compaction_lag_ms": MAX_I64,
        "delete_retention_ms": 86400000,
        "file_delete_delay_ms": 60000,
        "max_message_bytes": 1048588,
        "message_timestamp_type": "CreateTime",
        "message_timestamp_before_max_ms": MAX_I64,
        "message_timestamp_after_max_ms": 3600000,
        "flush_messages": MAX_I64,
        "flush_ms": MAX_I64,
        "compression_type": "producer",
        "min_insync_replicas": 1,
        "unclean_leader_election_enable": False,
    }


def test_every_key_sets_its_own_field_and_no_other() -> None:
    assert OTHERS.keys() == TOPIC_CONFIGS.keys()
    for name, (text, value) in OTHERS.items():
        changed = asdict(log_config({name: text}))
        assert changed == asdict(LogConfig()) | {name.replace(".", "_"): value}
        assert TOPIC_CONFIGS[name].doc.endswith(".")


def test_a_default_is_written_as_it_is_read() -> None:
    assert (
        log_config({name: key.default_text for name, key in TOPIC_CONFIGS.items()}) == LogConfig()
    )


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in BAD for text in BAD[name]])
def test_a_bad_value_is_refused_with_name_value_and_what_is_right(name: str, text: str) -> None:
    with pytest.raises(KafkaError) as caught:
        log_config({name: text})
    assert caught.value.code == common_pb2.INVALID_CONFIG
    assert f"{name}={text[:260]!r}: must be {TOPIC_CONFIGS[name].type.rule}" in caught.value.message


def test_no_value_that_is_taken_is_long() -> None:
    for name in TOPIC_CONFIGS:
        for filler in "0 ,x":
            for text in (OTHERS[name][0] + filler * 1000, filler * 1000 + OTHERS[name][0]):
                with pytest.raises(KafkaError) as caught:
                    log_config({name: text})
                assert len(caught.value.message) < 500


def test_what_is_right_is_a_range_or_the_words() -> None:
    assert TOPIC_CONFIGS["min.insync.replicas"].type.rule == "a whole number from 1 to 2147483647"
    assert TOPIC_CONFIGS["cleanup.policy"].type.rule == "a comma-separated list of delete, compact"
    assert TOPIC_CONFIGS["message.timestamp.type"].type.rule == "one of CreateTime, LogAppendTime"


def test_an_unknown_key_is_refused_with_the_nearest_and_all_known() -> None:
    with pytest.raises(KafkaError) as caught:
        log_config({"segmnt.bytes": "1000"})
    assert caught.value.code == common_pb2.INVALID_CONFIG
    assert "'segmnt.bytes' (did you mean segment.bytes?)" in caught.value.message
    assert all(name in caught.value.message for name in TOPIC_CONFIGS)
    with pytest.raises(KafkaError) as caught:
        log_config({"x" * 1_000_000: "1000"})
    assert len(caught.value.message) < 1000


def test_a_topics_own_value_goes_before_the_clusters_default_and_that_before_ours() -> None:
    cluster = {"segment.bytes": "2000", "flush.messages": "7"}
    config = log_config({"segment.bytes": "1000"}, defaults=cluster)
    assert (config.segment_bytes, config.flush_messages, config.segment_ms) == (1000, 7, 604800000)


def test_compaction_lags_that_contradict_each_other_are_refused_wherever_they_were_set() -> None:
    for own, cluster in [
        ({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"}, {}),
        ({"min.compaction.lag.ms": "10"}, {"max.compaction.lag.ms": "9"}),
        ({"max.compaction.lag.ms": "9"}, {"min.compaction.lag.ms": "10"}),
    ]:
        with pytest.raises(KafkaError) as caught:
            log_config(own, defaults=cluster)
        assert caught.value.code == common_pb2.INVALID_CONFIG
        assert "min.compaction.lag.ms=10: must be at most" in caught.value.message
    log_config({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "9"})


def test_the_limits_on_timestamps_are_independent_of_each_other() -> None:
    log_config({"message.timestamp.before.max.ms": "0", "message.timestamp.after.max.ms": "5"})
    log_config({"message.timestamp.before.max.ms": "5", "message.timestamp.after.max.ms": "0"})


@pytest.mark.parametrize(
    ("policy", "is_deleted", "is_compacted"),
    [("delete", True, False), ("compact", False, True), ("compact,delete", True, True)],
)
def test_the_cleanup_policy_holds_delete_compact_or_both(
    policy: str, is_deleted: bool, is_compacted: bool
) -> None:
    config = log_config({"cleanup.policy": policy})
    assert (config.is_deleted, config.is_compacted) == (is_deleted, is_compacted)


def test_a_value_or_a_name_of_many_characters_is_not_repeated_in_full() -> None:
    with pytest.raises(KafkaError) as bad_value:
        topic_config("segment.bytes").parse("9" * 100_000)
    with pytest.raises(KafkaError) as bad_name:
        topic_config("n" * 100_000)
    for refused in (bad_value, bad_name):
        assert len(refused.value.message) < 2 * SHOWN_CHARACTERS_MAX + 2_000
