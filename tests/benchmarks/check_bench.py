"""How fast `tidelog check` is: `python -m tests.benchmarks.check_bench [--runs N] [OPERATIONS …]`.

One JSON line a size: operations a second, by the clock and in processor time, from the command's
start to its end, reading and parsing the file included; microseconds an operation, and that as a
share of the smallest size's, which shows whether it is linear; bytes of memory an operation, of the
largest the process had. Measures are [median, least, most].

An operation is a send or a poll: of five four are sends by idempotent producers, one is a poll of
up to ten records; six partitions, two readers, and final polls of 500 records. Everything is right,
so that every check goes through to its end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.measures import Figure, spread

from tidelog.history.history import Poll, Send
from tidelog.history.history_lines import header_line, line_of

SIZES = (100_000, 300_000, 1_000_000, 3_000_000)
PARTITIONS, PRODUCERS, READERS = 6, 4, 2
POLL_RECORDS, FINAL_RECORDS = 10, 500
COMMAND = "from tidelog.cli.main import main; main()"
SECONDS_BETWEEN, LATENCY_S = 0.0001, 0.01


class Run(NamedTuple):
    """One run of the command."""

    wall_s: float
    cpu_s: float
    memory_bytes: int


def check_figures(runs: int, sizes: Iterable[int] = SIZES) -> Iterator[Figure]:
    """Of each size, the smallest first."""
    first_us = 0.0
    for size in sorted(sizes):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "history.jsonl"
            with path.open("w", encoding="ascii") as file:
                operations = sum(file.write(f"{line}\n") > 0 for line in lines(size)) - 1
            done = [run(path, operations) for _ in range(runs)]
            file_bytes = path.stat().st_size
        cpu_us = spread([one.cpu_s / operations * 1e6 for one in done])
        first_us = first_us or cpu_us[0]
        yield {
            "operations": operations,
            "file_mb": round(file_bytes / 1e6),
            "ops_per_s": spread([operations / one.wall_s for one in done]),
            "cpu_ops_per_s": spread([operations / one.cpu_s for one in done]),
            "cpu_us_per_op": cpu_us,
            "of_smallest": round(cpu_us[0] / first_us, 2),
            "memory_bytes_per_op": spread([one.memory_bytes / operations for one in done]),
        }


def run(path: Path, operations: int) -> Run:
    """Run the command on a history that is right; raises `RuntimeError` when it says otherwise."""
    out = path.with_suffix(".out")
    began_s = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", COMMAND, "check", "--json", str(path)],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, str(out), os.O_WRONLY | os.O_CREAT, 0o600)],
    )
    _, status, used = os.wait4(pid, 0)
    wall_s = time.perf_counter() - began_s
    printed = out.read_text()
    if status or json.loads(printed)["operations"] != operations:
        raise RuntimeError(f"status {status}: {printed}")
    return Run(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


def lines(operations: int) -> Iterator[str]:
    """A history of about so many calls, in the order in which they ended."""
    draw = random.Random(1)
    logs: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    positions: dict[tuple[str, int], int] = {}
    yield header_line([])
    for number in range(operations):
        at_s, partition = number * SECONDS_BETWEEN, draw.randrange(PARTITIONS)
        log = logs[partition]
        if number % 5:
            process = f"producer-{draw.randrange(PRODUCERS)}"
            log.append(b"%s-%d" % (process.encode(), number))
            yield line_of(_sent(process, number, partition, log, at_s))
        else:
            process = f"reader-{draw.randrange(READERS)}"
            position = positions.get((process, partition), 0)
            poll = _polled(process, number, partition, log, at_s, position, POLL_RECORDS)
            positions[process, partition] = position + len(poll.records)
            yield line_of(poll)
    for partition, log in enumerate(logs):
        for position in range(0, len(log), FINAL_RECORDS):
            at_s = operations * SECONDS_BETWEEN + 1
            poll = _polled("last", operations, partition, log, at_s, position, FINAL_RECORDS)
            poll.is_final = True
            yield line_of(poll)


def _sent(process: str, number: int, partition: int, log: list[bytes], at_s: float) -> Send:
    return Send(
        process=process,
        number=number,
        topic="orders",
        incarnation=0,
        partition=partition,
        value=log[-1],
        acks=-1,
        is_idempotent=True,
        invoked_s=at_s,
        ended_s=at_s + LATENCY_S,
        outcome="ok",
        offset=len(log) - 1,
    )


def _polled(
    process: str,
    number: int,
    partition: int,
    log: list[bytes],
    at_s: float,
    position: int,
    records_max: int,
) -> Poll:
    end = min(position + records_max, len(log))
    return Poll(
        process=process,
        number=number,
        topic="orders",
        incarnation=0,
        partition=partition,
        invoked_s=at_s,
        ended_s=at_s + LATENCY_S,
        position=position,
        records=tuple((offset, log[offset]) for offset in range(position, end)),
    )


def main() -> None:
    """Print a line a size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="OPERATIONS")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for figure in check_figures(options.runs, options.sizes):
        sys.stdout.write(json.dumps(figure) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
