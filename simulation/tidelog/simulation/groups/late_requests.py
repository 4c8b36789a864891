"""Requests of members that a later one has overtaken: each changes nothing (I24).

The protocol numbers a member's requests. A leave or a join that comes late is answered as a
question for the member's state: by its epoch, without an assignment.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.chaos.invariants.invariant import Report
from tidelog.simulation.groups.commits import shard_of
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

I24 = "I24"


class LateRequests:
    """Calls `report` for each violation, `count` for what a run is to meet."""

    def __init__(self, report: Report, count: Callable[[str], None]) -> None:
        self._report = report
        self._count = count
        self._late: dict[int, tuple[object, int]] = {}
        """By a request's identity, the request, and the member's epoch then; only asked."""

    def on_call(self, coordinator: GroupCoordinator, request: object, response: object) -> None:
        """A node was called: at first without a response, later with it."""
        if not isinstance(request, ConsumerGroupHeartbeatRequest):
            return
        if response is None:
            epoch = _epoch_if_late(coordinator, request)
            if epoch is not None:
                self._late[id(request)] = (request, epoch)
                self._count("requests_late")
        elif isinstance(response, ConsumerGroupHeartbeatResponse):
            is_answer = response.sequence == request.sequence  # of a stream, or else it is a push
            if is_answer and id(request) in self._late:
                _, epoch = self._late.pop(id(request))
                self._check(request, response, epoch)

    def _check(
        self,
        request: ConsumerGroupHeartbeatRequest,
        response: ConsumerGroupHeartbeatResponse,
        epoch: int,
    ) -> None:
        if response.error.code != common_pb2.NONE:
            return
        who = f"request {request.sequence} of {request.member_id}, epoch {request.member_epoch}"
        has_left = response.member_epoch < 0 <= epoch
        if has_left or response.HasField("assignment"):
            self._report(I24, f"{who}, came late and was taken")


def _epoch_if_late(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest
) -> int | None:
    """Epoch of the member of a late request; None: it is not late, or there is no member."""
    shard = shard_of(coordinator, request.group_id)
    live = None if shard is None else shard.groups.get(request.group_id)
    if live is None:
        return None
    session = live.sessions._by_member.get(request.member_id)  # noqa: SLF001
    member = live.state.members.get(request.member_id)
    if session is None or member is None or not 0 < request.sequence <= session.sequence:
        return None
    return member.epoch
