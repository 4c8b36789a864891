"""`tidelog dump-log` shows the metadata log: records decoded, damage told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.dumps import TOPIC_ID, Dump, flip

from tidelog.core.system import SystemDisk
from tidelog.raft.durable_state import NO_OP, REGULAR, SnapshotId
from tidelog.raft.snapshot_file import file_name
from tidelog.raft.snapshots import SnapshotStore
from tidelog.raft.wal import Wal
from tidelog.raft.wal_file import RecordKind
from tidelog.raft.wal_frames import SECTOR_BYTES, Record, encode_frame, encode_record
from tidelog.v1.metadata_records_pb2 import (
    MetadataBatch,
    MetadataRecord,
    MetadataSnapshotPiece,
    TopicRecord,
)

TOPIC = MetadataRecord(topic=TopicRecord(name="flights", topic_id=TOPIC_ID))
FRAMES_END = 3 * SECTOR_BYTES


async def open_wal(disk: SystemDisk, folder: Path) -> Wal:
    return await Wal.open(
        disk=disk, directory=str(folder), node_id=3, wall_ms=99, reserve_bytes=8 * SECTOR_BYTES
    )


@pytest.fixture
async def wal(disk: SystemDisk, tmp_path: Path) -> Path:
    """A voter's file with a vote, Raft's own entry, a topic and a truncation."""
    wal = await open_wal(disk, tmp_path)
    batch = MetadataBatch(controller_id=3, controller_epoch=1, base_offset=0, records=[TOPIC])
    wal.write_vote(term=1, voted_for=3)
    wal.write_entry(NO_OP, index=1, term=1)
    await wal.sync()
    wal.write_entry(REGULAR + batch.SerializeToString(), index=2, term=1)
    wal.write_entry(NO_OP, index=3, term=1)
    wal.write_truncation(3)
    await wal.sync()
    wal.close()
    return tmp_path / "raft.wal"


@pytest.fixture
async def snapshot(disk: SystemDisk, tmp_path: Path) -> Path:
    """A snapshot of one piece."""
    store = await SnapshotStore.open(disk=disk, directory=str(tmp_path))
    piece = MetadataSnapshotPiece(offset=7, controller_epoch=2, is_last=True, records=[TOPIC])
    await store.write(SnapshotId(7, 2), [piece.SerializeToString()])
    store.close()
    return tmp_path / file_name(SnapshotId(7, 2))


def test_the_metadata_log_is_decoded_to_records(dump: Dump, wal: Path) -> None:
    done = dump("--json", wal)
    assert done.code == 0
    identity, start, vote, own, entry, _, truncation = done.lines
    assert (identity["nodeId"], start["incarnation"]) == (3, 99)
    assert (vote["term"], vote["votedFor"]) == (1, 3)
    assert (own["offset"], own["metadata"]) == (1, None)
    assert truncation["offset"] == 3
    metadata = entry["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["records"][0]["topic"]["name"] == "flights"
    assert '"name": "flights"' in dump(wal).text


async def test_a_compacted_metadata_log_says_where_it_begins(
    dump: Dump, disk: SystemDisk, wal: Path
) -> None:
    reopened = await open_wal(disk, wal.parent)
    reopened.write_rejoined()
    await reopened.sync()
    await reopened.compact(base_index=1)
    reopened.close()
    done = dump("--json", wal)
    assert done.code == 0
    identity, start, vote, rejoined, base, entry = done.lines
    assert (identity["reservedBytes"], identity["carriedBytes"]) == (8 * 512, 2 * 512)
    assert (start["incarnation"], vote["votedFor"], rejoined["type"]) == (100, 3, "rejoined")
    assert (base["offset"], base["term"], entry["offset"]) == (1, 1, 2)


def test_an_unfinished_last_frame_of_the_metadata_log_is_worth_a_note(
    dump: Dump, wal: Path
) -> None:
    data = bytearray(wal.read_bytes())
    data[FRAMES_END - 10 : FRAMES_END] = bytes(10)
    wal.write_bytes(data)
    done = dump("--json", wal)
    assert done.code == 0
    assert done.lines[-1]["type"] == "note"
    assert done.lines[-1]["position"] == FRAMES_END - SECTOR_BYTES


def test_any_other_frame_that_is_wrong_is_damage(dump: Dump, wal: Path) -> None:
    flip(wal, 20)
    done = dump("--json", wal)
    assert done.code == 1
    assert [line["position"] for line in done.damage] == [0]


def test_a_metadata_log_shorter_than_it_was_made_is_damage(dump: Dump, wal: Path) -> None:
    wal.write_bytes(wal.read_bytes()[:-1])
    assert dump(wal).code == 1


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(encode_record(Record(99, 1, 1)), id="a kind nobody knows"),
        pytest.param(encode_record(Record(RecordKind.ENTRY, 1, 4, b"\0\xff")), id="no batch"),
        pytest.param(encode_record(Record(RecordKind.ENTRY, 1, 4, b"123"))[:-1], id="cut record"),
        pytest.param(b"\0", id="less than a record"),
    ],
)
def test_a_frame_of_something_else_is_damage(dump: Dump, wal: Path, payload: bytes) -> None:
    data = bytearray(wal.read_bytes())
    data[FRAMES_END : FRAMES_END + SECTOR_BYTES] = encode_frame(3, payload)
    wal.write_bytes(data)
    done = dump("--json", wal)
    assert done.code == 1
    assert [line["position"] for line in done.damage] == [FRAMES_END]


def test_a_snapshot_is_decoded_to_metadata_records(dump: Dump, snapshot: Path) -> None:
    done = dump("--json", snapshot)
    assert done.code == 0
    header, record, end = done.lines
    assert (header["offset"], header["term"], end["records"]) == (7, 2, 1)
    metadata = record["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["records"][0]["topic"]["name"] == "flights"
    assert '"name": "flights"' in dump(snapshot).text


def test_a_changed_byte_of_a_snapshot_is_damage(dump: Dump, snapshot: Path) -> None:
    flip(snapshot, SECTOR_BYTES + 30)
    done = dump("--json", snapshot)
    assert done.code == 1
    assert [line["position"] for line in done.damage] == [SECTOR_BYTES]


def test_a_snapshot_under_another_name_is_damage(dump: Dump, snapshot: Path) -> None:
    renamed = snapshot.rename(snapshot.with_name(file_name(SnapshotId(8, 2))))
    assert dump(renamed).code == 1
