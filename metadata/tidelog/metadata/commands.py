"""The commands of a controller: a row for each, with everything that is particular to it.

Owns the table. The quorum's queue, the handlers and the forwarders treat every row alike: a new
command is its messages in the proto, a function that decides, and a row here.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tidelog.core.errors import TidelogError
from tidelog.metadata import (
    brokers,
    configs,
    damage,
    leaders,
    partitions,
    producer_ids,
    replication,
    settling,
    topics,
)
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import (
    Checked,
    Decision,
    Shows,
    set_metadata_offset,
    shows_offset,
    wire_error,
)
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import admin_pb2 as admin
from tidelog.v1 import controller_pb2 as controller

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow(Generic[RequestT, ReplyT]):
    """A kind of command: its messages, its decision and the rules it is under."""

    request: type[RequestT]
    reply: type[ReplyT]
    """Has `error` and `controller_epoch`."""
    decide: Callable[[RequestT, MetadataImage, ControllerContext], Decision[ReplyT]]
    needs_id: bool = False
    """It may be decided twice and do two things: it has a `command_id`, and the image remembers its
    reply (`command_ids`). Others are idempotent by what they name."""
    is_refused_while_held: bool = False
    """It may change an ISR: refused while the cluster is about to stop as one."""
    plan_items: Callable[[RequestT], list[str]] | None = None
    """Names that the reply's `topics` are about, in their order, of a plan that may take several
    batches (`plans`); None: it has no results of its own to go on from."""
    is_quiet: Callable[[RequestT, MetadataImage, ControllerContext], bool] | None = None
    """True when the decision has no records, whatever else is decided: such a request waits in no
    queue. None: never."""
    complete: Callable[[ReplyT, int], None] | None = None
    """Put into the reply the values that the offset of the commit gives."""
    visible_when: Callable[[RequestT, ReplyT, MetadataImage], Shows] | None = None
    """The condition under which the asked broker's image shows the change, given the image it had
    before; None: the client need not find it there."""

    def refuse(self, error: TidelogError) -> ReplyT:
        """Return the reply that says why the whole command was not followed."""
        make: Any = self.reply  # every reply has an error
        refusal: ReplyT = make(error=wire_error(error))
        return refusal


def _index(rows: Iterable[CommandRow[Any, Any]]) -> dict[type, CommandRow[Any, Any]]:
    return {row.request: row for row in rows}


def _topic_names(request: admin.CreateTopicsRequest | admin.CreatePartitionsRequest) -> list[str]:
    return [topic.name for topic in request.topics]


COMMANDS = _index(
    (
        CommandRow(
            request=controller.RegisterBrokerRequest,
            reply=controller.RegisterBrokerResponse,
            decide=brokers.register_broker,
            complete=brokers.set_broker_epoch,
        ),
        CommandRow(
            request=controller.BrokerHeartbeatRequest,
            reply=controller.BrokerHeartbeatResponse,
            decide=brokers.heartbeat,
            is_quiet=brokers.is_quiet,
        ),
        CommandRow(
            request=controller.AlterPartitionRequest,
            reply=controller.AlterPartitionResponse,
            decide=replication.alter_partition,
            is_refused_while_held=True,
        ),
        CommandRow(
            request=controller.ReportReplicaStateRequest,
            reply=controller.ReportReplicaStateResponse,
            decide=damage.report_damage,
        ),
        CommandRow(
            request=controller.AllocateProducerIdsRequest,
            reply=controller.AllocateProducerIdsResponse,
            decide=producer_ids.allocate_producer_ids,
        ),
        CommandRow(
            request=admin.CreateTopicsRequest,
            reply=admin.CreateTopicsResponse,
            decide=topics.create_topics,
            needs_id=True,
            plan_items=_topic_names,
            visible_when=topics.show_created,
        ),
        CommandRow(
            request=admin.DeleteTopicsRequest,
            reply=admin.DeleteTopicsResponse,
            decide=topics.delete_topics,
            needs_id=True,
            plan_items=lambda request: list(request.names),
            visible_when=topics.show_deleted,
        ),
        CommandRow(
            request=admin.CreatePartitionsRequest,
            reply=admin.CreatePartitionsResponse,
            decide=partitions.create_partitions,
            needs_id=True,
            plan_items=_topic_names,
            complete=set_metadata_offset,
            visible_when=shows_offset,
        ),
        CommandRow(
            request=admin.AlterConfigsRequest,
            reply=admin.AlterConfigsResponse,
            decide=configs.alter_configs,
            needs_id=True,
            complete=set_metadata_offset,
            visible_when=shows_offset,
        ),
        CommandRow(
            request=admin.ElectLeadersRequest,
            reply=admin.ElectLeadersResponse,
            decide=leaders.elect_leaders,
            is_refused_while_held=True,
            visible_when=leaders.show_elected,
        ),
        # The controller's own: no RPC asks for them.
        CommandRow(
            request=brokers.ExpireSessions,
            reply=Checked,
            decide=brokers.expire_sessions,
        ),
        CommandRow(
            request=brokers.FenceDeadBroker, reply=Checked, decide=brokers.fence_dead_broker
        ),
        CommandRow(
            request=settling.SettlePartitions, reply=Checked, decide=settling.settle_partitions
        ),
        CommandRow(
            request=leaders.RebalanceLeaders, reply=Checked, decide=leaders.rebalance_leaders
        ),
    )
)
"""Every command by the type of its request."""
