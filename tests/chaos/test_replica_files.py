"""Replicas' files after the end: every way they can be wrong is said, and how much was compared."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chaos.cluster_samples import NODES, TOPIC_ID, an_image
from tests.log.partition_logs import batch

from tidelog.chaos.sockets.replica_files import Compared, ReplicaFiles
from tidelog.core.system import SystemClock, SystemDisk, SystemRandom
from tidelog.history.history import History, Send
from tidelog.log.checkpoints import CHECKPOINT_FILE, CLEAN_FILE
from tidelog.log.config import LogConfig
from tidelog.log.file_names import INDEX, LOG, TIME_INDEX, file_name
from tidelog.log.log_folder import Life
from tidelog.log.partition_log import PartitionLog
from tidelog.node.start_record import StartRecord

VALUES = [b"value-%d" % offset for offset in range(40)]
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=1)
FIRST_LOG = file_name(0, LOG)


class Replicas:
    """The folders of three nodes, each with its replica of one partition, closed in order."""

    def __init__(self, folder: Path) -> None:
        self.data_dirs = {node: folder / str(node) for node in NODES}
        self.image = an_image()
        self.high_watermark = len(VALUES)
        self.history = History(sends=[a_send(offset, value) for offset, value in enumerate(VALUES)])

    async def write(
        self, node_id: int, *, high_watermark: int = len(VALUES), values: list[bytes] = VALUES
    ) -> None:
        """A log of batches of two records, the second half of them of a newer epoch."""
        disk = SystemDisk()
        life = await self.begin_life(node_id, disk)
        log = await PartitionLog.open(
            directory=str(self.folder(node_id)),
            disk=disk,
            clock=SystemClock(),
            config=CONFIG,
            topic_id=TOPIC_ID,
            life=life,
        )
        for at in range(0, len(values), 2):
            epoch = 4 if at < len(VALUES) // 2 else 5
            log.append_as_leader(
                batch(*values[at : at + 2], times=[1000 + at, 1001 + at]), leader_epoch=epoch
            )
        log.set_high_watermark(high_watermark)
        await log.close()
        disk.close()

    async def begin_life(self, node_id: int, disk: SystemDisk) -> Life:
        folder = self.data_dirs[node_id]
        folder.mkdir(exist_ok=True)
        record = StartRecord(disk, str(folder), boot_id="b", random=SystemRandom())
        return (await record.note_start()).life

    def folder(self, node_id: int) -> Path:
        return self.data_dirs[node_id] / "t-0"

    def change(self, node_id: int, name: str, at: int, content: bytes) -> None:
        with (self.folder(node_id) / name).open("r+b") as file:
            file.seek(at)
            file.write(content)

    async def compare(self) -> tuple[set[str], Compared]:
        found: set[str] = set()
        files = ReplicaFiles(data_dirs=self.data_dirs, report=lambda kind, _: found.add(kind))
        marks = {(TOPIC_ID.hex(), 0): self.high_watermark}
        return found, await files.compare(self.image, self.history, high_watermarks=marks)


def a_send(offset: int, value: bytes) -> Send:
    return Send("p", offset, "t", 0, 0, value, -1, True, 0.0, "ok", 1.0, offset)


@pytest.fixture
async def replicas(tmp_path: Path) -> Replicas:
    made = Replicas(tmp_path)
    for node_id in NODES:
        await made.write(node_id)
    return made


async def test_good_replicas_are_compared_byte_by_byte(replicas: Replicas) -> None:
    found, compared = await replicas.compare()

    assert found == set()
    sizes = sum(path.stat().st_size for path in replicas.folder(1).glob(f"*{LOG}"))
    assert compared == Compared(
        partitions=1,
        replicas=3,
        compared_batches=2 * len(VALUES) // 2,
        compared_bytes=2 * sizes,
        found_records=len(VALUES),
    )


async def test_a_mark_of_an_earlier_life_is_no_close_in_order(replicas: Replicas) -> None:
    disk = SystemDisk()
    await replicas.begin_life(2, disk)
    disk.close()
    assert (await replicas.compare())[0] == {"I29"}


async def test_comparing_changes_nothing(replicas: Replicas) -> None:
    def contents() -> dict[Path, bytes]:
        there = [path for node in NODES for path in replicas.folder(node).iterdir()]
        return {path: path.read_bytes() for path in there}

    before = contents()
    await replicas.compare()

    assert contents() == before


async def test_nothing_to_compare_is_visible(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    replicas.history = History()
    for node_id in NODES:
        await replicas.write(node_id, values=[], high_watermark=0)
    replicas.high_watermark = 0

    assert await replicas.compare() == (set(), Compared(partitions=1, replicas=3))


def _flip(replicas: Replicas) -> None:
    replicas.change(2, FIRST_LOG, 80, b"\xff")


def _flip_the_first_epoch(replicas: Replicas) -> None:
    """It lies outside the CRC."""
    replicas.change(2, FIRST_LOG, 12, b"\0\0\0\x03")


def _leave_as_if_killed(replicas: Replicas) -> None:
    (replicas.folder(2) / CLEAN_FILE).unlink()


def _forget_the_checkpoint(replicas: Replicas) -> None:
    (replicas.folder(2) / CHECKPOINT_FILE).unlink()


def _vanish(replicas: Replicas) -> None:
    shutil.rmtree(replicas.folder(2))


def _acknowledge_more(replicas: Replicas) -> None:
    replicas.history.sends.append(a_send(len(VALUES), b"more"))


def _acknowledge_another(replicas: Replicas) -> None:
    replicas.history.sends[3] = a_send(3, b"another")


def _commit_more(replicas: Replicas) -> None:
    replicas.high_watermark += 1


@pytest.mark.parametrize(
    ("spoil", "invariants"),
    [
        (_flip, {"I1", "I27"}),
        (_flip_the_first_epoch, {"I1", "I9"}),
        (_leave_as_if_killed, {"I29"}),
        (_forget_the_checkpoint, {"I29"}),
        (_vanish, {"I6"}),
        (_acknowledge_more, {"I6"}),
        (_acknowledge_another, {"I6"}),
        (_commit_more, {"I3"}),
    ],
)
async def test_what_is_wrong_is_said(
    replicas: Replicas, spoil: Callable[[Replicas], None], invariants: set[str]
) -> None:
    spoil(replicas)

    found, _ = await replicas.compare()

    assert invariants <= found


@pytest.mark.parametrize(("kind", "at"), [(INDEX, 4), (TIME_INDEX, 8)])
async def test_an_index_that_is_wrong_and_was_healed_is_counted(
    replicas: Replicas, kind: str, at: int
) -> None:
    replicas.change(2, file_name(0, kind), at, b"\x7f" * 4)

    found, compared = await replicas.compare()

    assert found == set()
    assert compared.remade_indexes >= 1


async def test_a_look_up_that_goes_wrong_is_said(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PartitionLog, "offset_for_time", lambda *args, **kwargs: None)

    assert (await replicas.compare())[0] == {"I26"}


async def test_a_replica_in_sync_that_lacks_the_end_is_noticed(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    for node_id in NODES:
        await replicas.write(node_id, values=VALUES[: 38 if node_id == 3 else 40])

    found, _ = await replicas.compare()

    assert found == {"I1", "I3"}


async def test_what_is_not_committed_may_differ(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    replicas.high_watermark = 38
    replicas.history.sends[38:] = []
    for node_id in NODES:
        tail = [b"tail-%d" % node_id] * 2
        await replicas.write(node_id, values=[*VALUES[:38], *tail], high_watermark=38)

    found, compared = await replicas.compare()

    assert found == set()
    assert compared.compared_batches == 2 * 19


async def test_a_replica_out_of_sync_is_held_to_what_it_knows_as_committed(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    replicas.image = an_image(isr=(1, 2))
    for node_id in (1, 2):
        await replicas.write(node_id)
    await replicas.write(3, values=[*VALUES[:20], b"x", b"y"], high_watermark=20)
    assert (await replicas.compare())[0] == set()

    shutil.rmtree(replicas.folder(3))
    await replicas.write(3, values=[*VALUES[:18], b"x", b"y"], high_watermark=20)
    assert (await replicas.compare())[0] == {"I1"}


async def test_a_lossy_topic_may_lack_what_was_acknowledged(replicas: Replicas) -> None:
    replicas.image = an_image(configs={"unclean.leader.election.enable": "true"})
    _acknowledge_another(replicas)
    _commit_more(replicas)

    assert (await replicas.compare())[0] == set()


async def test_only_the_newest_incarnation_is_expected(replicas: Replicas) -> None:
    old, new = replicas.history.sends[0], a_send(0, VALUES[0])
    assert old == new
    replicas.history.sends = [
        Send("p", 1, "t", 0, 0, b"gone", -1, True, 0.0, "ok", 1.0, 7),
        Send("p", 2, "t", 1, 0, VALUES[0], -1, True, 0.0, "ok", 1.0, 0),
    ]

    found, compared = await replicas.compare()

    assert (found, compared.found_records) == (set(), 1)
