"""Configs of a BROKER resource: the node's own, which its file and environment set. Pure.

They are read only here. A value other than the built-in one is said to be static.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.core.config_keys import values_of
from tidelog.core.config_types import as_text
from tidelog.node.config import NODE_KEYS, NodeConfig

STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 4, 5
"""Kafka's numbers of sources."""


class OwnConfig(NamedTuple):
    """A key of a node with its value as text; None: it has none."""

    name: str
    value: str | None
    source: int
    default: str | None
    type: str
    doc: str


def own_configs(config: NodeConfig) -> Iterator[OwnConfig]:
    """Every key of the node, in the order of the documentation."""
    values = values_of(config)
    for name, key in NODE_KEYS.items():
        value = values[name]
        is_default = not key.is_required and value == key.default
        yield OwnConfig(
            name,
            None if value is None else as_text(value),
            DEFAULT_CONFIG if is_default else STATIC_BROKER_CONFIG,
            None if key.default is None else key.default_text,
            key.type.name,
            key.doc,
        )
