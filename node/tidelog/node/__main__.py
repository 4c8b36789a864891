"""`python -m tidelog.node --config FILE [--log FILE]`: one node as a process of its own.

Exits 0 after a clean stop (SIGTERM, SIGINT), 1 with one line on stderr when it cannot run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.node.process import run_node


def main() -> int:
    """Read the configuration, run the node until a signal stops it."""
    parser = argparse.ArgumentParser(prog="python -m tidelog.node", description=__doc__)
    parser.add_argument("--config", required=True, type=Path, help="flat TOML, Kafka's key names")
    parser.add_argument(
        "--log", type=Path, help="file for stdout and stderr; rotated at 8 MiB, one old file kept"
    )
    arguments = parser.parse_args()
    return run_node(arguments.config, log_path=arguments.log)


if __name__ == "__main__":
    sys.exit(main())
