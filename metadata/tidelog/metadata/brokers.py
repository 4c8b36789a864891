"""Which brokers there are and which of them are alive: registration, sessions, fencing (KIP-631).

A broker's life, as the image holds it:

    state         event                                                    next
    absent        registers                                                fenced
    fenced        heartbeat, has applied its own registration              unfenced
    unfenced      not heard of for a session, or wants to shut down        fenced
    unfenced      found dead by a dial, see `reachability`                 fenced
    any           another incarnation registers, no live session is left   fenced, new broker epoch

What fencing means for leaders and ISRs is `election`'s and always in the same batch. Sessions are
the one thing kept outside the image: each controller measures them on its own monotonic clock.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

from tidelog.core.errors import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    DuplicateBrokerRegistrationError,
    InconsistentClusterIdError,
    InvalidRequestError,
    StaleBrokerEpochError,
)
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.decision import Decision
from tidelog.metadata.delta import UNCOMMITTED_EPOCH
from tidelog.metadata.election import candidates, changes_with, changes_without
from tidelog.metadata.image import BrokerImage, MetadataImage
from tidelog.metadata.reachability import suspect
from tidelog.metadata.records import fencing
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
from tidelog.v1.metadata_records_pb2 import MetadataRecord, RegisterBrokerRecord

INCARNATION_ID_BYTES = 16
ADDRESS_CHARACTERS_MAX = 300
RACK_CHARACTERS_MAX = 300
_LOST = {
    NOTHING: "",
    UNFLUSHED: ", what was not flushed may be lost",
    EVERYTHING: ", with an empty disk",
}


class Sessions:
    """When this controller last heard of each broker."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._started_ms = 0
        self._heard_ms: dict[int, int] = {}

    def restart(self, now_ms: int) -> None:
        """Give every broker a full session from now: a new active controller has heard of none."""
        self._started_ms = now_ms
        self._heard_ms.clear()

    def touch(self, broker_id: int, now_ms: int) -> None:
        """The registered broker was heard of."""
        self._heard_ms[broker_id] = now_ms

    def has_heard(self, broker_id: int) -> bool:
        """Whether the broker was heard of since this controller became the active one."""
        return broker_id in self._heard_ms

    def was_heard(self, broker_id: int, now_ms: int) -> bool:
        """Whether the broker itself was heard of, by this controller, within a session."""
        heard_ms = self._heard_ms.get(broker_id)
        return heard_ms is not None and now_ms - heard_ms < self._timeout_ms

    def expired(self, image: MetadataImage, now_ms: int) -> list[int]:
        """Unfenced brokers whose session is over, the longest silent first."""
        silent = []
        for broker_id in image.live_brokers():
            last_ms = self._heard_ms.get(broker_id, self._started_ms)
            if now_ms - last_ms >= self._timeout_ms:
                silent.append((last_ms, broker_id))
        return [broker_id for _, broker_id in sorted(silent)]


class Vacancies:
    """Who could lead what nobody leads, looked up once for each image."""

    def __init__(self) -> None:
        self._image: MetadataImage | None = None
        self._candidates: frozenset[int] = frozenset()

    def candidates(self, image: MetadataImage) -> frozenset[int]:
        """See `election.candidates`."""
        if image is not self._image:
            self._image, self._candidates = image, candidates(image)
        return self._candidates


def register_broker(
    request: RegisterBrokerRequest,
    image: MetadataImage,
    *,
    sessions: Sessions,
    config: ControllerConfig,
    now_ms: int,
) -> Decision[RegisterBrokerResponse]:
    """Register an incarnation, fenced and out of all ISRs; where its start lost something, of ELRs.

    Others take over its leaderships that this controller has heard of. Where all presumed alive may
    be gone nobody leads for now, so that a cluster that starts as a whole forgets nobody who was in
    sync; the first to come leads.

    The reply's broker epoch is the offset the records commit at, which the caller puts in.
    Registering the same incarnation again changes nothing. Another one is refused while its
    predecessor was heard of within a session: it must try again until that has passed. A session
    that a new controller only presumes does not count, so that a cluster that starts as a whole
    does not wait.

    A registration replaces the one it names and no other, so that none of a process that is gone
    replaces its successor however late it comes; the refusal tells which one is registered.
    """
    _check_registration(request, image, config)
    existing = image.brokers.get(request.broker_id)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        return Decision([], RegisterBrokerResponse(broker_epoch=existing.broker_epoch))
    registered = 0 if existing is None else existing.broker_epoch
    is_committed = existing is None or existing.broker_epoch != UNCOMMITTED_EPOCH
    if is_committed and is_late_registration(request, registered):
        return Decision([], _late_registration(request, registered))
    if existing is not None and _may_still_run(existing, sessions, now_ms):
        raise DuplicateBrokerRegistrationError(
            f"broker {request.broker_id} is registered and alive: stop the other one, or try again "
            f"until its session of {config.session_timeout_ms} ms has passed",
        )
    cause = f"broker {request.broker_id} started anew{_LOST[request.start_loss]}"
    registration = MetadataRecord(
        register_broker=RegisterBrokerRecord(
            broker_id=request.broker_id,
            incarnation_id=request.incarnation_id,
            address=request.address,
            rack=request.rack,
            cause=cause,
        )
    )
    changes = changes_without(
        image,
        [request.broker_id],
        cause=cause,
        may_lead=sessions.has_heard,
        start_loss=request.start_loss,
    )
    records = [registration, *changes]
    return Decision(records, RegisterBrokerResponse(broker_epoch=UNCOMMITTED_EPOCH))


def heartbeat(
    request: BrokerHeartbeatRequest,
    image: MetadataImage,
    *,
    sessions: Sessions,
    vacancies: Vacancies,
    is_held: bool,
    now_ms: int,
) -> Decision[BrokerHeartbeatResponse]:
    """Keep a session; unfence a broker that has applied its registration, fence it on its wish.

    A live broker that could lead what nobody leads is heard of: it leads.

    A broker that wants to shut down is fenced in one batch with the changes that move its
    leaderships and take it out of ISRs, and may go when that has committed. While the cluster is
    held it may go at once.
    """
    broker = current_registration(image, request.broker_id, request.broker_epoch)
    sessions.touch(broker.broker_id, now_ms)
    records: list[MetadataRecord] = []
    is_fenced = broker.is_fenced
    if request.want_shut_down:
        if not is_fenced and not is_held:
            records = fence(image, [broker.broker_id], cause="controlled shutdown")
            is_fenced = True
    elif _is_up_to_date(request, broker):
        unfenced = fencing(broker, fenced=False, cause="it has applied its registration")
        cause = f"broker {broker.broker_id} is back"
        records = [unfenced, *changes_with(image, broker.broker_id, cause=cause)]
        is_fenced = False
    elif not is_fenced and not is_held and broker.broker_id in vacancies.candidates(image):
        cause = f"broker {broker.broker_id} is heard of again"
        records = changes_with(image, broker.broker_id, cause=cause)
    reply = BrokerHeartbeatResponse(
        is_fenced=is_fenced, should_shut_down=request.want_shut_down, metadata_offset=image.offset
    )
    return Decision(records, reply)


def is_quiet(
    request: BrokerHeartbeatRequest, image: MetadataImage, *, vacancies: Vacancies, is_held: bool
) -> bool:
    """Whether the heartbeat only keeps a session, or is refused, so that its order is no matter.

    One of a broker that wants to shut down is not, also when nothing is left to do: what is about
    to unfence the broker must be decided before it is told that it may go.
    """
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.broker_epoch != request.broker_epoch:
        return True
    if request.want_shut_down or _is_up_to_date(request, broker):
        return False
    return broker.is_fenced or is_held or broker.broker_id not in vacancies.candidates(image)


def _is_up_to_date(request: BrokerHeartbeatRequest, broker: BrokerImage) -> bool:
    """Whether a fenced broker may be unfenced: it has applied its own registration."""
    return broker.is_fenced and request.metadata_offset >= broker.broker_epoch


def fence(image: MetadataImage, broker_ids: list[int], *, cause: str) -> list[MetadataRecord]:
    """Fence brokers and, in the same batch, take them out of ISRs and leaderships."""
    fenced = [fencing(image.brokers[one], fenced=True, cause=cause) for one in broker_ids]
    who = ", ".join(f"broker {broker_id}" for broker_id in broker_ids)
    return [*fenced, *changes_without(image, broker_ids, cause=f"{who} fenced: {cause}")]


def fence_dead(
    image: MetadataImage,
    broker_id: int,
    broker_epoch: int,
    *,
    was_heard: Callable[[int], bool],
    cause: str,
) -> list[MetadataRecord]:
    """Fence a broker found dead, if it is still that incarnation: none that registered since.

    Raises `KafkaError` BROKER_NOT_AVAILABLE where that would leave an ISR to brokers that are only
    presumed alive, after a start or a change of controllers: ask again when they were heard of.
    """
    if suspect(image, broker_id, broker_epoch) is None:
        return []
    if not is_replaceable(image, broker_id, was_heard):
        raise BrokerNotAvailableError(
            f"broker {broker_id} is dead, but this controller has heard of nobody who is in sync "
            "where it is: its session goes on",
        )
    return fence(image, [broker_id], cause=cause)


def is_replaceable(image: MetadataImage, broker_id: int, was_heard: Callable[[int], bool]) -> bool:
    """Whether each ISR keeps a member that was heard of, unless the broker is all of it.

    One that is only presumed alive may have started anew, and lost what the dead one still has.
    """
    return all(
        any(one != broker_id and was_heard(one) for one in partition.isr)
        for _, partition in image.partitions()
        if broker_id in partition.isr and len(partition.isr) > 1
    )


def current_registration(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerImage:
    """The broker, when `broker_epoch` is its current one.

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
    """Whether another broker epoch is registered than the one this request means to replace."""
    return request.previous_broker_epoch != registered


def _late_registration(request: RegisterBrokerRequest, registered: int) -> RegisterBrokerResponse:
    error = Error(
        code=common_pb2.STALE_BROKER_EPOCH,
        message=f"the registration replaces broker epoch {request.previous_broker_epoch} of broker "
        f"{request.broker_id}, but {registered} is registered: register again, naming that one",
    )
    return RegisterBrokerResponse(error=error, broker_epoch=registered)


def _may_still_run(broker: BrokerImage, sessions: Sessions, now_ms: int) -> bool:
    """Whether the incarnation has a live session, or was decided on a moment ago in this batch."""
    if broker.broker_epoch == UNCOMMITTED_EPOCH:
        return True
    return not broker.is_fenced and sessions.was_heard(broker.broker_id, now_ms)


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
        and 0 < len(request.address) <= ADDRESS_CHARACTERS_MAX
        and len(request.rack) <= RACK_CHARACTERS_MAX
    )
    if not is_well_formed:
        raise InvalidRequestError(
            f"a registration needs a broker id of at least 0, {INCARNATION_ID_BYTES} bytes of "
            f"incarnation id, an address of at most {ADDRESS_CHARACTERS_MAX} characters and a rack "
            f"of at most {RACK_CHARACTERS_MAX}",
        )
