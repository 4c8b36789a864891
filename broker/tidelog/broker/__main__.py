"""`python -m tidelog.broker --config FILE`: one node as a process of its own.

Exit 0 after a clean stop (SIGTERM, SIGINT), 1 with one line on stderr when it cannot run.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

import structlog

from tidelog.broker.config import NodeConfig, parse_config
from tidelog.broker.data_directory import format_or_check
from tidelog.broker.http import HttpServer
from tidelog.broker.metrics import registry_for
from tidelog.broker.rpc.grpc_server import GrpcServer
from tidelog.broker.server import Node, Ports, build_node
from tidelog.log.errors import TidelogError
from tidelog.log.grpc_transport import GrpcTransport
from tidelog.log.system import (
    SystemClock,
    SystemDisk,
    SystemRandom,
    boot_id,
    end_process,
    lock_directory,
    process_id,
    raise_open_files_limit,
)
from tidelog.raft.grpc_transport import GrpcRaftTransport, RaftPeerHandler

STOP_GRACE_S = 0.5
HEALTH_INTERVAL_S = 0.25

log = structlog.get_logger(__name__)


def main() -> int:
    """Read the configuration, run the node until it is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m tidelog.broker", description=__doc__)
    parser.add_argument("--config", required=True, type=Path, help="flat TOML, Kafka's key names")
    path: Path = parser.parse_args().config
    _configure_logging()
    try:
        config = parse_config(path.read_text(encoding="utf-8"))
        asyncio.run(_serve(config))
    except (TidelogError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


async def _serve(config: NodeConfig) -> None:
    raise_open_files_limit()
    disk = SystemDisk()
    await format_or_check(disk, config)
    with lock_directory(config.data_dir):
        await _run_node(config, disk)


async def _run_node(config: NodeConfig, disk: SystemDisk) -> None:
    peers = GrpcTransport()
    transport = _raft_transport(config)
    node = build_node(
        config,
        Ports(
            clock=SystemClock(),
            disk=disk,
            random=SystemRandom(),
            peers=peers,
            raft_transport=transport,
            on_fatal=_end_at_once,
            process_id=process_id(),
            boot_id=boot_id(),
        ),
    )
    if transport is not None:
        node.services["tidelog.v1.RaftPeer"] = RaftPeerHandler(transport)
    server = GrpcServer(address=config.address, services=node.services, on_fatal=_end_at_once)
    http = _http_server(config, node)
    await server.start()
    if http is not None:
        await http.start()
    try:
        await node.start()
    except (TidelogError, OSError) as error:
        # Peers may be connected already, and nothing needs an orderly end: one line is all.
        _end_at_once(error, how="error")
    log.info("started", node_id=config.node_id, address=config.address)
    await _until_told_to_stop(node, server)
    await server.set_healthy(healthy=False)
    await node.stop()
    await server.stop(grace_s=STOP_GRACE_S)
    if http is not None:
        await http.stop()
    await peers.close()
    log.info("stopped", node_id=config.node_id)


def _raft_transport(config: NodeConfig) -> GrpcRaftTransport | None:
    if not config.is_controller:
        return None
    return GrpcRaftTransport(
        node_id=config.node_id, voters=config.controller_voters, config=config.raft
    )


def _http_server(config: NodeConfig, node: Node) -> HttpServer | None:
    if config.http_port is None:
        return None
    return HttpServer(
        host=config.address.rpartition(":")[0],
        port=config.http_port,
        registry=registry_for(node.stats),
        is_ready=node.is_ready,
    )


async def _until_told_to_stop(node: Node, server: GrpcServer) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    was_ready: bool | None = None
    while not told.is_set():
        if was_ready != (was_ready := node.is_ready()):
            await server.set_healthy(healthy=was_ready)
        try:
            await asyncio.wait_for(told.wait(), HEALTH_INTERVAL_S)
        except TimeoutError:
            continue


def _end_at_once(error: BaseException, *, how: str = "fatal") -> None:
    """A crash is safe, going on is not: what is not synced was never told."""
    sys.stderr.write(f"{how}: {error}\n")
    sys.stderr.flush()
    end_process(1)


def _configure_logging() -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )


if __name__ == "__main__":
    sys.exit(main())
