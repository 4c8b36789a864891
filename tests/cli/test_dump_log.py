"""`tidelog dump-log`, on files of Kafka, of our own log, open and closed, and on damaged ones."""

from __future__ import annotations

import json
import re
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tidelog.cli.dump_batches import dump_log
from tidelog.cli.dump_files import Source
from tidelog.cli.main import main
from tidelog.log.batch import CONTROL_FLAG, HEADER, parse_header, seal
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog
from tidelog.log.producer_snapshots import encode_snapshot
from tidelog.log.producers import BatchMetadata, ProducerEntry
from tidelog.log.records import BatchBuilder, Record, encode_batch
from tidelog.log.system import SystemClock, SystemDisk
from tidelog.raft.wal import NO_OP, REGULAR, Wal
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord, TopicRecord

KAFKA = Path(__file__).parent.parent / "testdata/kafka"
TOPIC_ID = bytes(range(16))
FIRST = f"{0:020d}"


class Done(NamedTuple):
    code: int
    text: str
    error: str

    @property
    def lines(self) -> list[dict[str, object]]:
        """Of a run with --json."""
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def damage(self) -> list[dict[str, object]]:
        """What a run with --json found wrong."""
        return [line for line in self.lines if line["type"] == "damage"]


Dump = Callable[..., Done]


@pytest.fixture
def dump(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Dump:
    """Runs the command in this process."""

    def run(*arguments: str | Path) -> Done:
        capfd.readouterr()  # what a log had to say when the test made it
        monkeypatch.setattr(sys, "argv", ["tidelog", "dump-log", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    """A folder with the files Kafka wrote."""
    return Path(shutil.copytree(KAFKA, tmp_path / "kafka"))


@pytest.fixture
def disk() -> Iterator[SystemDisk]:
    disk = SystemDisk()
    yield disk
    disk.close()


async def open_log(disk: SystemDisk, folder: Path) -> PartitionLog:
    """With two segments, batches of one to four records and an index entry for nearly each."""
    log = await PartitionLog.open(
        directory=str(folder),
        disk=disk,
        clock=SystemClock(),
        config=LogConfig(segment_bytes=2048, index_interval_bytes=100),
        topic_id=TOPIC_ID,
    )
    for number in range(20):
        records = [
            Record(0, 1_000 * number + each, b"key", b"v" * 30, (("h", None),))
            for each in range(1 + number % 4)
        ]
        log.append_as_leader(encode_batch(records), leader_epoch=number // 8)
    await log.flush()
    return log


@pytest.fixture
async def ours(disk: SystemDisk, tmp_path: Path) -> Path:
    """The folder of a log of ours, closed."""
    log = await open_log(disk, tmp_path / "ours-0")
    await log.checkpoint()
    await log.close()
    return tmp_path / "ours-0"


def kafkas_answer() -> dict[str, list[str]]:
    """What DumpLogSegments printed, by file; it names what is absent, and record headers less."""
    answer: dict[str, list[str]] = {}
    for line in (KAFKA / "dump-log-segments.txt").read_text().splitlines():
        if line.startswith("Dumping "):
            lines = answer.setdefault(line.removeprefix("Dumping "), [])
        elif not line.startswith("Log starting offset"):
            line = re.sub(r" \w+: OptionalLong\.empty", "", line)
            line = re.sub(r"OptionalLong\[(\d+)\]", r"\1", line)
            lines.append(re.sub(r"headerKeys: \[[^]]*\] ?", "", line).rstrip())
    return answer


# Kafka's files


@pytest.mark.parametrize("name", sorted(kafkas_answer()))
def test_kafkas_files_are_shown_as_kafkas_own_tool_does(dump: Dump, name: str) -> None:
    done = dump("--deep", KAFKA / name)
    head, *lines = done.text.splitlines()
    shown = [re.sub(r"headers: \[.*\] ?(?=key|payload|endTxn|$)", "", line) for line in lines]
    assert done.code == 0
    assert head == f"Dumping {KAFKA / name}"
    assert [line.rstrip() for line in shown] == kafkas_answer()[name]


def test_the_indexes_of_kafka_are_those_of_its_log(dump: Dump) -> None:
    done = dump("--json", "--verify-index", *sorted(KAFKA.glob("0*.log")))
    entries = [line for line in done.lines if line["type"] == "entry"]
    assert done.code == 0
    assert len(entries) == 20
    assert all(entry["isvalid"] for entry in entries)


def test_offsets_missing_in_a_log_of_kafka_are_worth_a_note(dump: Dump, kafka: Path) -> None:
    log = kafka / f"{FIRST}.log"
    first, _, *others = batches_of(log)
    log.write_bytes(b"".join([first, *others]))
    done = dump("--json", log)
    assert done.code == 0
    notes = [line for line in done.lines if line["type"] == "note"]
    assert [(line["position"], line["offset"]) for line in notes] == [(len(first), 8)]


# Our files


async def test_every_file_of_a_running_log_is_shown(
    dump: Dump, disk: SystemDisk, tmp_path: Path
) -> None:
    log = await open_log(disk, tmp_path / "ours-0")
    await log.checkpoint()
    shown_whole(dump, tmp_path / "ours-0")
    await log.close()
    shown_whole(dump, tmp_path / "ours-0")
    assert (tmp_path / "ours-0/.clean").exists()


def shown_whole(dump: Dump, folder: Path) -> None:
    files = sorted(folder.iterdir())
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}
    done = dump("--json", "--deep", "--verify-index", *files)
    assert done.code == 0, done.text
    assert {line["file"] for line in done.lines} >= {
        str(file) for file in files if file.stat().st_size and file.suffix != ".snapshot"
    }
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files} == before
    records = [line for line in done.lines if line["type"] == "record"]
    assert [record["offset"] for record in records] == list(range(len(records)))
    assert records[-1]["CreateTime"] == 19_003


def test_what_a_checkpoint_and_a_clean_mark_say(dump: Dump, ours: Path) -> None:
    done = dump("--json", ours / "checkpoint", ours / ".clean", ours / "partition.metadata")
    found = {str(line["type"]): line for line in done.lines}
    assert found["partition"]["topicId"] == found["checkpoint"]["topicId"] == TOPIC_ID.hex()
    assert found["clean"]["logEndOffset"] == found["checkpoint"]["recoveryPoint"] == 50
    epochs = [line for line in done.lines if line["type"] == "epoch"]
    assert [(line["epoch"], line["startOffset"]) for line in epochs] == [(0, 0), (1, 20), (2, 40)]


def test_a_producer_is_shown_by_each_batch_it_is_known_by(dump: Dump, tmp_path: Path) -> None:
    batches = tuple(BatchMetadata(n, n, 10 + n, 10 + n, 5) for n in range(5))
    entries = [
        ProducerEntry(7, 1, 2, 5, 12, batches),
        ProducerEntry(8, 0, 3, 6, None, ()),
    ]
    path = tmp_path / f"{15:020d}.snapshot"
    path.write_bytes(encode_snapshot(entries))
    first, *_, last, bare = dump("--json", path).lines
    assert (first["firstSequence"], last["lastSequence"], last["lastOffset"]) == (0, 4, 14)
    assert (last["producerId"], last["currentTxnFirstOffset"]) == (7, 12)
    assert (bare["producerId"], bare["currentTxnFirstOffset"]) == (8, None)
    assert "lastSequence" not in bare


@pytest.mark.parametrize("suffix", [".deleted", ".cleaned", ".swap"])
def test_files_on_their_way_out_or_in_are_shown_too(dump: Dump, ours: Path, suffix: str) -> None:
    for path in (ours / f"{FIRST}.log", ours / f"{FIRST}.index", ours / f"{FIRST}.timeindex"):
        path.rename(f"{path}{suffix}")
    done = dump("--json", "--verify-index", ours / f"{FIRST}.log{suffix}")
    assert done.code == 0
    assert {line["type"] for line in done.lines} == {"batch", "entry"}


def test_a_missing_index_is_worth_a_note(dump: Dump, ours: Path) -> None:
    (ours / f"{FIRST}.index").unlink()
    done = dump("--json", "--verify-index", ours / f"{FIRST}.log")
    assert done.code == 0
    assert [line["type"] for line in done.lines].count("note") == 1


def test_bytes_are_text_where_they_are_and_marked_where_not(dump: Dump, tmp_path: Path) -> None:
    log = tmp_path / f"{FIRST}.log"
    headers = (("n", None), ("b", b"\xff"))
    log.write_bytes(encode_batch([Record(0, 5, b"\xff\x00", "ä\x1b[2J".encode(), headers)]))
    (record,) = (line for line in dump("--json", "--deep", log).lines if line["type"] == "record")
    assert (record["key"], record["key_encoding"]) == ("/wA=", "base64")
    assert record["payload"] == "ä\x1b[2J"
    assert record["headers"] == [
        {"key": "n", "value": None},
        {"key": "b", "value": "/w==", "value_encoding": "base64"},
    ]
    text = dump("--deep", log).text
    assert "key: /wA= key_encoding: base64" in text
    assert r"\u001b[2J" in text
    assert "\x1b" not in text


def test_a_control_record_that_is_no_marker_is_shown_as_it_is(dump: Dump, tmp_path: Path) -> None:
    log = tmp_path / f"{FIRST}.log"
    batch = encode_batch([Record(0, 5, struct.pack(">hh", 0, 2), b"leader")])
    header = parse_header(batch)._replace(attributes=CONTROL_FLAG)
    log.write_bytes(seal(header, batch[HEADER.size :]))
    done = dump("--json", "--deep", log)
    assert done.code == 0
    assert done.lines[-1]["payload"] == "leader"


# Damage


def batches_of(log: Path) -> list[bytes]:
    data, found = log.read_bytes(), []
    while data:
        size = parse_header(data).size_in_bytes
        found.append(data[:size])
        data = data[size:]
    return found


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


def test_the_first_bad_position_and_offset_are_told_and_later_batches_shown(
    dump: Dump, ours: Path
) -> None:
    log = ours / f"{FIRST}.log"
    sizes = [len(batch) for batch in batches_of(log)]
    flip(log, sum(sizes[:3]) - 1)
    done = dump("--json", log)
    assert done.code == 1
    (damage,) = done.damage
    assert (damage["position"], damage["offset"]) == (sum(sizes[:2]), 3)
    batches = [line for line in done.lines if line["type"] == "batch"]
    assert [batch["isvalid"] for batch in batches] == [True, True, False] + [True] * (
        len(sizes) - 3
    )


def test_a_length_that_leads_nowhere_ends_the_dump(dump: Dump, ours: Path) -> None:
    log = ours / f"{FIRST}.log"
    sizes = [len(batch) for batch in batches_of(log)]
    flip(log, sizes[0] + 11)
    done = dump("--json", log)
    assert done.code == 1
    (damage,) = done.damage
    assert (damage["position"], damage["offset"]) == (sizes[0], 1)
    assert damage["unreadBytes"] == sum(sizes[1:])
    assert dump(log).text.splitlines()[-1].startswith("DAMAGED: ")


def test_a_batch_that_is_cut_is_no_whole_one(dump: Dump, ours: Path) -> None:
    log = ours / f"{FIRST}.log"
    for length in (log.stat().st_size - 1, len(batches_of(log)[0]) + 12):
        log.write_bytes(log.read_bytes()[:length])
        done = dump("--json", log)
        assert done.code == 1
        assert done.damage[0]["unreadBytes"] is not None


def test_every_flipped_byte_of_a_log_of_ours_is_found(ours: Path) -> None:
    """But those of the last batch's epoch when it grows: nothing behind it contradicts."""
    log = ours / f"{FIRST}.log"
    whole = b"".join(batches_of(log)[:4])
    log.write_bytes(whole)
    end_of_epoch = len(whole) - len(batches_of(log)[-1]) + 16
    for position in range(len(whole)):
        if end_of_epoch - 4 <= position < end_of_epoch:
            continue
        flip(log, position)
        with Source(log) as source:
            assert any(line.is_damage for line in dump_log(source, is_deep=False)), position
        log.write_bytes(whole)


@pytest.mark.parametrize("shift", [-1, 1])
def test_offsets_of_ours_neither_repeat_nor_miss(dump: Dump, ours: Path, shift: int) -> None:
    log = ours / f"{FIRST}.log"
    first, second, *_ = batches_of(log)
    moved = struct.pack(">q", parse_header(second).base_offset + shift) + second[8:]
    log.write_bytes(first + moved)
    done = dump("--json", log)
    assert done.code == 1
    assert [(line["position"], line["offset"]) for line in done.damage] == [(len(first), 1 + shift)]


def test_leader_epochs_never_fall(dump: Dump, ours: Path) -> None:
    log = ours / f"{FIRST}.log"
    first, second, *_ = batches_of(log)
    log.write_bytes(first[:12] + struct.pack(">i", 5) + first[16:] + second)
    done = dump("--json", log)
    assert done.code == 1
    assert [line["position"] for line in done.damage] == [len(first)]


def test_records_that_are_not_what_their_header_says_are_damage(dump: Dump, tmp_path: Path) -> None:
    log = tmp_path / f"{FIRST}.log"
    batch = encode_batch([Record(0, 5, b"k", b"v")])
    log.write_bytes(seal(parse_header(batch), batch[HEADER.size : -1]))
    assert dump(log).code == 0
    assert dump("--deep", log).code == 1


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_each_wrong_entry_of_an_index_is_found(dump: Dump, ours: Path, kind: str) -> None:
    index = ours / f"{FIRST}.{kind}"
    whole = index.read_bytes()
    size = 8 if kind == "index" else 12
    assert len(whole) >= 5 * size
    for position in range(len(whole)):
        flip(index, position)
        done = dump("--json", "--verify-index", index)
        assert done.code == 1
        first = next(number for number, line in enumerate(done.lines) if not line["isvalid"])
        assert first in (position // size, position // size + 1)
        index.write_bytes(whole)


def test_an_index_is_checked_without_its_log_only_in_itself(dump: Dump, ours: Path) -> None:
    index = ours / f"{FIRST}.index"
    (ours / f"{FIRST}.log").unlink()
    assert dump(index).code == 0
    assert dump("--verify-index", index).code == 1
    entries = index.read_bytes()
    index.write_bytes(entries[8:16] + entries[:8])
    assert dump(index).code == 1


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_zeros_end_an_index_and_nothing_follows_them(dump: Dump, ours: Path, kind: str) -> None:
    index = ours / f"{FIRST}.{kind}"
    entries = index.read_bytes()
    index.write_bytes(entries + bytes(48))
    assert dump(index).code == 0
    index.write_bytes(entries + bytes(48) + entries[-12:])
    assert dump(index).code == 1


@pytest.mark.parametrize(
    "name",
    [
        *(f"{FIRST}.index", f"{FIRST}.timeindex", f"{36:020d}.snapshot", f"{36:020d}.txnindex"),
        "partition.metadata",
    ],
)
def test_a_cut_file_is_damaged(dump: Dump, kafka: Path, name: str) -> None:
    path = kafka / name
    path.write_bytes(path.read_bytes()[:-1])
    done = dump("--json", path)
    assert done.code == 1
    assert len(done.damage) == 1


@pytest.mark.parametrize("name", ["checkpoint", ".clean"])
def test_a_damaged_text_file_is_told(dump: Dump, ours: Path, name: str) -> None:
    flip(ours / name, 20)
    assert dump(ours / name).code == 1


def test_a_transaction_index_of_another_version_is_damaged(dump: Dump, kafka: Path) -> None:
    flip(kafka / f"{36:020d}.txnindex", 1)
    assert dump(kafka / f"{36:020d}.txnindex").code == 1


def test_one_damaged_file_among_good_ones_counts(dump: Dump, ours: Path) -> None:
    flip(ours / f"{FIRST}.log", 100)
    assert dump(ours / f"{FIRST}.log", ours / "checkpoint").code == 1


def test_a_file_of_another_kind_is_refused(dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    done = dump(tmp_path / "notes.txt")
    assert (done.code, done.text) == (1, "")
    assert "is no file of a partition" in done.error
    assert dump(tmp_path / "missing.log").code == 2


def test_a_large_batch_is_read_in_pieces(
    dump: Dump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = BatchBuilder()
    builder.append(timestamp_ms=1, key=None, value=bytes(5 << 20))
    (tmp_path / f"{FIRST}.log").write_bytes(builder.build(leader_epoch=0))
    read_at, lengths = Source.read_at, []

    def noted(source: Source, position: int, length: int) -> bytes:
        lengths.append(length)
        return read_at(source, position, length)

    monkeypatch.setattr(Source, "read_at", noted)
    assert dump(tmp_path / f"{FIRST}.log").code == 0
    assert max(lengths) == 1 << 20


# The metadata log


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
