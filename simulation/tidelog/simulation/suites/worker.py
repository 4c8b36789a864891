"""A worker process of a suite: runs its seeds one by one, a JSON line for each.

`python -m tidelog.simulation.suites.worker --suite S --seeds FIRST:END:STEP`, with `--choice C`,
`--engine E`, `--patch M:F`, `--no-faults` as needed. The patch, a function without arguments, is
called once before the first seed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from importlib import import_module

import structlog

from tidelog.raft.config import ENGINES
from tidelog.simulation.suites.suite import NAMES, suite_named, to_line


def main() -> None:
    """Run the seeds the command line names."""
    parser = argparse.ArgumentParser(description="Run seeds of a suite.")
    parser.add_argument("--suite", choices=NAMES, required=True)
    parser.add_argument("--seeds", required=True, help="FIRST:END:STEP")
    parser.add_argument("--choice", help="a scenario; see Suite.choices")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    parser.add_argument("--patch", help="MODULE:FUNCTION, called before the first seed")
    parser.add_argument("--no-faults", action="store_true", help="the control run")
    arguments = parser.parse_args()
    silence_nodes()
    suite = suite_named(arguments.suite)
    if arguments.patch is not None:
        apply_patch(arguments.patch)
    for seed in range(*map(int, arguments.seeds.split(":"))):
        result = suite.run_seed(
            seed,
            choice=arguments.choice or suite.default,
            engine=arguments.engine,
            has_faults=not arguments.no_faults,
            timeline_sink=None,
        )
        sys.stdout.write(to_line(result) + "\n")
        sys.stdout.flush()


def apply_patch(name: str) -> None:
    """Call the function `MODULE:FUNCTION`, which changes this process for good."""
    module, _, function = name.partition(":")
    getattr(import_module(module), function)()


def silence_nodes() -> None:
    """Let simulated nodes log nothing: they are judged by what they do."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    # Those of a node that was killed before their first step.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)


if __name__ == "__main__":
    main()
