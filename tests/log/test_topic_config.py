"""Topic settings by Kafka's names."""

from __future__ import annotations

import pytest

from tidelog.log.config import TOPIC_CONFIGS, LogConfig, log_config
from tidelog.log.errors import KafkaError
from tidelog.v1 import common_pb2


def test_defaults_are_kafkas() -> None:
    config = log_config({})
    assert config == LogConfig()
    assert (config.segment_bytes, config.max_message_bytes) == (1073741824, 1048588)
    assert (config.segment_index_bytes, config.index_interval_bytes) == (10485760, 4096)
    assert (config.flush_messages, config.min_insync_replicas) == (2**63 - 1, 1)


def test_every_key_sets_its_own_field() -> None:
    for name, key in TOPIC_CONFIGS.items():
        changed = log_config({name: str(key.minimum)})
        assert getattr(changed, name.replace(".", "_")) == key.minimum
        assert key.doc.endswith(".")


@pytest.mark.parametrize("text", ["0", "x", "", "-1", str(2**31), "1.5", "1e3"])
def test_a_bad_value_is_refused_with_name_value_and_range(text: str) -> None:
    with pytest.raises(KafkaError) as caught:
        log_config({"min.insync.replicas": text})
    assert caught.value.code == common_pb2.INVALID_CONFIG
    assert f"min.insync.replicas={text!r}" in caught.value.message
    assert "from 1 to 2147483647" in caught.value.message


def test_an_unknown_key_is_refused_with_the_nearest_and_all_known() -> None:
    with pytest.raises(KafkaError) as caught:
        log_config({"segmnt.bytes": "1000"})
    assert caught.value.code == common_pb2.INVALID_CONFIG
    assert "'segmnt.bytes' (did you mean segment.bytes?)" in caught.value.message
    assert all(name in caught.value.message for name in TOPIC_CONFIGS)
