"""`tidelog dump-log`: the contents of the files of a partition folder or of the metadata log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import click

from tidelog.cli.dump_batches import dump_log as dump_batches
from tidelog.cli.dump_files import Source
from tidelog.cli.dump_indexes import dump_index, dump_time_index, dump_transaction_index
from tidelog.cli.dump_lines import Line, damage, note
from tidelog.cli.dump_metadata import dump_raft_snapshot, dump_raft_wal
from tidelog.cli.dump_states import (
    dump_checkpoint,
    dump_clean_marker,
    dump_partition_metadata,
    dump_snapshot,
)
from tidelog.log.checkpoints import CHECKPOINT_FILE, CLEAN_FILE, METADATA_FILE
from tidelog.log.file_names import INDEX, LOG, SNAPSHOT, TIME_INDEX, TXN_INDEX
from tidelog.raft.snapshot_file import parse_name
from tidelog.raft.wal import FILE_NAME as RAFT_WAL_FILE

_INDEXES = {INDEX: dump_index, TIME_INDEX: dump_time_index, TXN_INDEX: dump_transaction_index}
_OTHERS: dict[str, Callable[[Source], Iterator[Line]]] = {
    SNAPSHOT: dump_snapshot,
    CHECKPOINT_FILE: dump_checkpoint,
    CLEAN_FILE: dump_clean_marker,
    METADATA_FILE: dump_partition_metadata,
    RAFT_WAL_FILE: dump_raft_wal,
}


@click.command(name="dump-log")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE…",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option("--deep", is_flag=True, help="Show every record of a .log, not only its batches.")
@click.option(
    "--verify-index",
    is_flag=True,
    help="Check every entry of an index against the log; for a .log, those of its indexes.",
)
def dump_log(*, files: tuple[Path, ...], as_json: bool, deep: bool, verify_index: bool) -> None:
    """Show the contents of each FILE, read-only, of a stopped or a running node.

    A FILE is a .log, .index, .timeindex, .txnindex or .snapshot (also .deleted, .cleaned, .swap), a
    checkpoint, .clean or partition.metadata, or of the metadata log the raft.wal or a .checkpoint.
    Fields have the names that Kafka's DumpLogSegments gives them; a field that does not apply is
    left out, or null with --json.

    Exit code 1: a file is damaged; lines that begin with DAMAGED say what is wrong and where.
    """
    is_damaged, shown = False, None
    try:
        dumps = (_dump(path, is_deep=deep, verifies=verify_index) for path in files)
        for path, line in chain.from_iterable(dumps):
            if path != shown and not as_json:
                _write(f"Dumping {path}")
            _write(line.as_json(path) if as_json else line.as_text())
            is_damaged, shown = is_damaged or line.is_damage, path
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise click.ClickException(str(error)) from error
    click.get_current_context().exit(int(is_damaged))


def _dump(path: Path, *, is_deep: bool, verifies: bool) -> Iterator[tuple[Path, Line]]:
    with Source(path) as source:
        for line in _lines(source, is_deep=is_deep, verifies=verifies):
            yield path, line
        if source.kind == LOG and verifies:
            for index in map(source.beside, _INDEXES):
                if index.exists():
                    yield from _dump(index, is_deep=is_deep, verifies=verifies)
                elif TXN_INDEX not in index.name:  # Most segments have none.
                    yield path, note(f"there is no {index.name}; a node rebuilds it from the log")


def _lines(source: Source, *, is_deep: bool, verifies: bool) -> Iterator[Line]:
    if source.kind == LOG:
        yield from dump_batches(source, is_deep=is_deep)
    elif source.kind in _INDEXES:
        yield from _index_lines(source, source.beside(LOG) if verifies else None)
    elif source.kind in _OTHERS:
        yield from _OTHERS[source.kind](source)
    elif parse_name(source.kind):
        yield from dump_raft_snapshot(source)
    else:
        raise click.ClickException(f"{source.path} is not a file of a partition or a metadata log")


def _index_lines(source: Source, log_path: Path | None) -> Iterator[Line]:
    dump_index_file = _INDEXES[source.kind]
    if log_path is None:
        yield from dump_index_file(source, log=None)
    elif not log_path.exists():
        yield damage(f"there is no {log_path.name} to verify it with")
    else:
        with Source(log_path) as log:
            yield from dump_index_file(source, log=log)


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode(errors="backslashreplace") + b"\n")
