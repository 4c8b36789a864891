"""What a flipped bit excuses a replica from: nothing, but where no CRC and no neighbour tells."""

from __future__ import annotations

from partition_logs import batch

from tidelog.chaos.sim_cluster.invariants_sight import is_unguarded
from tidelog.chaos.sim_stage.clock import SimRandom
from tidelog.chaos.sim_stage.disk import SimDisk

PATH = "/data/t-0/00000000000000000000.log"
UNGUARDED = range(8, 16)
"""Length and leader epoch."""


def test_only_a_batchs_length_and_epoch_are_unguarded() -> None:
    first, second = batch(b"a", b"b"), batch(b"c", base_offset=2)
    disk = SimDisk(SimRandom(1), sync_latency_s=0)
    disk.make_directory("/data/t-0")
    disk.open(PATH, create=True).write_at(0, first + second)

    found = [at for at in range(len(first + second)) if is_unguarded(disk, PATH, at)]

    assert found == [*UNGUARDED, *(len(first) + at for at in UNGUARDED)]
