"""A worker process of the Raft suite: runs its seeds one by one, a JSON line for each.

`python -m tidelog.chaos.sim_raft.worker --seeds FIRST:END:STEP [--engine E] [--patch M:F]`. The
patch, a function without arguments, is called once before the first seed.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from tidelog.chaos.sim_raft.seed_run import ENGINES, run_seed, silence_voters
from tidelog.chaos.sim_raft.suite import to_line


def main() -> None:
    """Run the seeds the command line names."""
    parser = argparse.ArgumentParser(description="Run seeds of the Raft suite.")
    parser.add_argument("--seeds", required=True, help="FIRST:END:STEP")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    parser.add_argument("--patch", help="MODULE:FUNCTION, called before the first seed")
    parser.add_argument("--no-faults", action="store_true", help="the control run")
    arguments = parser.parse_args()
    silence_voters()
    if arguments.patch is not None:
        apply_patch(arguments.patch)
    for seed in range(*map(int, arguments.seeds.split(":"))):
        result = run_seed(seed, engine=arguments.engine, has_faults=not arguments.no_faults)
        sys.stdout.write(to_line(result) + "\n")
        sys.stdout.flush()


def apply_patch(name: str) -> None:
    """Call the function `MODULE:FUNCTION`, which changes this process for good."""
    module, _, function = name.partition(":")
    getattr(import_module(module), function)()


if __name__ == "__main__":
    main()
