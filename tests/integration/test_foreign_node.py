"""A node of another cluster at a voter's address, its log alike and ahead, and a forger beside it.

The way in which a quorum of real processes was once destroyed for good, step by step.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.integration.live_history import History
from tests.integration.live_nodes import LiveNode
from tests.integration.live_quorum import LiveQuorum, until

from tidelog.chaos.sockets.foreign_data import FOREIGN, make_foreign_data
from tidelog.chaos.sockets.grpc_forger import Forger
from tidelog.core.system import SystemDisk
from tidelog.net.quiet_ports import quiet_ports
from tidelog.node.config import parse_config
from tidelog.raft.storage import Storage

pytestmark = pytest.mark.process

VOTERS = (1, 2, 3)
OWN = "live-quorum"
REFUSED = "a node of another cluster was refused"
SETTINGS: dict[str, int | str] = {
    "metadata.log.max.record.bytes.between.snapshots": 1 << 16,
    "metadata.log.reserve.bytes": 1 << 20,
}


class Live:
    """Three controllers without brokers, and the stranger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ports = quiet_ports(len(VOTERS))
        self.voters = {n: f"127.0.0.1:{port}" for n, port in zip(VOTERS, ports, strict=True)}
        self.nodes = {node_id: self.node(node_id, folder, OWN) for node_id in VOTERS}
        self.quorum = LiveQuorum(list(self.nodes.values()), History())
        self.foreign: LiveNode | None = None

    def node(self, node_id: int, folder: Path, cluster_id: str) -> LiveNode:
        return LiveNode(
            node_id,
            roles=["controller"],
            address=self.voters[node_id],
            voters=self.voters,
            folder=folder,
            settings={**SETTINGS, "cluster.id": cluster_id},
        )

    async def put_stranger(self, victim: LiveNode) -> LiveNode:
        folder = self.folder / FOREIGN
        folder.mkdir()
        self.foreign = foreign = self.node(victim.node_id, folder, FOREIGN)
        config = parse_config(foreign.config_path.read_text("utf-8"))
        await make_foreign_data(config, own_data=victim.data_dir)
        foreign.start()
        return foreign

    def end(self) -> None:
        for node in [*self.nodes.values(), *([self.foreign] if self.foreign else [])]:
            node.end()

    async def follow_each_other(self) -> None:
        async def have_the_same() -> bool:
            found = [await self.quorum.status(node) for node in self.nodes.values()]
            answers = {(one.term, one.commit_index, one.last_index) for one in found if one}
            return all(found) and len(answers) == 1

        await until(have_the_same, "one term and one log")


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    live = Live(tmp_path)
    for node in live.nodes.values():
        node.start()
    yield live
    live.end()
    await live.quorum.transport.close()


async def test_a_stranger_at_a_voters_address_destroys_nothing(live: Live) -> None:
    quorum = live.quorum
    victim = await quorum.leader()
    await live.follow_each_other()
    others = quorum.others(victim)
    await quorum.kill(victim)
    foreign = await live.put_stranger(victim)
    term = await quorum.term()
    await quorum.leader(others, above_term=term - 1)

    await quorum.kill(*others)
    for node in others:
        node.start()
    await quorum.leader(others, above_term=term)
    assert foreign.is_running

    async def have_refused() -> bool:
        return all(REFUSED in node.log_path.read_text() for node in others)

    await until(have_refused, "a refusal by each")
    foreign.end()
    victim.start()
    await live.follow_each_other()

    for node in others:
        assert node.log_path.read_text().count(REFUSED) <= 2  # it started twice
    live.end()
    for node in live.nodes.values():
        storage = await Storage.open(
            disk=SystemDisk(),
            directory=str(node.metadata_dir),
            node_id=node.node_id,
            wall_ms=1,
            reserve_bytes=1 << 20,
            cluster_id=OWN,
        )
        storage.close()


async def test_forged_messages_cost_elections_and_no_quorum_also_after_a_start_of_all(
    live: Live,
) -> None:
    quorum = live.quorum
    await quorum.leader()
    await live.follow_each_other()
    cluster: Any = SimpleNamespace(
        cluster_id=OWN,
        topology=SimpleNamespace(controller_ids=VOTERS),
        address=live.voters.__getitem__,
    )
    forger = Forger(cluster, random.Random(7))
    taken = [await forger.send(is_leap=number < 5) for number in range(25)]
    assert any(taken[:5])

    await live.follow_each_other()
    await quorum.kill(*live.nodes.values())
    for node in live.nodes.values():
        node.start()
    await quorum.leader()
    await live.follow_each_other()
    assert await quorum.term() < 2**30
