"""`tidelog dump-log` says what is wrong in a file, and where."""

from __future__ import annotations

import errno
import struct
from pathlib import Path

import pytest
from tests.cli.dumps import FIRST, Dump, batches_of, flip

from tidelog.cli.dump_batches import dump_log
from tidelog.cli.dump_files import Source
from tidelog.records.batch import HEADER, parse_header, seal
from tidelog.records.records import BatchBuilder, Record, encode_batch


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


@pytest.mark.parametrize("length", [-(2**31), 0, 100, 1 << 20])
def test_a_length_that_leads_nowhere_ends_the_dump(dump: Dump, ours: Path, length: int) -> None:
    log = ours / f"{FIRST}.log"
    first, second, *others = batches_of(log)
    sizes = [len(batch) for batch in (first, second, *others)]
    log.write_bytes(b"".join([first, second[:8], struct.pack(">i", length), second[12:], *others]))
    done = dump("--json", log)
    assert done.code == 1
    (damage,) = done.damage
    assert (damage["position"], damage["offset"]) == (sizes[0], 1)
    assert damage["unreadBytes"] == sum(sizes[1:])
    assert dump(log).text.splitlines()[-1].startswith("DAMAGED: ")


def test_a_length_is_not_trusted_when_offsets_fall_behind_it(dump: Dump, tmp_path: Path) -> None:
    high, low = (encode_batch([Record(0, 5, None, b"v")], base_offset=n) for n in (9, 3))
    log = tmp_path / f"{9:020d}.log"
    log.write_bytes(high[:-1] + b"!" + low)
    done = dump("--json", log)
    assert done.code == 1
    assert [line["unreadBytes"] for line in done.damage] == [len(high) + len(low)]


def test_the_first_batch_has_the_offset_in_the_name(dump: Dump, ours: Path) -> None:
    log = (ours / f"{FIRST}.log").rename(ours / f"{1:020d}.log")
    done = dump("--json", log)
    assert done.code == 1
    assert [line["position"] for line in done.damage] == [0]


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


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_a_wrong_entry_casts_no_doubt_on_the_others(dump: Dump, ours: Path, kind: str) -> None:
    index = ours / f"{FIRST}.{kind}"
    size, high = (8, 4) if kind == "index" else (12, 9)
    flip(index, size + high)
    entries = [line for line in dump("--json", "--verify-index", index).lines if "offset" in line]
    assert [entry["isvalid"] for entry in entries] == [True, False] + [True] * (len(entries) - 2)


def test_an_index_is_checked_without_its_log_only_in_itself(dump: Dump, ours: Path) -> None:
    index = ours / f"{FIRST}.index"
    (ours / f"{FIRST}.log").unlink()
    assert dump(index).code == 0
    (damage,) = dump("--json", "--verify-index", index).damage
    assert f"no {FIRST}.log" in str(damage["reason"])
    entries = index.read_bytes()
    index.write_bytes(entries[8:16] + entries[:8])
    assert dump(index).code == 1


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_zeros_end_an_index_and_nothing_follows_them(dump: Dump, ours: Path, kind: str) -> None:
    index = ours / f"{FIRST}.{kind}"
    entries = index.read_bytes()
    index.write_bytes(entries + bytes(48))
    assert dump(index).code == 0
    index.write_bytes(entries + bytes(48) + b"\x77" * (8 if kind == "index" else 12))
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


@pytest.mark.parametrize(
    ("byte", "says"),
    [(9, "no marker of producer"), (25, "no batch of the log ends"), (33, "")],
)
def test_each_entry_of_a_transaction_index_is_compared_with_its_marker(
    dump: Dump, kafka: Path, byte: int, says: str
) -> None:
    index = kafka / f"{36:020d}.txnindex"
    assert dump("--verify-index", index).code == 0
    flip(index, byte)
    done = dump("--json", "--verify-index", index)
    assert [says in str(line) for line in done.damage] == [True] * bool(says)


def test_a_transaction_index_is_checked_with_its_log(dump: Dump, kafka: Path) -> None:
    done = dump("--json", "--verify-index", kafka / f"{36:020d}.log")
    (entry,) = [line for line in done.lines if "lastStableOffset" in line]
    assert entry["isvalid"]


def test_one_damaged_file_among_good_ones_counts(dump: Dump, ours: Path) -> None:
    flip(ours / f"{FIRST}.log", 100)
    assert dump(ours / f"{FIRST}.log", ours / "checkpoint").code == 1


def test_a_file_of_another_kind_is_refused(dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    done = dump(tmp_path / "notes.txt")
    assert (done.code, done.text) == (1, "")
    assert "is not a file of a partition" in done.error
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
    monkeypatch.setattr("tidelog.cli.dump_batches._DEEP_BATCH_BYTES_MAX", 4 << 20)
    done = dump("--json", "--deep", tmp_path / f"{FIRST}.log")
    assert (done.code, done.lines[-1]["type"]) == (0, "note")
    assert max(lengths) == 1 << 20


def test_a_disk_that_refuses_is_an_error(
    dump: Dump, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Source, "read_at", refuse)
    done = dump(ours / f"{FIRST}.log")
    assert done.code == 1
    assert done.error == "tidelog: [Errno 5] Input/output error\n"
