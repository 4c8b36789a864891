"""What `make spark` asks of the command line, which a script stands in for here."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tidelog.spark.pipeline.settings import parse

SCRIPT = Path(__file__).parents[2] / "tools/spark.sh"
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" >"{folder}/$1-$2"
[ "$1" = produce ] && exec cat >"{folder}/sent"
[ "$1 $2" = "topics list" ] && printf 'other\\nsample-orders-too\\n%s\\n' "$TOPIC"
exit 0
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("tools", ".venv/bin", "calls"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "tools")
    stand_in = tmp_path / ".venv/bin/tidelog"
    stand_in.write_text(STAND_IN.format(folder=tmp_path / "calls"))
    stand_in.chmod(0o755)
    return tmp_path


def make_spark(checkout: Path, *options: str, topic: str = "") -> dict[str, list[str]]:
    """The arguments of each call, by its first two."""
    subprocess.run(
        [checkout / "tools/spark.sh", *options],
        env={"PATH": "/usr/bin:/bin", "TOPIC": topic},
        capture_output=True,
        check=True,
    )
    calls = sorted(path for path in (checkout / "calls").glob("*-*"))
    return {path.name: path.read_text().splitlines() for path in calls}


def is_good(line: str) -> bool:
    try:
        order = json.loads(line)
    except ValueError:
        return False
    return "id" in order and isinstance(order["amount"], int | float)


def test_without_options_a_sample_with_bad_records_is_sent_and_read(checkout: Path) -> None:
    calls = make_spark(checkout)

    assert {"cluster-start", "topics-create", "produce-sample-orders"} <= calls.keys()
    sent = (checkout / "calls/sent").read_text().splitlines()
    assert (len(sent), sum(map(is_good, sent))) == (5_000, 4_850)
    settings = parse(calls["pipeline---topic"][1:], bootstrap="h:1")
    assert (settings.topics, settings.partition_by) == (["sample-orders"], ["shop"])
    assert settings.schema == "id string NOT NULL, shop string, amount double"


def test_the_sample_goes_on_in_the_topic_that_is_there(checkout: Path) -> None:
    calls = make_spark(checkout, topic="sample-orders")

    assert "topics-create" not in calls
    assert "produce-sample-orders" in calls


def test_options_are_handed_over_as_they_are(checkout: Path) -> None:
    options = ("--topic", "a", "--schema", "id long NOT NULL, b double", "--output", "/x y")

    assert make_spark(checkout, *options) == {
        "cluster-start": ["cluster", "start"],
        "pipeline---topic": ["pipeline", *options],
    }


def test_another_cluster_is_not_started(checkout: Path) -> None:
    assert make_spark(checkout, "--bootstrap", "h:1").keys() == {"pipeline---bootstrap"}
