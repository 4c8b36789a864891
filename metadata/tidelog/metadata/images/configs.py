"""Configs that were set on the cluster and on topics: replay and snapshot.

The image of the cluster's own is a mapping by key; those of a topic are in its `TopicImage`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.metadata.images.copied import Copied
from tidelog.metadata.images.topics import TopicsDelta
from tidelog.v1 import metadata_records_pb2 as records


class ConfigsDelta:
    """The configs while the records of one batch apply; those of topics change in `topics`."""

    def __init__(self, cluster_configs: Mapping[str, str], topics: TopicsDelta) -> None:
        self._cluster_configs = Copied(cluster_configs)
        self._topics = topics

    @property
    def cluster_configs(self) -> Mapping[str, str]:
        """The cluster's own configs after the records so far."""
        return self._cluster_configs.now

    def set_config(self, record: records.ConfigRecord) -> None:
        """Set a config, or take it back."""
        if record.resource_type == records.ConfigRecord.CLUSTER:
            _set_or_reset(self._cluster_configs.changed, record)
            return
        configs = dict(self._topics.configs_of(record.resource_name))
        _set_or_reset(configs, record)
        self._topics.set_configs(record.resource_name, configs)


def records_of(cluster_configs: Mapping[str, str]) -> Iterator[records.MetadataRecord]:
    """The records that make the cluster's own configs again; for topics see `topics.records_of`."""
    for key, value in cluster_configs.items():
        config = records.ConfigRecord(
            resource_type=records.ConfigRecord.CLUSTER, key=key, value=value
        )
        yield records.MetadataRecord(config=config)


def _set_or_reset(configs: dict[str, str], record: records.ConfigRecord) -> None:
    if record.HasField("value"):
        configs[record.key] = record.value
    else:
        configs.pop(record.key, None)
