"""A node of another cluster that asks on and on: one line, a count, and a bound on all of them."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tidelog.net.strangers import SHOWN_MAX, STRANGERS_MAX, Strangers
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.real_time


def test_a_stranger_is_told_of_once_and_counted_each_time() -> None:
    strangers = Strangers()
    with capture_logs() as lines:
        whos = ["node 3", "replica 3", "a caller of RegisterBroker", "node 3", "node 3"]
        errors = [strangers.refuse("other", "own", who=who) for who in whos]

    assert [(line["who"], line["its_cluster_id"]) for line in lines] == [("node 3", "other")]
    assert strangers.refused == 5
    assert {error.code for error in errors} == {common_pb2.INCONSISTENT_CLUSTER_ID}
    assert "node 3 is of cluster 'other', this node of 'own'" in errors[0].message


def test_lines_are_bounded_whatever_strangers_call_themselves() -> None:
    strangers = Strangers()
    with capture_logs() as lines:
        for number in range(3 * STRANGERS_MAX):
            strangers.refuse(f"{number}" * 10_000, "own", who="node 3")

    assert len(lines) == STRANGERS_MAX + 1
    assert all(len(line.get("its_cluster_id", "")) <= SHOWN_MAX for line in lines)
    assert strangers.refused == 3 * STRANGERS_MAX
