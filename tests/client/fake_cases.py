"""Topics of a fake cluster to read."""

from __future__ import annotations

from tests.client.fake_cluster import FakeCluster, encoded
from tests.client.fake_partition import FakeTopic


def fake_filled(cluster: FakeCluster, *, partitions: int = 1, batches: int = 4) -> FakeTopic:
    """Topic t with batches of five records whose values are their offsets."""
    topic = cluster.create("t", partitions=partitions)
    for state in topic.partitions:
        for number in range(batches):
            state.append(encoded([b"%d" % (5 * number + n) for n in range(5)]))
    return topic
