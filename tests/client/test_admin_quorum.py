"""The quorum as its controllers describe it, also while some are gone, paused or mistaken."""

from __future__ import annotations

import pytest
from tests.client.fake_cluster import ADDRESSES, BOOTSTRAP, FakeCluster

from tidelog.client import Admin, errors
from tidelog.client.admin.quorum import PeerDescription, QuorumDescription
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.controller_pb2 import DescribeQuorumResponse

VOTERS = [Endpoint(node_id=node_id, address=address) for node_id, address in ADDRESSES.items()]


def answer(node_id: int, *, term: int = 5, leader_id: int | None = 2) -> DescribeQuorumResponse:
    role = "leader" if leader_id == node_id else "follower"
    return DescribeQuorumResponse(
        node_id=node_id,
        role=role,
        term=term,
        leader_id=leader_id,
        last_index=43,
        commit_index=42,
        applied_index=41,
        snapshot_index=30,
        snapshot_bytes=300,
        wal_bytes=1_000,
        last_contact_ms=None if role == "leader" else 7,
        peers=[DescribeQuorumResponse.Peer(node_id=1, match_index=42)] if role == "leader" else [],
        voters=VOTERS,
    )


async def described(cluster: FakeCluster, *, bootstrap: str = BOOTSTRAP) -> QuorumDescription:
    async with Admin(bootstrap, transport=cluster) as admin:
        return await admin.describe_quorum()


async def test_every_controller_describes_itself() -> None:
    cluster = FakeCluster()
    cluster.quorum = {node_id: answer(node_id) for node_id in ADDRESSES}
    quorum = await described(cluster)
    assert (quorum.term, quorum.leader_id) == (5, 2)
    assert [voter.address for voter in quorum.voters] == list(ADDRESSES.values())
    follower, leader = (voter.status for voter in quorum.voters[:2])
    assert follower is not None
    assert leader is not None
    assert (follower.role, follower.last_contact_ms, follower.peers) == ("follower", 7, ())
    assert (follower.last_index, follower.commit_index, follower.applied_index) == (43, 42, 41)
    assert (follower.wal_bytes, follower.snapshot_index, follower.snapshot_bytes) == (
        *(1_000, 30, 300),
    )
    assert (leader.role, leader.last_contact_ms) == ("leader", None)
    assert leader.peers == (PeerDescription(1, 42, None),)
    assert len(cluster.requests("DescribeQuorum")) == 3, "each is asked once"


@pytest.mark.parametrize("bootstrap", [BOOTSTRAP, ADDRESSES[1]])
async def test_controllers_that_do_not_answer_are_listed_as_such(bootstrap: str) -> None:
    cluster = FakeCluster()
    cluster.quorum = {node_id: answer(node_id) for node_id in ADDRESSES}
    cluster.alive[3] = False
    quorum = await described(cluster, bootstrap=bootstrap)
    assert [voter.status is not None for voter in quorum.voters] == [True, True, False]
    assert quorum.leader_id == 2


async def test_controllers_are_found_through_a_broker_that_is_none() -> None:
    cluster = FakeCluster()
    cluster.quorum = {1: answer(1), 2: answer(2)}
    quorum = await described(cluster, bootstrap=ADDRESSES[3])
    assert [voter.node_id for voter in quorum.voters if voter.status] == [1, 2]


async def test_a_leader_of_an_earlier_term_is_none() -> None:
    """It was cut off and does not know; the others look for a new one."""
    cluster = FakeCluster()
    cluster.quorum = {
        1: answer(1, term=5, leader_id=1),
        2: answer(2, term=6, leader_id=None),
        3: answer(3, term=6, leader_id=None),
    }
    quorum = await described(cluster)
    assert (quorum.term, quorum.leader_id) == (6, None)
    cluster.quorum[3] = answer(3, term=6, leader_id=3)
    assert (await described(cluster)).leader_id == 3


async def test_an_unreachable_cluster_is_said() -> None:
    cluster = FakeCluster()
    cluster.alive = dict.fromkeys(cluster.alive, False)
    with pytest.raises(errors.UnreachableError, match="is the cluster running"):
        await described(cluster)
