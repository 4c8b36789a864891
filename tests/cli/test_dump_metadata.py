"""`tidelog dump-log` shows the metadata log: records decoded, damage told."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest
from dumps import TOPIC_ID, Dump, flip

from tidelog.log.system import SystemDisk
from tidelog.raft.wal import NO_OP, REGULAR, Wal
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord, TopicRecord


@pytest.fixture
async def wal(disk: SystemDisk, tmp_path: Path) -> Path:
    """A voter's file with a vote, Raft's own entry, a topic and a truncation."""
    wal = await Wal.open(disk=disk, directory=str(tmp_path), node_id=3, wall_ms=99)
    topic = MetadataRecord(topic=TopicRecord(name="flights", topic_id=TOPIC_ID))
    batch = MetadataBatch(controller_id=3, controller_epoch=1, base_offset=0, records=[topic])
    wal.write_vote(term=1, voted_for=3)
    wal.write_entry(NO_OP, index=1, term=1)
    await wal.sync()
    wal.write_entry(REGULAR + batch.SerializeToString(), index=2, term=1)
    wal.write_entry(NO_OP, index=3, term=1)
    wal.write_truncation(3)
    await wal.sync()
    wal.close()
    return tmp_path / "raft.wal"


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


def test_an_unfinished_last_frame_of_the_metadata_log_is_worth_a_note(
    dump: Dump, wal: Path
) -> None:
    wal.write_bytes(wal.read_bytes()[:-5])
    done = dump("--json", wal)
    assert done.code == 0
    assert done.lines[-1]["type"] == "note"


def test_any_other_frame_that_is_wrong_is_damage(dump: Dump, wal: Path) -> None:
    flip(wal, 20)
    done = dump("--json", wal)
    assert done.code == 1
    assert [line["position"] for line in done.damage] == [0]


def test_a_long_tail_of_the_metadata_log_is_not_read_to_excuse_it(dump: Dump, wal: Path) -> None:
    os.truncate(wal, wal.stat().st_size + (65 << 20))
    assert dump(wal).code == 1


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(struct.pack("<IqqB", 0, 1, 1, 99), id="a kind nobody knows"),
        pytest.param(struct.pack("<IqqB", 2, 1, 4, 4) + b"\0\xff", id="no metadata batch"),
        pytest.param(struct.pack("<IqqB", 9, 1, 4, 4), id="a record beyond its frame"),
        pytest.param(b"\0", id="less than a record"),
    ],
)
def test_a_frame_of_something_else_is_damage(dump: Dump, wal: Path, payload: bytes) -> None:
    header = struct.pack("<4sII", b"TDLG", len(payload), zlib.crc32(payload))
    before = wal.stat().st_size
    wal.write_bytes(wal.read_bytes() + header + struct.pack("<I", zlib.crc32(header)) + payload)
    done = dump("--json", wal)
    assert done.code == 1
    assert [line["position"] for line in done.damage] == [before]
