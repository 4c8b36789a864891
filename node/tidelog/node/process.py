"""The process of a node: from its configuration to its end.

Owns the order in which listeners, node and logging start and stop, and the process's last message
on a fatal error. `served_node` has the node with its listeners, `server` composes the node itself.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structlog.typing import Processor

from tidelog.core.errors import InvariantError, TidelogError
from tidelog.core.logs import get_logger
from tidelog.core.output_file import OutputFile
from tidelog.core.system import (
    SystemClock,
    SystemDisk,
    end_process,
    environment,
    lock_directory,
    raise_open_files_limit,
)
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.peers import OwnPeers
from tidelog.node.config import NodeConfig, parse_config
from tidelog.node.data_directory import format_or_check
from tidelog.node.garbage import GarbageCollection
from tidelog.node.node_log import NodeLog
from tidelog.node.served_node import Outside, ServedNode
from tidelog.node.server import Node

CALLS_END_S = 1.0
"""Maximum wait at a stop for calls whose connections are closed; they end in milliseconds."""

log = get_logger(__name__)


def _alone(_node: Node) -> AbstractAsyncContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Connections of a node to others, and companions in its process."""

    peers: OwnPeers
    raft_voters: Mapping[int, str]
    """Addresses at which voters are reached, which may differ from the configured ones."""
    beside: Callable[[Node], AbstractAsyncContextManager[None]] = _alone
    """Context manager around the node's life: entered before its start, left after its stop."""


def run_node(
    path: Path | None,
    surround: Callable[[NodeConfig], Surroundings] | None = None,
    *,
    disk: SystemDisk | None = None,
    log_tap: Processor | None = None,
    log_path: Path | None = None,
) -> int:
    """Run the node of a file and the environment until a signal stops it; return the exit code.

    `surround` is called on the loop; `disk` defaults to the machine's; `log_tap` sees every log
    line before it is written; stdout and stderr go to `log_path`, which is rotated, or stay
    unchanged.
    """
    node_log = NodeLog(SystemClock(), output=None if log_path is None else OutputFile(log_path))
    node_log.begin(tap=log_tap)
    try:
        config = parse_config(read_config_text(path), environment())
        asyncio.run(_serve(config, surround or _direct, disk or SystemDisk(), node_log))
    except (TidelogError, InvariantError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def read_config_text(path: Path | None) -> str:
    """Read a configuration file; empty without one. Raises `OSError`, `TidelogError`: no UTF-8."""
    try:
        return "" if path is None else path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TidelogError(f"{path} is not UTF-8: {error}") from error


def _direct(config: NodeConfig) -> Surroundings:
    return Surroundings(GrpcTransport(), config.controller_voters)


async def _serve(
    config: NodeConfig,
    surround: Callable[[NodeConfig], Surroundings],
    disk: SystemDisk,
    node_log: NodeLog,
) -> None:
    raise_open_files_limit()
    asyncio.get_running_loop().set_exception_handler(end_on_broken_invariant)
    garbage = GarbageCollection()
    garbage.start()
    await format_or_check(disk, config)
    tending = asyncio.create_task(node_log.tend(), name="node-log")
    try:
        with lock_directory(config.data_dir):
            await _run(config, disk, surround(config))
    finally:
        tending.cancel()
        garbage.stop()
        node_log.log_counted()
        await _wait_for_calls()


async def _wait_for_calls() -> None:
    """Wait for gRPC's tasks of the calls that ended with the server.

    They still await their status from gRPC's core. If the loop's end cancelled them, each might
    write a traceback.
    """
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        await asyncio.wait(left, timeout=CALLS_END_S)


async def _run(config: NodeConfig, disk: SystemDisk, surroundings: Surroundings) -> None:
    outside = Outside(disk, surroundings.peers, surroundings.raft_voters, _end_at_once)
    served = ServedNode(config, outside)
    await served.listen()
    async with surroundings.beside(served.node):
        await _or_end(served.node.start())
        log.info("started", node_id=config.node_id, address=config.address)
        await _until_signalled(served)
        await served.stop_node()
    await served.close()
    log.info("stopped", node_id=config.node_id)


async def _or_end(start: Coroutine[Any, Any, None]) -> None:
    try:
        await start
    except (TidelogError, InvariantError, OSError) as error:
        # Peers may be connected already, and no orderly end is needed: one line suffices.
        _end_at_once(error, how="error")


async def _until_signalled(served: ServedNode) -> None:
    is_signalled = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, is_signalled.set)
    await served.keep_health(is_signalled)


def end_on_broken_invariant(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handle what no task and no edge has: an error of a callback, or of a task not awaited."""
    error = context.get("exception")
    if isinstance(error, InvariantError):
        _end_at_once(error)
    loop.default_exception_handler(context)


def _end_at_once(error: BaseException, *, how: str = "fatal") -> None:
    """End the process: a crash is safe, as nothing unsynced was acknowledged; continuing is not."""
    sys.stderr.write(f"{how}: {error}\n")
    sys.stderr.flush()
    end_process(1)
