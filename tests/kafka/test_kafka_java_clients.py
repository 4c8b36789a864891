"""Java's clients, unmodified, by a small program: 4.x and, with its own jars, 3.9.

Their members are in `test_kafka_groups`. They need a JDK, and `TIDELOG_KAFKA_JARS=DIR` or
`TIDELOG_KAFKA_OLD_JARS=DIR`; else they are skipped.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.integration.local_cluster import LocalCluster
from tests.kafka.program_members import JavaMember, OldJavaMember, java_command, java_missing

pytestmark = pytest.mark.process

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PER_CODEC = 5
DEADLINE_S = 300


@pytest.mark.parametrize("kind", [JavaMember, OldJavaMember], ids=lambda kind: kind.__name__)
def test_it_writes_in_all_codecs_seeks_looks_up_times_and_commits(
    brokers: LocalCluster, kind: type[JavaMember]
) -> None:
    jars = os.environ.get(kind.VARIABLE, "")
    missing = java_missing(jars)
    if missing is not None:
        pytest.skip(f"Java's client by {kind.VARIABLE}: {missing}")
    topic = f"java-{kind.__name__}"

    def run(call: str, *arguments: str) -> str:
        ran = subprocess.run(
            java_command(jars, call, brokers.kafka_bootstrap, *arguments),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    run("produce", topic, f"{PER_CODEC}", *CODECS)
    assert run("seek", f"group-of-{topic}", topic).splitlines() == [
        "ends 0 25",
        "at time 0",
        "value 23 zstd-3",
        "value 24 zstd-4",
        "committed 7 text",
        "partitions 3",
    ]
