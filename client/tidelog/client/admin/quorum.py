"""The controllers' quorum, described by all controllers, which are asked concurrently.

Owns the evaluation of their answers: an old leader that was cut off still reports that it leads, so
only answers in the highest term are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.client.errors import TidelogError, UnreachableError
from tidelog.net.transport import Transport
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import DescribeClusterRequest
from tidelog.v1.controller_pb2 import DescribeQuorumRequest, DescribeQuorumResponse
from tidelog.v1.methods import DESCRIBE_CLUSTER, DESCRIBE_QUORUM, Method, Request, Response

_TIMEOUT_MS = 3_000
"""The limit of the wait for a silent node, such as a paused one."""


@dataclass(frozen=True, slots=True)
class PeerDescription:
    """The leader's view of another voter; `last_contact_ms` is None before its first answer."""

    node_id: int
    match_index: int
    last_contact_ms: int | None


@dataclass(frozen=True, slots=True)
class VoterStatus:
    """The state that a voter reports of itself.

    `role` is leader, candidate, follower or rejoining; `last_contact_ms` is since a follower heard
    the leader, or since a majority answered the leader. `wal_bytes` leaves out reserved space;
    `snapshot_index` is 0 without a snapshot. Only a leader has `peers`.
    """

    role: str
    term: int
    leader_id: int | None
    last_index: int
    commit_index: int
    applied_index: int
    last_contact_ms: int | None
    wal_bytes: int
    snapshot_index: int
    snapshot_bytes: int
    peers: tuple[PeerDescription, ...]


@dataclass(frozen=True, slots=True)
class VoterDescription:
    """A configured controller; `status` is None if it did not answer."""

    node_id: int
    address: str
    status: VoterStatus | None


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The controllers by id; `leader_id` is None if no answer names a leader."""

    term: int
    leader_id: int | None
    voters: tuple[VoterDescription, ...]


class QuorumLookup:
    """The look-up of the quorum: finds the controllers through any node, and asks each."""

    def __init__(self, transport: Transport, *, bootstrap: Sequence[str]) -> None:
        self._transport = transport
        self._bootstrap = bootstrap

    async def describe(self) -> QuorumDescription:
        """Describe the quorum. Errors: UnreachableError if no address names the controllers."""
        answers = await self._ask_all(self._bootstrap, DESCRIBE_QUORUM, DescribeQuorumRequest())
        voters = {v.node_id: v.address for answer in answers.values() for v in answer.voters}
        voters = voters or await self._find_configured()
        missing = [address for address in voters.values() if address not in answers]
        answers |= await self._ask_all(missing, DESCRIBE_QUORUM, DescribeQuorumRequest())
        return _description(voters, answers.values())

    async def _find_configured(self) -> dict[int, str]:
        """The controllers as brokers know them, if no bootstrap address is a controller's."""
        request = DescribeClusterRequest()
        answers = await self._ask_all(self._bootstrap, DESCRIBE_CLUSTER, request)
        voters = {c.node_id: c.address for a in answers.values() for c in a.controllers}
        if not voters:
            where = ", ".join(self._bootstrap)
            raise UnreachableError(f"no node answers at {where}: is the cluster running?")
        return voters

    async def _ask_all(
        self, addresses: Sequence[str], method: Method[Request, Response], request: Request
    ) -> dict[str, Response]:
        answers = await asyncio.gather(*(self._ask(one, method, request) for one in addresses))
        found = zip(addresses, answers, strict=True)
        return {address: answer for address, answer in found if answer is not None}

    async def _ask(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> Response | None:
        try:
            return await self._transport.call(address, method, request, timeout_ms=_TIMEOUT_MS)
        except TidelogError:
            return None


def _description(
    voters: Mapping[int, str], answers: Iterable[DescribeQuorumResponse]
) -> QuorumDescription:
    by_id = {one.node_id: _status(one) for one in answers if one.error.code == common_pb2.NONE}
    described = tuple(
        VoterDescription(node_id, address, by_id.get(node_id))
        for node_id, address in sorted(voters.items())
    )
    term = max((status.term for status in by_id.values()), default=0)
    leaders = (s.leader_id for s in by_id.values() if s.term == term and s.leader_id is not None)
    return QuorumDescription(term, next(leaders, None), described)


def _status(answer: DescribeQuorumResponse) -> VoterStatus:
    return VoterStatus(
        role=answer.role,
        term=answer.term,
        leader_id=answer.leader_id if answer.HasField("leader_id") else None,
        last_index=answer.last_index,
        commit_index=answer.commit_index,
        applied_index=answer.applied_index,
        last_contact_ms=answer.last_contact_ms if answer.HasField("last_contact_ms") else None,
        wal_bytes=answer.wal_bytes,
        snapshot_index=answer.snapshot_index,
        snapshot_bytes=answer.snapshot_bytes,
        peers=tuple(_peer(peer) for peer in answer.peers),
    )


def _peer(peer: DescribeQuorumResponse.Peer) -> PeerDescription:
    last_contact_ms = peer.last_contact_ms if peer.HasField("last_contact_ms") else None
    return PeerDescription(peer.node_id, peer.match_index, last_contact_ms)
