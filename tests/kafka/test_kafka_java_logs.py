"""Apache's DumpLogSegments reads a log of ours: transactions, their markers, the transaction index.

It needs Java and `TIDELOG_KAFKA_JARS=DIR`, as `test_kafka_java_tools`.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from pathlib import Path

import pytest
from tests.kafka.test_kafka_java_tools import DEADLINE_S, JARS, TOOLS, missing
from tests.log.partition_logs import TOPIC_ID, append, commit
from tests.log.transaction_logs import Writer

from tidelog.core.system import SystemClock, SystemDisk
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(missing() is not None, reason=f"Kafka's tools: {missing()}"),
]


async def _write(folder: Path) -> None:
    log = await PartitionLog.open(
        directory=str(folder),
        disk=SystemDisk(),
        clock=SystemClock(),
        config=LogConfig(segment_ms=10**15),
        topic_id=TOPIC_ID,
    )
    committed, aborted = Writer(7), Writer(8)
    append(log, b"plain")  # 0
    committed.send(log, b"a", b"b")  # 1, 2
    aborted.send(log, b"c")  # 3
    committed.end(log, is_commit=True, coordinator_epoch=3)  # 4
    aborted.end(log, is_commit=False, coordinator_epoch=5)  # 5
    commit(log)
    await log.close()


def _dump(*files: Path) -> str:
    ran = subprocess.run(
        [
            *("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*"),
            *(f"{TOOLS}.DumpLogSegments", "--print-data-log", "--files", ",".join(map(str, files))),
        ],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return ran.stdout


def test_kafkas_dump_tool_reads_markers_and_the_transaction_index(tmp_path: Path) -> None:
    folder = tmp_path / "flights-0"
    folder.mkdir()
    asyncio.run(_write(folder))
    told = _dump(folder / f"{0:020d}.log", folder / f"{0:020d}.txnindex")
    batches = re.findall(
        r"baseOffset: (\d+) .*producerId: (-?\d+) producerEpoch: (-?\d+) .*"
        r"isTransactional: (\w+) isControl: (\w+)",
        told,
    )
    assert batches == [
        ("0", "-1", "-1", "false", "false"),
        ("1", "7", "0", "true", "false"),
        ("3", "8", "0", "true", "false"),
        ("4", "7", "1", "true", "true"),
        ("5", "8", "1", "true", "true"),
    ]
    assert "endTxnMarker: COMMIT coordinatorEpoch: 3" in told
    assert "endTxnMarker: ABORT coordinatorEpoch: 5" in told
    assert "producerId: 8 firstOffset: 3 lastOffset: 5 lastStableOffset: 6" in told
    assert told.count("isvalid: true") >= len(batches)
