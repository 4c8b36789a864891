"""`tidelog dump-log` shows files of Kafka, and of our own log, open and closed."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from tests.cli.dumps import FIRST, KAFKA, TOPIC_ID, Dump, batches_of, open_log

from tidelog.core.system import SystemDisk
from tidelog.log.producer_snapshots import encode_snapshot
from tidelog.log.producers import BatchMetadata, ProducerEntry
from tidelog.records.batch import CONTROL_FLAG, DELETE_HORIZON_FLAG, HEADER, parse_header, seal
from tidelog.records.records import Record, encode_batch


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
    assert len(entries) == 21
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


def test_a_delete_horizon_is_shown(dump: Dump, tmp_path: Path) -> None:
    log = tmp_path / f"{FIRST}.log"
    header = parse_header(encode_batch([Record(0, 5, b"k", None)]))
    horizon = header._replace(attributes=DELETE_HORIZON_FLAG, base_timestamp=77, records_count=0)
    log.write_bytes(seal(horizon, b""))
    assert dump("--json", log).lines[0]["deleteHorizonMs"] == 77
    assert "deleteHorizonMs: 77" in dump(log).text


def test_a_control_record_that_is_no_marker_is_shown_as_it_is(dump: Dump, tmp_path: Path) -> None:
    log = tmp_path / f"{FIRST}.log"
    batch = encode_batch([Record(0, 5, struct.pack(">hh", 0, 2), b"leader")])
    header = parse_header(batch)._replace(attributes=CONTROL_FLAG)
    log.write_bytes(seal(header, batch[HEADER.size :]))
    done = dump("--json", "--deep", log)
    assert done.code == 0
    assert done.lines[-1]["payload"] == "leader"
