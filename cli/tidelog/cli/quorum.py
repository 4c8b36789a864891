"""`tidelog quorum status | log`: the controllers and their metadata log."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, json_lines_option, json_option, run
from tidelog.cli.table import echo_table

if TYPE_CHECKING:
    from tidelog.cli.metadata_log import LogLine
    from tidelog.client.admin.quorum import QuorumDescription, VoterDescription
    from tidelog.v1.controller_pb2 import FollowMetadataRequest, FollowMetadataResponse

_COLUMNS = (
    *("id", "address", "role", "term", "commit", "applied", "contact ms", "WAL bytes"),
    "snapshot",
)
_NOBODY = -1
"""The broker id of a follower of the metadata that is not a broker."""

_TIMEOUT_MS = 5_000


@click.group()
def quorum() -> None:
    """Show the controllers and their metadata log."""


@quorum.command()
@json_option
@bootstrap_option
def status(*, as_json: bool, bootstrap: str) -> None:
    """Show role, term, indexes and log size as each controller reports them.

    A controller that does not answer is listed as unreachable. Exit code 1: no leader is known.
    """
    described = ask(bootstrap, lambda admin: admin.describe_quorum())
    if as_json:
        echo_json(_as_json(described))
    else:
        _print_table(described)
    click.get_current_context().exit(int(described.leader_id is None))


@quorum.command()
@click.argument(
    "files",
    nargs=-1,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="[FILE…]",
)
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Read the files of this node instead; it may be stopped.",
)
@click.option(
    "--from",
    "from_offset",
    type=click.IntRange(min=0),
    default=0,
    metavar="OFFSET",
    help="From a running controller: only entries after this offset.",
)
@click.option(
    "--snapshot",
    "with_snapshot",
    is_flag=True,
    help="From a running controller: all current metadata, not the newest changes.",
)
@json_lines_option
@bootstrap_option
def log(
    *,
    files: tuple[Path, ...],
    data_dir: Path | None,
    from_offset: int,
    with_snapshot: bool,
    as_json: bool,
    bootstrap: str,
) -> None:
    """Show metadata records with the index and term of their entries, one per line.

    The records come from a running controller, which holds the newest changes, or from each FILE: a
    raft.wal or a .checkpoint. The last entries of a file may never have been committed.
    """
    from tidelog.cli.metadata_log import file_lines, log_files
    from tidelog.client.routing import parse_bootstrap
    from tidelog.v1.controller_pb2 import FollowMetadataRequest

    paths = [*(log_files(data_dir) if data_dir else []), *files]
    try:
        if paths:
            _write_all(chain.from_iterable(map(file_lines, paths)), as_json=as_json)
        else:
            request = FollowMetadataRequest(
                from_offset=from_offset, broker_id=_NOBODY, accepts_snapshot=with_snapshot
            )
            run(_write_followed(parse_bootstrap(bootstrap), request, as_json=as_json))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise click.ClickException(str(error)) from error


def _write_all(lines: Iterator[LogLine], *, as_json: bool) -> None:
    for line in lines:
        sys.stdout.write((line.as_json() if as_json else line.as_text()) + "\n")


async def _write_followed(
    addresses: list[str], request: FollowMetadataRequest, *, as_json: bool
) -> None:
    """Write records from the first controller that answers. Errors: UnreachableError."""
    from tidelog.client.errors import CallFailedError, UnreachableError
    from tidelog.net.grpc_transport import GrpcTransport
    from tidelog.v1.controller_pb2 import DescribeQuorumRequest
    from tidelog.v1.methods import DESCRIBE_QUORUM, FOLLOW_METADATA

    transport = GrpcTransport()
    try:
        for address in addresses:
            try:
                # Controllers serve the metadata log to nodes of their own cluster only.
                described = await transport.call(
                    address, DESCRIBE_QUORUM, DescribeQuorumRequest(), timeout_ms=_TIMEOUT_MS
                )
                request.cluster_id = described.cluster_id
                answers = transport.stream(address, FOLLOW_METADATA, request)
                await _write_answers(answers, request.from_offset, as_json=as_json)
            except (UnreachableError, CallFailedError):
                continue
            return
        raise UnreachableError(f"no controller answers at {', '.join(addresses)}")
    finally:
        await transport.close()


async def _write_answers(
    answers: AsyncIterator[FollowMetadataResponse], from_offset: int, *, as_json: bool
) -> None:
    """Write records up to the offset that was committed at the first answer."""
    until, position = None, from_offset
    async with aclosing(answers) as responses:  # type: ignore[type-var]  # a generator
        async for response in responses:
            until = response.committed_offset if until is None else until
            _write_all(_lines(response), as_json=as_json)
            if response.HasField("snapshot"):
                position = response.snapshot.offset if response.snapshot.is_last else position
            elif response.entries:
                position = response.entries[-1].offset
            else:
                return  # nothing is left
            if position >= until:
                return


def _lines(response: FollowMetadataResponse) -> Iterator[LogLine]:
    from tidelog.cli.metadata_log import batch_lines, piece_lines

    for entry in response.entries:
        term = entry.batch.controller_epoch
        yield from batch_lines(entry.batch, index=entry.offset, term=term)
    if response.HasField("snapshot"):
        yield from piece_lines(response.snapshot)


def _as_json(described: QuorumDescription) -> dict[str, object]:
    from tidelog.client.admin.quorum import VoterStatus

    nothing: dict[str, object] = dict.fromkeys(VoterStatus.__slots__)
    voters = [
        {
            "node_id": voter.node_id,
            "address": voter.address,
            **(nothing | {"role": "unreachable"} if voter.status is None else asdict(voter.status)),
        }
        for voter in described.voters
    ]
    return {"leader_id": described.leader_id, "term": described.term, "voters": voters}


def _print_table(described: QuorumDescription) -> None:
    leader = "unknown" if described.leader_id is None else f"{described.leader_id}"
    click.echo(f"leader {leader}, term {described.term}")
    echo_table(_COLUMNS, map(_row, described.voters))


def _row(voter: VoterDescription) -> tuple[str, ...]:
    known, found = (str(voter.node_id), voter.address), voter.status
    if found is None:
        return (*known, "unreachable", *(["-"] * 6))
    contact = "-" if found.last_contact_ms is None else str(found.last_contact_ms)
    return (
        *(*known, found.role, str(found.term), str(found.commit_index), str(found.applied_index)),
        *(contact, str(found.wal_bytes), str(found.snapshot_index)),
    )
