"""`python -m tidelog.node --config FILE [--log FILE]`: one node as a process of its own.

Exits 0 after a clean stop (SIGTERM, SIGINT), 1 with the reason on stderr when it cannot run. With
`--check-config` nothing runs: it prints every key with its value and source and exits 0, or all
errors and exits 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.core.config_types import as_text
from tidelog.core.errors import TidelogError
from tidelog.core.system import environment
from tidelog.node.config import NODE_KEYS, node_settings, parse_config
from tidelog.node.groups import group_assignors
from tidelog.node.process import read_config_text, run_node


def main() -> int:
    """Read the configuration, run the node until a signal stops it."""
    parser = argparse.ArgumentParser(prog="python -m tidelog.node", description=__doc__)
    parser.add_argument(
        "--config",
        type=Path,
        help="TOML with Kafka's key names; variables such as TIDELOG_NODE_ID go before it",
    )
    parser.add_argument(
        "--check-config", action="store_true", help="print the configuration, or its errors"
    )
    parser.add_argument(
        "--log", type=Path, help="file for stdout and stderr; rotated at 8 MiB, one old file kept"
    )
    arguments = parser.parse_args()
    if arguments.check_config:
        return _check(arguments.config)
    return run_node(arguments.config, log_path=arguments.log)


def _check(path: Path | None) -> int:
    """Print each key, its value and its source, or all errors; import what they name."""
    try:
        text = read_config_text(path)
        settings = node_settings(text, environment())
        config = parse_config(text, environment())
        if config.is_broker:
            group_assignors(config)
    except (TidelogError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    for name in NODE_KEYS:
        value = settings.values[name]
        shown = "" if value is None else as_text(value)
        sys.stdout.write(f"{name}={shown}  ({settings.sources[name]})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
