"""Members of a group in storms: cut off, killed, closed; coordinators moved, nodes restarted.

No partition is handed out by two members at a time, nothing after it was let go of; no committed
offset falls, none is beyond what was handed out; in the end every record is handed out.
"""

from __future__ import annotations

import pytest
from tests.client.group_storm import PARTITIONS, TOPIC, Storm
from tests.client.real_cluster import started

SEEDS, STEPS = range(12), 40


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_group_in_a_storm_misses_nothing(seed: int) -> None:
    cluster = await started()
    await cluster.create(TOPIC, partitions=PARTITIONS)
    storm = Storm(cluster, seed)
    await storm.blow(STEPS)
    await storm.calm()
