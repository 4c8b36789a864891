"""Puts a voter together: storage, engine, transport, driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from tidelog.core.env import Clock, Disk, Random
from tidelog.core.errors import invariant
from tidelog.raft.config import RaftConfig
from tidelog.raft.driver import RaftDriver
from tidelog.raft.engine import Engine
from tidelog.raft.storage import Storage
from tidelog.raft.transport import RaftTransport
from tidelog.raft.voter import Voter


def build_replicated_log(
    *,
    node_id: int,
    voters: Mapping[int, str],
    directory: str,
    disk: Disk,
    clock: Clock,
    random: Random,
    transport: RaftTransport,
    config: RaftConfig,
    on_fatal: Callable[[BaseException], None],
) -> RaftDriver:
    """Put a voter together; `voters` maps every voter's id, this node's too, to its address.

    `on_fatal` is called once, on the loop, when the node must end at once without telling anyone
    anything more: a storage error, a broken invariant, an exception of the state machine.
    Errors: `InvariantError` when `config.engine` is "pysyncobj" and the installed one is not the
    one that was reviewed.
    """
    invariant(node_id in voters, "this node is one of the voters", node_id, sorted(voters))

    def open_storage() -> Awaitable[Storage]:
        return Storage.open(
            disk=disk,
            directory=directory,
            node_id=node_id,
            wall_ms=clock.wall_ms(),
            reserve_bytes=config.wal_reserve_bytes,
            cluster_id=config.cluster_id,
        )

    def make_engine(storage: Storage) -> Engine:
        engine: Callable[..., Engine] = Voter
        if config.engine == "pysyncobj":
            from tidelog.raft.pysyncobj.engine import SyncObj  # only when it is chosen

            engine = SyncObj
        return engine(
            sorted(voters),
            log=storage.wal,
            snapshots=storage.snapshots,
            random=random,
            config=config,
        )

    return RaftDriver(
        node_id=node_id,
        open_storage=open_storage,
        make_engine=make_engine,
        transport=transport,
        clock=clock,
        config=config,
        on_fatal=on_fatal,
    )
