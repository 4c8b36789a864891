"""CPU of a partition-fetch without a network: `python -m tests.benchmarks.partition_fetch_bench`.

Fetches of 200 partitions by a consumer, again and again, from one of three replica managers of one
process on the simulated disk: from the received bytes to the answer's message, without gRPC and
system calls. One JSON line for each kind of fetch: CPU µs a partition, least and median of the
rounds. The least hardly depends on what else the machine does: compare it before and after a
change.
"""

from __future__ import annotations

import asyncio
import json
import logging
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import structlog
from tests.broker.replica_stage import TOPIC, DataPlane, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest, FetchResponse, PartitionProduceData

PARTITIONS = 200
WARMING_ROUNDS, ROUNDS = 5, 60
LEADER = 1
BROKERS = (1, 2, 3)
VALUE = b"v" * 100
KINDS = {"fetch_records": (0, 1), "fetch_nothing": (1, 1), "stream_records": (0, 0)}
"""Name: fetch offset, and True for a fetch of its own."""
Fetch = Callable[[FetchRequest], Awaitable[FetchResponse]]


def main() -> None:
    """Print the figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for kind, spent in ReplicaStage().run(_kinds).items():
        found = sorted(spent[WARMING_ROUNDS:])
        figure = {"least": round(found[0], 3), "median": round(statistics.median(found), 3)}
        sys.stdout.write(json.dumps({"figure": f"{kind}_cpu_us", **figure}) + "\n")


async def _kinds(stage: ReplicaStage) -> dict[str, list[float]]:
    """CPU µs a partition of each round, for each kind of fetch."""
    stage.create(partitions=PARTITIONS)
    await stage.until(lambda: all(_is_open(stage, broker_id) for broker_id in BROKERS))
    data = [
        PartitionProduceData(topic=TOPIC, partition=number, records=batch(VALUE))
        for number in range(PARTITIONS)
    ]
    await stage.produce_raw(LEADER, *data)
    return await stage.on(LEADER, _measure)


def _is_open(stage: ReplicaStage, broker_id: int) -> bool:
    held = stage.manager(broker_id)._partitions.held.values()
    return len(held) == PARTITIONS and all(one.is_open for one in held)


async def _measure(manager: ReplicaManager) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    plane = DataPlane(manager)
    requests: asyncio.Queue[FetchRequest] = asyncio.Queue()
    answers = plane.fetch_stream(_sent(requests))

    async def by_stream(request: FetchRequest) -> FetchResponse:
        requests.put_nowait(request)
        return await anext(answers)

    for _ in range(WARMING_ROUNDS + ROUNDS):
        for kind, (offset, is_single) in KINDS.items():
            fetch = plane.fetch if is_single else by_stream
            spent[kind].append(await _round(fetch, offset))
    await answers.aclose()
    return spent


async def _sent(requests: asyncio.Queue[FetchRequest]) -> AsyncIterator[FetchRequest]:
    while True:
        yield await requests.get()


async def _round(fetch: Fetch, offset: int) -> float:
    asked = [
        FetchPartition(
            topic=TOPIC,
            partition=number,
            fetch_offset=offset,
            current_leader_epoch=0,
            last_fetched_epoch=0,
        )
        for number in range(PARTITIONS)
    ]
    received = FetchRequest(partitions=asked).SerializeToString()
    began_s = time.process_time()
    response = await fetch(FetchRequest.FromString(received))
    spent_s = time.process_time() - began_s
    refused = [one.error.message for one in response.partitions if one.error.code]
    if refused or sum(bool(one.records) for one in response.partitions) != PARTITIONS * (
        1 - offset
    ):
        raise SystemExit(f"not answered as asked: {refused[:1]}")
    return spent_s / PARTITIONS * 1e6


if __name__ == "__main__":
    main()
