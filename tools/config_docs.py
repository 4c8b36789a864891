"""Writes docs/CONFIGURATION.md from the declarations in the code, or checks that it is current."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tidelog.log.config import TOPIC_CONFIGS
from tidelog.node.config import KEYS

PATH = Path(__file__).resolve().parent.parent / "docs" / "CONFIGURATION.md"
INTRODUCTION = """\
# Configuration

Made by `make docs` from the declarations in the code; do not edit.

## Nodes

Flat TOML with Kafka's names: `python -m tidelog.node --config FILE`. `tidelog cluster start`
writes `.data/node-N.toml` once; edit it there and start the node again.

"""
TOPICS = """\

## Topics

`tidelog topics create NAME --config KEY=VALUE`, and at any time `tidelog configs set NAME
KEY=VALUE` or `delete NAME KEY`: counted from the next record on, without a restart. With
`--cluster` instead of the name they are the defaults of all topics. `tidelog configs describe
NAME` says what is in effect and where it is set: the topic goes before the cluster, the cluster
before the default below.

"""


def text() -> str:
    """The whole page."""
    nodes = [("key", "default", "meaning")]
    nodes += [(f"`{key.name}`", _shown(key.default), key.doc) for key in KEYS]
    topics = [("key", "type", "default", "must be", "meaning")]
    topics += [
        (f"`{key.name}`", key.type.name, f"`{key.default_text}`", key.type.rule, key.doc)
        for key in TOPIC_CONFIGS.values()
    ]
    return INTRODUCTION + _table(nodes) + TOPICS + _table(topics)


def _shown(default: object) -> str:
    return "none" if default is None else f"`{json.dumps(default)}`"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *body])


def main(arguments: list[str]) -> int:
    """`config_docs.py` writes, `config_docs.py --check` only tells."""
    if arguments != ["--check"]:
        PATH.write_text(text(), encoding="utf-8")
        return 0
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text():
        return 0
    print("docs/CONFIGURATION.md: not what the code declares; run `make docs`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
