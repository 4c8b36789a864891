"""Writes docs/CONFIGURATION.md from the declarations in the code, or checks that it is current."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tidelog.core.config_keys import ConfigKey
from tidelog.log.config import TOPIC_CONFIGS
from tidelog.node.config import NODE_KEYS

PATH = Path(__file__).resolve().parent.parent / "docs" / "CONFIGURATION.md"
INTRODUCTION = """\
# Configuration

Made by `make docs` from the declarations in the code; do not edit.

## Nodes

`python -m tidelog.node --config FILE`: TOML with Kafka's names. A table is read as dotted keys:
`[log]` with `dirs` is `log.dirs`. `tidelog cluster start` writes `.data/node-N.toml` once; edit it
there and start the node again.

Every key is an environment variable as well, in upper case, with underscores for dots and
`TIDELOG_` before it: `TIDELOG_NODE_ID`, `TIDELOG_LOG_DIRS`. Lists have commas, and voters are
`1@host:port,2@host:port`. The environment goes before the file, the file before the default.
`--check-config` starts nothing: it prints each key with its value and where that is from, or all
that is wrong. `read-only` keys take effect at the next start, `dynamic` ones at once.

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
    nodes, topics = _rows(NODE_KEYS.values()), _rows(TOPIC_CONFIGS.values())
    return INTRODUCTION + _table(nodes) + TOPICS + _table(topics)


def _rows(keys: Iterable[ConfigKey]) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [("key", "type", "default", "must be", "update", "meaning")]
    for key in keys:
        update = "dynamic" if key.is_dynamic else "read-only"
        rows.append((f"`{key.name}`", key.type.name, _default(key), key.type.rule, update, key.doc))
    return rows


def _default(key: ConfigKey) -> str:
    if key.is_required:
        return "required"
    return f"`{key.default_text}`" if key.default_text else "none"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *body])


def main(arguments: list[str]) -> int:
    """`config_docs.py` writes, `config_docs.py --check` only compares."""
    if arguments != ["--check"]:
        PATH.write_text(text(), encoding="utf-8")
        return 0
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text():
        return 0
    print("docs/CONFIGURATION.md: not what the code declares; run `make docs`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
