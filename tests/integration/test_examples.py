"""The examples of the documentation run against a real cluster, as they stand there.

But the one that needs Spark: `test_pipeline_job` runs it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = pytest.mark.process
EXAMPLES = Path(__file__).parents[2] / "docs/examples"


SAID = {
    "whole_client": "",
    "whole_group": "the last rebalance: member ",
    "whole_sync_client": "",
    "whole_transactions": "aborted that of producer ",
    "read_process_write": "60 payments, each booked once; transactions aborted: True\n",
    "point_to_point": "60 jobs, each done by one of 3 workers\n",
    "broadcast": "each of 3 services got all 10 events\n",
    "order_events": "points {'ada': 64, 'bob': 30}",
    "log_collection": "dropped: 0; errors by host: {'web-2': 10}",
    "change_capture": "[(2, 'Bente', 9), (3, 'Cilly', 7)]",
    "dead_man_alarm": "ALARM: pump-2 is silent\n",
}
"""Part of the output of each."""


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SAID, "spark_topics"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_has_the_default_address(path: Path) -> None:
    assert "127.0.0.1:9192" in path.read_text().partition("if __name__")[2]


@pytest.mark.parametrize("name", SAID)
def test_example_runs_and_clears_up(name: str, running_cluster: LocalCluster) -> None:
    before = running_cluster.run("topics", "list", "--names").stdout
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), running_cluster.bootstrap],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert SAID[name] in done.stdout
    assert running_cluster.run("topics", "list", "--names").stdout == before
