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


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("whole_*.py")), ids=lambda path: path.stem)
def test_example_runs_and_clears_up(path: Path, running_cluster: LocalCluster) -> None:
    before = running_cluster.run("topics", "list", "--names").stdout
    done = subprocess.run(
        [sys.executable, str(path), running_cluster.bootstrap],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert running_cluster.run("topics", "list", "--names").stdout == before
