"""The controller's core: a command and an image in, records and a reply out.

Owns what is not in the image: broker sessions, the newest attempts of brokers' requests and the
hold. Never changes an image; the records it
returns do, once committed, by `tidelog.metadata.delta.replay`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.core.env import Random
from tidelog.core.errors import BrokerNotAvailableError, KafkaError, TidelogError
from tidelog.metadata import (
    brokers,
    commands,
    configs,
    damage,
    leaders,
    partitions,
    producer_ids,
    replication,
    topics,
)
from tidelog.metadata.attempts import Attempts, NumberedRequest
from tidelog.metadata.commands import PlanCommand
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.image import MetadataImage
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReportReplicaStateRequest,
    ReportReplicaStateResponse,
)
from tidelog.v1.metadata_records_pb2 import MetadataRecord


@dataclass(frozen=True, slots=True)
class ExpireSessions:
    """Fence the brokers that were not heard of for a session."""


@dataclass(frozen=True, slots=True)
class FenceDeadBroker:
    """Fence one incarnation of a broker that was found dead before its session ended."""

    broker_id: int
    broker_epoch: int
    cause: str
    """What was found, for people."""


@dataclass(frozen=True, slots=True)
class RebalanceLeaders:
    """Let preferred leaders lead again that are in sync."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The reply to what the controller tells itself."""

    error: Error = field(default_factory=Error)


Command = (
    RegisterBrokerRequest
    | BrokerHeartbeatRequest
    | AlterPartitionRequest
    | CreateTopicsRequest
    | DeleteTopicsRequest
    | CreatePartitionsRequest
    | AlterConfigsRequest
    | AllocateProducerIdsRequest
    | ReportReplicaStateRequest
    | ElectLeadersRequest
    | ExpireSessions
    | FenceDeadBroker
    | RebalanceLeaders
)
Reply = (
    RegisterBrokerResponse
    | BrokerHeartbeatResponse
    | AlterPartitionResponse
    | CreateTopicsResponse
    | DeleteTopicsResponse
    | CreatePartitionsResponse
    | AlterConfigsResponse
    | AllocateProducerIdsResponse
    | ReportReplicaStateResponse
    | ElectLeadersResponse
    | Checked
)

_REPLIES: Mapping[type[Command], type[Reply]] = {
    RegisterBrokerRequest: RegisterBrokerResponse,
    BrokerHeartbeatRequest: BrokerHeartbeatResponse,
    AlterPartitionRequest: AlterPartitionResponse,
    CreateTopicsRequest: CreateTopicsResponse,
    DeleteTopicsRequest: DeleteTopicsResponse,
    CreatePartitionsRequest: CreatePartitionsResponse,
    AlterConfigsRequest: AlterConfigsResponse,
    AllocateProducerIdsRequest: AllocateProducerIdsResponse,
    ReportReplicaStateRequest: ReportReplicaStateResponse,
    ElectLeadersRequest: ElectLeadersResponse,
    ExpireSessions: Checked,
    FenceDeadBroker: Checked,
    RebalanceLeaders: Checked,
}


def refusal(command: Command, error: TidelogError) -> Reply:
    """The reply that says why the whole command was not followed."""
    return _REPLIES[type(command)](error=wire_error(error))


class Controller:
    """Decides on commands while its node is the active controller."""

    def __init__(self, config: ControllerConfig, random: Random) -> None:
        self._config = config
        self._random = random
        self._sessions = brokers.Sessions(config.session_timeout_ms)
        self._attempts = Attempts()
        self._vacancies = brokers.Vacancies()
        self._held_until_ms: int | None = None

    def activate(self, now_ms: int, *, controller_epoch: int) -> None:
        """Start as the active controller: every unfenced broker gets a full session from now.

        Numbered requests that do not name this controller epoch are refused.
        """
        self._sessions.restart(now_ms)
        self._attempts.restart(controller_epoch)

    def hold(self, until_ms: int) -> None:
        """Fence nobody and refuse AlterPartition until this monotonic time.

        The cluster is about to stop as one. Registrations go on.
        """
        self._held_until_ms = until_ms

    def release(self) -> None:
        """End the hold now; brokers that fell silent during it are fenced at the next check."""
        self._held_until_ms = None

    def hear(self, broker_id: int, broker_epoch: int, image: MetadataImage, now_ms: int) -> None:
        """Something else than a heartbeat came of this incarnation of a broker."""
        if image.has_live(broker_id, broker_epoch):
            self._sessions.touch(broker_id, now_ms)

    def has_expired_sessions(self, image: MetadataImage, now_ms: int) -> bool:
        """Whether `ExpireSessions` has something to do."""
        return not self._is_held(now_ms) and bool(self._sessions.expired(image, now_ms))

    def is_quiet(self, request: BrokerHeartbeatRequest, image: MetadataImage, now_ms: int) -> bool:
        """Whether `handle` would give this heartbeat no records, whatever else is decided."""
        is_held = self._is_held(now_ms)
        return brokers.is_quiet(request, image, vacancies=self._vacancies, is_held=is_held)

    def handle(
        self, command: Command, image: MetadataImage, now_ms: int, *, room: int | None = None
    ) -> Decision[Reply]:
        """Decide on a command: its records, and its reply once they have committed.

        One that was followed already, by its id, is answered as it was then. A large plan is
        decided as far as the batch has `room` for partitions, by default a whole batch's: hand the
        command in again until the decision `is_last`. It has an id from then on.
        """
        try:
            done = commands.earlier_reply(command, image)
            if done is not None:
                return Decision([], done)
            room = self._config.partitions_per_batch_max if room is None else room
            decision = self._decide(command, image, now_ms, room)
            if isinstance(command, PlanCommand) and not decision.is_last:
                # What has happened of it is found by its id.
                drawn = command.command_id or self._random.randbytes(commands.COMMAND_ID_BYTES)
                command.command_id = drawn
            return commands.followed(command, decision, image)
        except KafkaError as error:
            return Decision([], refusal(command, error))

    def _decide(
        self, command: Command, image: MetadataImage, now_ms: int, room: int
    ) -> Decision[Reply]:
        if isinstance(command, NumberedRequest):
            self._attempts.take(command, image)
        match command:
            case BrokerHeartbeatRequest():
                return brokers.heartbeat(
                    command,
                    image,
                    sessions=self._sessions,
                    vacancies=self._vacancies,
                    is_held=self._is_held(now_ms),
                    now_ms=now_ms,
                )
            case RegisterBrokerRequest():
                return brokers.register_broker(
                    command, image, sessions=self._sessions, config=self._config, now_ms=now_ms
                )
            case AlterPartitionRequest():
                self._check_not_held(now_ms)
                return replication.alter_partition(command, image)
            case CreateTopicsRequest() | DeleteTopicsRequest() | CreatePartitionsRequest():
                return self._decide_on_topics(command, image, room)
            case AlterConfigsRequest():
                return configs.alter_configs(command, image, config=self._config)
            case AllocateProducerIdsRequest():
                return producer_ids.allocate_producer_ids(command, image)
            case ReportReplicaStateRequest():
                return damage.report_damage(command, image)
            case ElectLeadersRequest():
                self._check_not_held(now_ms)
                return leaders.elect_leaders(command, image)
            case ExpireSessions() | FenceDeadBroker() | RebalanceLeaders():
                return Decision(self._tended(command, image, now_ms), Checked())

    def _decide_on_topics(
        self, command: PlanCommand, image: MetadataImage, room: int
    ) -> Decision[Reply]:
        config, random = self._config, self._random
        part = commands.next_slice(command, image, room=room)
        match command:
            case CreateTopicsRequest():
                return topics.create_topics(command, image, config=config, random=random, part=part)
            case DeleteTopicsRequest():
                return topics.delete_topics(command, image, config=config, part=part)
            case CreatePartitionsRequest():
                return partitions.create_partitions(
                    command, image, config=config, random=random, part=part
                )

    def _tended(
        self,
        command: ExpireSessions | FenceDeadBroker | RebalanceLeaders,
        image: MetadataImage,
        now_ms: int,
    ) -> list[MetadataRecord]:
        """What the controller does by itself; nothing while it is held."""
        if self._is_held(now_ms):
            return []
        match command:
            case ExpireSessions():
                cause = f"silent for {self._config.session_timeout_ms} ms"
                return brokers.fence(image, self._sessions.expired(image, now_ms), cause=cause)
            case FenceDeadBroker():
                return brokers.fence_dead(
                    image,
                    command.broker_id,
                    command.broker_epoch,
                    was_heard=lambda one: self._sessions.was_heard(one, now_ms),
                    cause=command.cause,
                )
            case RebalanceLeaders():
                return leaders.rebalanced(image)

    def _is_held(self, now_ms: int) -> bool:
        return self._held_until_ms is not None and now_ms < self._held_until_ms

    def _check_not_held(self, now_ms: int) -> None:
        if self._is_held(now_ms):
            raise BrokerNotAvailableError(
                "the cluster is stopping: ISRs stay as they are, try again after the hold",
            )
