"""Assembly of a voter: storage, engine, transport, driver."""

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
    """Build a voter; `voters` maps every voter's id, including this node's, to its address.

    `on_fatal` is called once, on the loop, when the node must stop at once without sending anything
    more: on a storage error, a broken invariant, an exception of the state machine. Raises
    `InvariantError` when `config.engine` is "pysyncobj" and the installed version is not the
    reviewed one.
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
            from tidelog.raft.pysyncobj.engine import SyncObj  # only when configured

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
