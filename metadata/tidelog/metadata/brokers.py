"""Brokers and their liveness: registration, sessions, fencing (KIP-631).

A broker's life, as the image holds it:

    state         event                                                    next
    absent        registers                                                fenced
    fenced        heartbeat, has applied its own registration              unfenced
    unfenced      not heard of for a session, or wants to shut down        fenced
    unfenced      found dead by a dial, see `reachability`                 fenced
    any           another incarnation registers, no live session is left   fenced, new broker epoch

Leaders and ISRs change by the rules of `election`: in the batch of the fencing as many as it has
room for, the others in the next ones by `settling`, or with each further request of a broker that
wants to shut down. The next incarnation is registered in the batch that takes the broker out of its
last ISR. Sessions are kept outside the image: each controller measures them on its own monotonic
clock.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidelog.core.errors import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    DuplicateBrokerRegistrationError,
    InconsistentClusterIdError,
    InvalidRequestError,
    StaleBrokerEpochError,
)
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Checked, Decision
from tidelog.metadata.delta import UNCOMMITTED_EPOCH
from tidelog.metadata.election import changes_with, changes_without
from tidelog.metadata.endpoints import ENDPOINTS_RULE, are_well_formed
from tidelog.metadata.image import BrokerImage, MetadataImage
from tidelog.metadata.reachability import live_incarnation
from tidelog.metadata.records import fencing
from tidelog.metadata.topic_rules import MIN_INSYNC_REPLICAS
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import (
    EVERYTHING,
    NOTHING,
    UNFLUSHED,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
)
from tidelog.v1.metadata_records_pb2 import ConfigRecord, MetadataRecord, RegisterBrokerRecord

INCARNATION_ID_BYTES = 16
_FENCED_AT_ONCE_MAX = 100
"""Brokers fenced in one batch; the next check fences the others."""
RACK_CHARACTERS_MAX = 300
_SHUT_DOWN = "controlled shutdown"
_LOST = {
    NOTHING: "",
    UNFLUSHED: ", unflushed records may be lost",
    EVERYTHING: ", with an empty disk",
}


@dataclass(frozen=True, slots=True)
class ExpireSessions:
    """Fence the brokers that were not heard of for a session."""


@dataclass(frozen=True, slots=True)
class FenceDeadBroker:
    """Fence one incarnation of a broker that was found dead before its session ended."""

    broker_id: int
    broker_epoch: int
    cause: str
    """Finding of the dial, for people."""


def register_broker(
    request: RegisterBrokerRequest, image: MetadataImage, context: ControllerContext
) -> Decision[RegisterBrokerResponse]:
    """Register an incarnation, fenced and out of all ISRs; a lossy start leaves the ELRs, too.

    Brokers that this controller has heard of take over its leaderships. Where all that are presumed
    alive may be gone the partition has no leader for now, so that a cluster that starts as a whole
    forgets no in-sync replica; the first of them to come leads.

    The reply's broker epoch is the offset the records commit at, see `set_broker_epoch`.
    Registering the same incarnation again changes nothing. Another incarnation is refused while its
    predecessor was heard of within a session: it must try again until that has passed. A session
    that a new controller only presumes does not count, so that a cluster that starts as a whole
    does not wait.

    A registration replaces the one it names and no other, so that a late request of a process that
    is gone never replaces its successor; the refusal holds the broker epoch that is registered.

    Where a batch has no room for all changes the predecessor is fenced first. The registration is
    in the last batch, so that each controller finds in the image what is left to change.
    """
    _check_registration(request, image, context.config)
    existing = image.brokers.get(request.broker_id)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        return Decision([], RegisterBrokerResponse(broker_epoch=existing.broker_epoch))
    registered = 0 if existing is None else existing.broker_epoch
    is_committed = existing is None or existing.broker_epoch != UNCOMMITTED_EPOCH
    if is_committed and is_late_registration(request, registered):
        return Decision([], _late_registration(request, registered))
    if existing is not None and _may_still_run(existing, context):
        raise DuplicateBrokerRegistrationError(
            f"broker {request.broker_id} is registered and alive: stop the other one, or try again "
            f"until its session of {context.config.session_timeout_ms} ms has passed",
        )
    came = "is new" if existing is None else f"restarted{_LOST[request.start_loss]}"
    cause = f"broker {request.broker_id} {came}"
    registration = MetadataRecord(
        register_broker=RegisterBrokerRecord(
            broker_id=request.broker_id,
            incarnation_id=request.incarnation_id,
            endpoints=request.endpoints,
            rack=request.rack,
            cause=cause,
        )
    )
    changes, is_last = context.part.take_first(
        changes_without(
            image,
            [request.broker_id],
            cause=cause,
            may_lead=context.sessions.has_heard,
            start_loss=request.start_loss,
        )
    )
    reply = RegisterBrokerResponse(broker_epoch=UNCOMMITTED_EPOCH)
    if is_last:
        records = [*_initial_configs(image, context.config), registration, *changes]
    else:
        records = [*_fence_predecessor(existing, cause=cause), *changes]
    return Decision(records, reply, is_last=is_last, partitions=context.part.used)


def _fence_predecessor(existing: BrokerImage | None, *, cause: str) -> list[MetadataRecord]:
    """Fence the earlier incarnation: no leader takes it back into an ISR meanwhile."""
    if existing is None or existing.is_fenced:
        return []
    return [fencing(existing, fenced=True, cause=cause)]


def _initial_configs(image: MetadataImage, config: ControllerConfig) -> list[MetadataRecord]:
    """Records of the cluster's first configs, before its first broker; none that is the default."""
    if image.brokers or config.initial_min_insync_replicas == 1:
        return []
    value = str(config.initial_min_insync_replicas)
    record = ConfigRecord(resource_type=ConfigRecord.CLUSTER, key=MIN_INSYNC_REPLICAS, value=value)
    return [MetadataRecord(config=record)]


def heartbeat(
    request: BrokerHeartbeatRequest, image: MetadataImage, context: ControllerContext
) -> Decision[BrokerHeartbeatResponse]:
    """Keep a session; unfence a broker that has applied its registration, fence it on its wish.

    A live broker that could lead a partition without a leader leads it now that it is heard of.

    A broker that wants to shut down is fenced, and may go when the changes have committed that move
    its leaderships and take it out of ISRs: it asks until then. While the cluster is held it may
    go at once.
    """
    broker = current_registration(image, request.broker_id, request.broker_epoch)
    context.sessions.touch(broker.broker_id, context.now_ms)
    records: list[MetadataRecord] = []
    is_fenced, may_go = broker.is_fenced, request.want_shut_down
    if request.want_shut_down:
        if not context.is_held:
            leaving = [] if is_fenced else [broker]
            records, may_go = _fence(leaving, [broker.broker_id], image, context, cause=_SHUT_DOWN)
            is_fenced = True
    elif _is_up_to_date(request, broker):
        unfenced = fencing(broker, fenced=False, cause="it has applied its registration")
        cause = f"broker {broker.broker_id} is back"
        changes, _ = context.part.take_first(changes_with(image, broker.broker_id, cause=cause))
        records = [unfenced, *changes]
        is_fenced = False
    elif not is_fenced and _may_lead(broker, image, context):
        cause = f"broker {broker.broker_id} is heard of again"
        records, _ = context.part.take_first(changes_with(image, broker.broker_id, cause=cause))
    reply = BrokerHeartbeatResponse(
        is_fenced=is_fenced, should_shut_down=may_go, metadata_offset=image.offset
    )
    return Decision(records, reply, partitions=context.part.used)


def is_quiet(
    request: BrokerHeartbeatRequest, image: MetadataImage, context: ControllerContext
) -> bool:
    """True when the heartbeat only keeps a session, or is refused: its order does not matter.

    The heartbeat of a broker that wants to shut down is never quiet: a queued heartbeat that is
    about to unfence the broker must be decided before the broker hears that it may go.
    """
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.broker_epoch != request.broker_epoch:
        return True
    if request.want_shut_down or _is_up_to_date(request, broker):
        return False
    return broker.is_fenced or not _may_lead(broker, image, context)


def _may_lead(broker: BrokerImage, image: MetadataImage, context: ControllerContext) -> bool:
    """True when a live broker could lead a partition without a leader while there is no hold."""
    return not context.is_held and broker.broker_id in context.vacancies.candidates(image)


def _is_up_to_date(request: BrokerHeartbeatRequest, broker: BrokerImage) -> bool:
    """True when a fenced broker may be unfenced: it has applied its own registration."""
    return broker.is_fenced and request.metadata_offset >= broker.broker_epoch


def _fence(
    to_fence: Iterable[BrokerImage],
    leaving: list[int],
    image: MetadataImage,
    context: ControllerContext,
    *,
    cause: str,
) -> tuple[list[MetadataRecord], bool]:
    """Fence brokers and take `leaving` out of ISRs and leaderships, as far as there is room.

    The second value: they are out of all. All are fenced first, so that none of them is elected in
    another's place.
    """
    fenced = [fencing(one, fenced=True, cause=cause) for one in to_fence]
    who = ", ".join(f"broker {broker_id}" for broker_id in leaving)
    changes = changes_without(image, leaving, cause=f"{who} fenced: {cause}")
    taken, is_all = context.part.take_first(changes)
    return [*fenced, *taken], is_all


def _fence_alive(
    broker_ids: list[int], image: MetadataImage, context: ControllerContext, *, cause: str
) -> Decision[Checked]:
    to_fence = [image.brokers[one] for one in broker_ids]
    records, _ = _fence(to_fence, broker_ids, image, context, cause=cause)
    return Decision(records, Checked(), partitions=context.part.used)


def expire_sessions(
    _command: ExpireSessions, image: MetadataImage, context: ControllerContext
) -> Decision[Checked]:
    """Fence the brokers whose session is over; none while the cluster is held."""
    if context.is_held:
        return Decision([], Checked())
    expired = context.sessions.find_expired(image, context.now_ms)[:_FENCED_AT_ONCE_MAX]
    cause = f"silent for {context.config.session_timeout_ms} ms"
    return _fence_alive(expired, image, context, cause=cause)


def fence_dead_broker(
    command: FenceDeadBroker, image: MetadataImage, context: ControllerContext
) -> Decision[Checked]:
    """Fence a broker found dead, if it is still that incarnation and the cluster is not held.

    Raises `KafkaError` BROKER_NOT_AVAILABLE where that would leave an ISR to brokers that are only
    presumed alive, after a start or a change of controllers: ask again when they were heard of.
    """
    broker_id = command.broker_id
    if context.is_held or live_incarnation(image, broker_id, command.broker_epoch) is None:
        return Decision([], Checked())
    if not is_replaceable(image, broker_id, context.was_heard):
        raise BrokerNotAvailableError(
            f"broker {broker_id} is dead, but this controller has heard of no other in-sync "
            "replica of its partitions: its session goes on",
        )
    return _fence_alive([broker_id], image, context, cause=command.cause)


def is_replaceable(image: MetadataImage, broker_id: int, was_heard: Callable[[int], bool]) -> bool:
    """True when each ISR keeps a member that was heard of, unless the broker is all of it.

    A broker that is only presumed alive may have restarted, and lost what the dead one still has.
    """
    return all(
        any(one != broker_id and was_heard(one) for one in partition.isr)
        for _, partition in image.partitions()
        if broker_id in partition.isr and len(partition.isr) > 1
    )


def current_registration(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerImage:
    """Return the broker when `broker_epoch` is its current one.

    Raises `KafkaError` BROKER_ID_NOT_REGISTERED or STALE_BROKER_EPOCH: the sender must register
    again.
    """
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise BrokerIdNotRegisteredError(
            f"broker {broker_id} is not registered: register first",
        )
    if broker_epoch == UNCOMMITTED_EPOCH or broker_epoch != broker.broker_epoch:
        raise StaleBrokerEpochError(
            f"broker epoch {broker_epoch} of broker {broker_id} is not the current one, "
            f"{broker.broker_epoch}: another incarnation registered since",
        )
    return broker


def is_late_registration(request: RegisterBrokerRequest, registered: int) -> bool:
    """True when another broker epoch is registered than the one this request means to replace."""
    return request.previous_broker_epoch != registered


def _late_registration(request: RegisterBrokerRequest, registered: int) -> RegisterBrokerResponse:
    error = Error(
        code=common_pb2.STALE_BROKER_EPOCH,
        message=f"the registration replaces broker epoch {request.previous_broker_epoch} of broker "
        f"{request.broker_id}, but {registered} is registered: register again, naming that one",
    )
    return RegisterBrokerResponse(error=error, broker_epoch=registered)


def _may_still_run(broker: BrokerImage, context: ControllerContext) -> bool:
    """True when the incarnation has a live session, or was decided on in this very batch."""
    if broker.broker_epoch == UNCOMMITTED_EPOCH:
        return True
    return not broker.is_fenced and context.was_heard(broker.broker_id)


def set_broker_epoch(reply: RegisterBrokerResponse, offset: int) -> None:
    """Complete the reply of a registration that was new: its broker epoch is its offset."""
    if not reply.error.code:
        reply.broker_epoch = reply.broker_epoch or offset


def _check_registration(
    request: RegisterBrokerRequest, image: MetadataImage, config: ControllerConfig
) -> None:
    if request.cluster_id != config.cluster_id:
        raise InconsistentClusterIdError(
            f"cluster id {request.cluster_id[:100]!r} is not this cluster's {config.cluster_id!r}: "
            "the broker's data or its controller voters belong to another cluster",
        )
    if request.broker_id not in image.brokers and len(image.brokers) >= config.brokers_max:
        raise InvalidRequestError(
            f"the cluster's limit of {config.brokers_max} brokers is reached",
        )
    is_well_formed = (
        request.broker_id >= 0
        and len(request.incarnation_id) == INCARNATION_ID_BYTES
        and are_well_formed(request.endpoints)
        and len(request.rack) <= RACK_CHARACTERS_MAX
    )
    if not is_well_formed:
        raise InvalidRequestError(
            f"a registration needs a broker id of at least 0, {INCARNATION_ID_BYTES} bytes of "
            f"incarnation id, {ENDPOINTS_RULE}, and a rack of at most {RACK_CHARACTERS_MAX}",
        )
