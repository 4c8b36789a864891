"""Seeds of a simulated test a second of a processor: `python -m tests.benchmarks.simulated_bench`.

One JSON line: a small test, 50 records and the kill of their leader, once for each seed; processor
seconds of a seed, [median, least, most], and seeds a second by the median. Imports not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from tests.benchmarks.measures import spread

from tidelog.client import Producer
from tidelog.testing import Simulation, simulate

TOPIC, RECORDS, KILLED_AT = "orders", 50, 20


async def small_test(sim: Simulation) -> None:
    """Send, lose the leader amidst it, come to rest, and have everything checked."""
    await sim.create_topic(TOPIC)
    async with Producer(sim.bootstrap) as producer:
        for number in range(RECORDS):
            if number == KILLED_AT:
                sim.kill(sim.leader(TOPIC))
            await producer.send(TOPIC, value=b"%d" % number)
    await sim.settle()
    assert sim.check()["acknowledged"] == RECORDS


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30, help="how many seeds")
    runs = parser.parse_args().runs
    simulate(small_test, seeds=1, faults="none")  # imports
    took = [_processor_s(seed) for seed in range(1, runs + 1)]
    figures = spread(took)
    rate = round(1 / figures[0], 2)
    sys.stdout.write(
        json.dumps({"seeds": runs, "processor_s_a_seed": figures, "seeds_a_s": rate}) + "\n"
    )


def _processor_s(seed: int) -> float:
    begun = time.process_time()
    report = simulate(small_test, seeds=[seed], faults="none")
    assert not report.failed, report
    return (time.process_time() - begun) / 2  # the first seed of each call runs twice


if __name__ == "__main__":
    main()
