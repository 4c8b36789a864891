"""franz-go, unmodified, by a small program: codecs, reads, administration, a transaction.

Its members are in `test_kafka_groups`. It needs Go 1.26, and its modules; else it is skipped.
"""

from __future__ import annotations

import subprocess
import time

import pytest
from tests.integration.local_cluster import LocalCluster
from tests.kafka.program_members import franz_go

pytestmark = pytest.mark.process

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PER_CODEC = 20
DEADLINE_S = 60
REFUSED_S_MAX = 5


def run(brokers: LocalCluster, call: str, *arguments: str, code: int = 0) -> str:
    """Return what the program prints; its exit code is this one."""
    ran = subprocess.run(
        [franz_go(), call, brokers.kafka_bootstrap, *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert ran.returncode == code, (ran.stdout, ran.stderr)
    return ran.stdout + ran.stderr


def test_it_writes_in_all_codecs_and_reads_by_offset_and_time(brokers: LocalCluster) -> None:
    for codec in CODECS:
        run(brokers, "produce", "franz", codec, f"{PER_CODEC}")
    values = [f"{codec}-{number}" for codec in CODECS for number in range(PER_CODEC)]
    expected = [f"{offset} k {value} h" for offset, value in enumerate(values)]
    assert run(brokers, "consume", "franz", "100", "0").splitlines() == expected
    assert run(brokers, "consume", "franz", "3", "97").splitlines() == expected[97:]
    assert run(brokers, "consume", "franz", "100", "@1000").splitlines() == expected


def test_it_administers_topics_groups_and_offsets(brokers: LocalCluster) -> None:
    assert sorted(run(brokers, "admin", "franz-admin", "franz-admin").splitlines()) == sorted(
        [
            "again true",
            "partitions 3",
            "cleanup.policy compact",
            "retention.ms 1000000",
            "brokers [1 2 3]",
            "committed 0",
            "state Empty lag 0",
            "listed true",
        ]
    )


def test_a_transaction_is_refused_at_once(brokers: LocalCluster) -> None:
    began_s = time.monotonic()
    told = run(brokers, "transaction", "franz-transaction", code=1)
    assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in told
    assert time.monotonic() - began_s < REFUSED_S_MAX
