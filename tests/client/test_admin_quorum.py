"""The quorum as three controllers describe it, also while some are gone or deposed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.patience import until
from tests.client.real_cluster import BOOTSTRAP, CONTROLLERS, RealCluster, started

from tidelog.client import Admin, errors
from tidelog.client.admin.quorum import QuorumDescription, VoterStatus

IDS = list(CONTROLLERS)


async def described(
    cluster: RealCluster, *, bootstrap: str = ",".join(CONTROLLERS.values())
) -> QuorumDescription:
    async with Admin(bootstrap, transport=cluster) as admin:
        return await admin.describe_quorum()


def statuses(quorum: QuorumDescription) -> dict[int, VoterStatus]:
    """Of those that answered."""
    return {voter.node_id: voter.status for voter in quorum.voters if voter.status is not None}


def quorum_of(cluster: RealCluster, node_id: int) -> Any:  # a QuorumController
    return cluster.machines[node_id].node._quorum


async def test_every_controller_describes_itself() -> None:
    cluster = await started(controllers=3)
    await cluster.create("t")
    found = await described(cluster)
    assert [(one.node_id, one.address) for one in found.voters] == list(CONTROLLERS.items())
    assert len(cluster.requests("DescribeQuorum")) == 3, "each is asked once"
    by_id = statuses(found)
    assert list(by_id) == IDS
    leader_id = found.leader_id
    assert leader_id is not None
    assert found.term == cluster.quorum.term
    for node_id, status in by_id.items():
        own = quorum_of(cluster, node_id).status()
        assert (status.term, status.leader_id) == (found.term, leader_id)
        assert status.role == ("leader" if node_id == leader_id else "follower")
        assert (status.last_index, status.commit_index) == (own.last_index, own.commit_index)
        assert status.applied_index == own.applied_index > 0
        assert status.wal_bytes == own.wal_bytes > 0
        assert (status.snapshot_index, status.snapshot_bytes) == (0, 0)
        assert status.last_contact_ms is not None
    peers = {peer.node_id: peer for peer in by_id[leader_id].peers}
    followers = [node_id for node_id in IDS if node_id != leader_id]
    assert sorted(peers) == followers
    for node_id in followers:
        assert by_id[node_id].peers == ()
        assert peers[node_id].match_index == by_id[node_id].last_index
        assert peers[node_id].last_contact_ms is not None


@pytest.mark.parametrize("is_leader_gone", [False, True])
async def test_controllers_that_do_not_answer_are_listed_as_such(*, is_leader_gone: bool) -> None:
    cluster = await started(controllers=3)
    old = (await described(cluster)).leader_id
    assert old is not None
    gone = next(one for one in IDS if (one == old) == is_leader_gone)
    rest = [one for one in IDS if one != gone]
    cluster.kill(gone)
    await until(lambda: any(quorum_of(cluster, one).is_active for one in rest))
    for bootstrap in (",".join(CONTROLLERS.values()), CONTROLLERS[rest[0]]):
        found = await described(cluster, bootstrap=bootstrap)
        assert [one.node_id for one in found.voters] == IDS
        assert list(statuses(found)) == rest
        assert found.leader_id in rest
        assert (found.leader_id == old) != is_leader_gone


async def test_controllers_are_found_through_brokers_that_are_none() -> None:
    cluster = await started(controllers=3)
    cluster.cut_off.add(CONTROLLERS[IDS[2]])
    found = await described(cluster, bootstrap=BOOTSTRAP)
    assert [(one.node_id, one.address) for one in found.voters] == list(CONTROLLERS.items())
    assert list(statuses(found)) == IDS[:2]


async def test_a_leader_of_an_earlier_term_is_none() -> None:
    """It was cut off and does not know; the others have a new one."""
    cluster = await started(controllers=3)
    old = await described(cluster)
    assert old.leader_id is not None
    cluster.isolate(old.leader_id)
    rest = [one for one in IDS if one != old.leader_id]
    await until(lambda: any(quorum_of(cluster, one).is_active for one in rest))
    found = await described(cluster)
    deposed = statuses(found)[old.leader_id]
    assert (deposed.role, deposed.term) == ("leader", old.term), "so it says"
    assert found.term > old.term
    assert found.leader_id in rest

    def look_for_another(_method: str, answer: Any) -> None:  # of DescribeQuorum
        if answer.term == found.term:
            answer.ClearField("leader_id")

    cluster.spoil = look_for_another
    leaderless = await described(cluster)
    assert statuses(leaderless)[old.leader_id].role == "leader", "still"
    assert (leaderless.term, leaderless.leader_id) == (found.term, None)


async def test_an_unreachable_cluster_is_said() -> None:
    cluster = RealCluster(controllers=3)
    with pytest.raises(errors.UnreachableError, match="is the cluster running"):
        await described(cluster)
