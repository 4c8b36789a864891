"""Whether all is at rest: what is missing is said, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.chaos.cluster_samples import NODES, a_sample, an_image

from tidelog.chaos.sockets.settling import find_unsettled
from tidelog.chaos.story.samples import NodeSample


def missing(*changed: NodeSample | None, is_idle: bool = True) -> list[str]:
    samples: dict[int, NodeSample | None] = {node: a_sample(node, 1.0) for node in NODES}
    for sample in changed:
        if sample is None:
            samples[3] = None
        else:
            samples[sample.node_id] = sample
    return find_unsettled(samples, broker_ids=NODES, controller_ids=NODES, is_idle=is_idle)


def test_a_cluster_at_rest_lacks_nothing() -> None:
    assert missing() == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (None, "node 3 does not answer"),
        (a_sample(3, 1.0, is_ready=False), "node 3 is not ready"),
        (a_sample(2, 1.0, is_active_controller=True), "active controllers: [1, 2]"),
        (a_sample(1, 1.0, is_active_controller=False), "active controllers: []"),
        (a_sample(3, 1.0, term=2), "controllers differ"),
        (a_sample(3, 1.0, raft_leader_id=None), "controllers differ"),
        (a_sample(3, 1.0, an_image(101, leader_id=None)), "t-0 has no leader"),
        (a_sample(3, 1.0, an_image(101, isr=(1, 2))), "ISR (1, 2)"),
        (a_sample(3, 1.0, an_image(101, damaged=(2,))), "damaged (2,)"),
        (a_sample(3, 1.0, an_image(101, offline=(2,))), "offline (2,)"),
        (a_sample(3, 1.0, leader_epoch=4), "is follower of epoch 4"),
        (a_sample(3, 1.0, role="none"), "is none of epoch 5"),
        (a_sample(3, 1.0, is_sound=False), "is damaged or failed"),
        (a_sample(3, 1.0, topic_id="another"), "no replica on node 3"),
        (a_sample(3, 1.0, high_watermark=9), "differ: [9, 10]"),
        (a_sample(3, 1.0, log_end_offset=11), "differ: [10, 11]"),
    ],
)
def test_what_is_not_at_rest_is_said(changed: NodeSample | None, said: str) -> None:
    found = missing(changed)

    assert len(found) == 1
    assert said in found[0]


def test_a_broker_that_is_fenced_is_said() -> None:
    image = an_image(101)
    fenced = replace(image.brokers[2], is_fenced=True)
    changed = replace(image, brokers={**image.brokers, 2: fenced})

    assert missing(a_sample(1, 1.0, changed)) == ["broker 2 is fenced"]


def test_ends_may_differ_while_somebody_writes() -> None:
    assert missing(a_sample(1, 1.0, log_end_offset=11), is_idle=False) == []
