"""Mutants of groups in frames: answers that leave something out, or tell what was so before."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from typing import Any

from tidelog.core.errors import TidelogError
from tidelog.kafka.messages.join_group_response import JoinGroupResponse
from tidelog.node.kafka_apis import groups_classic, groups_offsets
from tidelog.node.kafka_apis.groups_classic import JoinGroupHandler
from tidelog.node.kafka_apis.groups_fetched import OffsetFetchHandler
from tidelog.node.kafka_apis.groups_find import FindCoordinatorHandler
from tidelog.simulation.mutants.mutant import replaces
from tidelog.v1 import common_pb2

_answer_join = JoinGroupHandler.__call__
_fetch = OffsetFetchHandler._fetch
_find = FindCoordinatorHandler._find


@replaces(groups_offsets, "offset_code")
def commit_errors_left_out(_error: TidelogError | None, _version: int) -> int:
    """A commit that is refused is answered as one that was taken."""
    return common_pb2.NONE


@replaces(groups_classic, "heartbeat_code")
def heartbeat_errors_left_out(_error: TidelogError) -> int:
    """A member that is not in the group, or not in this generation, is told that it is."""
    return common_pb2.NONE


@replaces(OffsetFetchHandler, "_fetch")
async def first_offsets_repeated(self: OffsetFetchHandler, asked: Any, version: int) -> Any:
    """A broker answers each look-up of a partition with the first offset that it found there."""
    found = await _fetch(self, asked, version)
    kept = vars(self).setdefault("_wrongly_kept", {})
    return found._replace(
        topics=[
            (name, topic_id, [_kept(kept, (name, topic_id), one) for one in results])
            for name, topic_id, results in found.topics
        ]
    )


@replaces(FindCoordinatorHandler, "_find")
async def first_coordinators_repeated(
    self: FindCoordinatorHandler, keys: Any, key_type: int, call: Any
) -> Any:
    """A broker tells the coordinator that a group had when it was first looked up."""
    found = await _find(self, keys, key_type, call)
    kept = vars(self).setdefault("_wrongly_kept", {})
    return [one if one.error_code else kept.setdefault(one.key, one) for one in found]


@replaces(JoinGroupHandler, "__call__")
async def old_members_answered(
    self: JoinGroupHandler, request: Any, call: Any
) -> JoinGroupResponse:
    """A leader is told the members that the generation before had."""
    answer = await _answer_join(self, request, call)
    if answer.members:
        before = vars(self).get("_wrongly_kept")
        vars(self)["_wrongly_kept"] = answer.members
        answer.members = before or answer.members
    return answer


def _kept(kept: Any, topic: Any, one: Any) -> Any:
    key = *topic, one.partition.partition
    return one if one.committed.offset < 0 else kept.setdefault(key, one)
