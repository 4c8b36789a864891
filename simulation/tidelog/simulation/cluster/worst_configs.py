"""Configurations at their worst, drawn from what the tables of keys call legal. Pure.

The cluster's defaults may be anything legal: a topic that promises something states it itself, and
so must the product's internal topics. Topics and nodes have any value of the keys on which no
promise to a client rests. Half of the draws are at an edge, the others of any order of magnitude.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from math import exp, log
from typing import Any, TypeVar

from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.config_keys import ConfigKey, build_config, keys_of
from tidelog.core.errors import InvalidConfigError
from tidelog.log.config import TOPIC_CONFIGS, log_config

WORST_PROBABILITY = 0.3
KEY_PROBABILITY = 0.5
FREE_OF_TOPICS = (
    "segment.ms",
    "segment.index.bytes",
    "index.interval.bytes",
    "min.cleanable.dirty.ratio",
    "max.compaction.lag.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
)
"""Keys of topics that change no promise: how often files end and go, how often is flushed."""
FREE_OF_NODES = (
    "log.cleaner.enable",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "unread.max.response.bytes",
    "connection.unread.max.response.bytes",
    "unread.max.answer.bytes",
    "replica.unread.max.response.bytes",
    "compressed.records.inspection.threads",
)
"""Keys of nodes that change no promise but time and room."""
C = TypeVar("C")


def draw_value(random: SeededRandom, key: ConfigKey) -> str:
    """A legal value of a key, as text."""
    edges = key.type.extremes
    if not key.type.name.startswith(("INT", "LONG")) or random.random() < 0.5:
        return one_of(random, edges)
    low, high = map(int, edges)
    span = high - low
    return str(low + min(span, int(exp(random.uniform(0.0, log(span + 1))))))


def draw_defaults(random: SeededRandom) -> Mapping[str, str]:
    """The cluster's defaults of topics: any legal ones."""
    return _drawn(random, TOPIC_CONFIGS)


def stated(random: SeededRandom) -> Mapping[str, str]:
    """Every config of a topic, stated: the product's defaults, and any value of free keys."""
    own = {name: key.default_text for name, key in TOPIC_CONFIGS.items()}
    return {**own, **_drawn(random, FREE_OF_TOPICS)}


def with_worst_keys(random: SeededRandom, config: ReplicaConfig) -> ReplicaConfig:
    """The config with any value of free keys."""
    keys = keys_of(ReplicaConfig)
    for name in FREE_OF_NODES:
        if random.random() < KEY_PROBABILITY:
            config = _with(config, name, keys[name].parse(draw_value(random, keys[name])))
    return config


def _drawn(random: SeededRandom, names: Collection[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name in sorted(names):
        if random.random() < KEY_PROBABILITY:
            value = draw_value(random, TOPIC_CONFIGS[name])
            try:
                log_config({**found, name: value})
            except InvalidConfigError:
                continue  # Not legal beside another one.
            found[name] = value
    return found


def _with(config: C, name: str, value: object) -> C:
    """The config, or one within it, with one key's value; what no key declares stays."""
    kind: Any = type(config)  # of a dataclass
    made, usual = build_config(kind, {name: value}), kind()
    for one in fields(kind):
        if getattr(made, one.name) != getattr(usual, one.name):
            inner = getattr(config, one.name)
            changed = _with(inner, name, value) if is_dataclass(inner) else value
            return replace(config, **{one.name: changed})  # type: ignore[type-var]
    return config  # It is the default.
