"""CPU of a partition-batch without a network: `python -m tests.benchmarks.partition_batch_bench`.

One-record batches of 100 B to each of 300 partitions RF 3, acks=all, in one request, again and
again, to three replica managers of one process on the simulated network and disk: their whole path
but for gRPC and system calls. One JSON line: CPU ms a batch, least and median of the rounds. The
least hardly depends on what else the machine does: compare it before and after a change.
"""

from __future__ import annotations

import asyncio
import json
import logging
import statistics
import sys
import time

import structlog
from tests.broker.replica_stage import TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.v1.data_pb2 import PartitionProduceData, ProduceRequest, ProduceResponse

PARTITIONS = 300
WARMING_ROUNDS, ROUNDS = 5, 40
LEADER = 1
BROKERS = (1, 2, 3)


def main() -> None:
    """Print the figure."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found = sorted(ReplicaStage().run(_rounds)[WARMING_ROUNDS:])
    figure = {"least": round(found[0], 4), "median": round(statistics.median(found), 4)}
    sys.stdout.write(json.dumps({"figure": "partition_batch_cpu_ms", **figure}) + "\n")


async def _rounds(stage: ReplicaStage) -> list[float]:
    """CPU ms a batch of each round."""
    stage.create(partitions=PARTITIONS, min_insync_replicas=2)
    await stage.until(lambda: all(_is_open(stage, broker_id) for broker_id in BROKERS))
    records = batch(b"v" * 100)
    request = ProduceRequest(
        acks=-1,
        timeout_ms=5_000,
        partitions=[
            PartitionProduceData(topic=TOPIC, partition=number, records=records)
            for number in range(PARTITIONS)
        ],
    )
    return [await _round(stage, request) for _ in range(WARMING_ROUNDS + ROUNDS)]


def _is_open(stage: ReplicaStage, broker_id: int) -> bool:
    held = stage.manager(broker_id)._partitions.held.values()
    return len(held) == PARTITIONS and all(one.is_open for one in held)


async def _round(stage: ReplicaStage, request: ProduceRequest) -> float:
    began_s = time.process_time()
    response = await stage.on(LEADER, lambda manager: _produce(manager, request))
    spent_s = time.process_time() - began_s
    refused = [one.error.message for one in response.partitions if one.error.code]
    if refused:
        raise SystemExit(refused[0])
    await asyncio.sleep(0.1)  # of the stage's time: followers hear what is committed
    return spent_s / PARTITIONS * 1e3


async def _produce(manager: ReplicaManager, request: ProduceRequest) -> ProduceResponse:
    return encode_produce(await manager.appender.produce(decode_produce(request)))


if __name__ == "__main__":
    main()
