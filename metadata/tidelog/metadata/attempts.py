"""Late attempts: brokers' requests that the controller must not follow any longer.

A broker that gets no answer asks again, and nobody knows when the attempts it gave up arrive: a
network may hold one for as long as it likes. So each attempt names the controller epoch it is meant
for, and has a number above those of all earlier attempts. Once one was decided on, the earlier ones
of the same kind of request are refused, for good:

    attempt                               arrives at           and is refused by
    a lower number, or the same again     the same controller  `check_attempt`
    of an earlier controller epoch        a later controller   `check_controller_epoch`
    of an earlier broker epoch            any                  `brokers.current_registration`

Therefore a decision settles every earlier attempt, too, and its sender may act on a refusal. The
memory ends with the controller epoch, which ends all attempts that name it.

Kinds are numbered apart: heartbeats overtake ISR changes, and neither may have the other refused.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeGuard

from google.protobuf.message import Message

from tidelog.core.errors import StaleAttemptError, StaleControllerEpochError
from tidelog.metadata.delta import UNCOMMITTED_EPOCH
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import common_pb2

LATE_CODES = frozenset({common_pb2.STALE_CONTROLLER_EPOCH, common_pb2.STALE_ATTEMPT})


class NumberedRequest(Protocol):
    """A request of a broker that names the controller it is meant for and its attempt."""

    broker_id: int
    broker_epoch: int
    controller_epoch: int
    attempt: int


def is_numbered(request: object) -> TypeGuard[NumberedRequest]:
    """True when requests of this kind are numbered: its message has the field `attempt`."""
    return isinstance(request, Message) and "attempt" in request.DESCRIPTOR.fields_by_name


@dataclass(slots=True)
class _Newest:
    """The newest attempt of each kind that was decided on, of one registration."""

    broker_epoch: int
    of_kind: dict[type, int] = field(default_factory=dict)


class Attempts:
    """A controller's memory of attempts: three numbers for each registered broker."""

    def __init__(self) -> None:
        self._controller_epoch = 0
        self._newest: dict[int, _Newest] = {}

    def restart(self, controller_epoch: int) -> None:
        """Begin an epoch as the active controller; attempts meant for any other are refused."""
        self._controller_epoch = controller_epoch
        self._newest.clear()

    def check(self, request: NumberedRequest, image: MetadataImage) -> None:
        """Raise `KafkaError` STALE_CONTROLLER_EPOCH or STALE_ATTEMPT for an attempt that is late.

        Requests of a broker epoch that is not the current one are their handlers' to refuse.
        """
        newest = self._newest_of(request, image)
        if newest is not None:
            check_controller_epoch(request.controller_epoch, self._controller_epoch)
            check_attempt(request.attempt, newest.of_kind.get(type(request), 0))

    def note(self, request: NumberedRequest, image: MetadataImage) -> None:
        """Note that this attempt is decided on now: from here on all earlier ones are refused."""
        newest = self._newest_of(request, image)
        if newest is not None and request.controller_epoch == self._controller_epoch:
            before = newest.of_kind.get(type(request), 0)
            newest.of_kind[type(request)] = max(before, request.attempt)

    def _newest_of(self, request: NumberedRequest, image: MetadataImage) -> _Newest | None:
        """Return the newest attempts of the registration; None: the request names another one."""
        broker = image.brokers.get(request.broker_id)
        is_current = broker is not None and broker.broker_epoch == request.broker_epoch
        if broker is None or not is_current or broker.broker_epoch == UNCOMMITTED_EPOCH:
            return None
        newest = self._newest.get(broker.broker_id)
        if newest is None or newest.broker_epoch != broker.broker_epoch:
            newest = self._newest[broker.broker_id] = _Newest(broker.broker_epoch)
        return newest


def check_controller_epoch(asked: int, own: int) -> None:
    """Raise `KafkaError` STALE_CONTROLLER_EPOCH for a request meant for another controller."""
    if asked != own:
        raise StaleControllerEpochError(
            f"the request is meant for controller epoch {asked}, this is {own}: ask again, naming "
            "that one",
        )


def check_attempt(attempt: int, newest: int) -> None:
    """Raise `KafkaError` STALE_ATTEMPT unless the attempt is later than the newest decided on."""
    if attempt <= newest:
        raise StaleAttemptError(
            f"attempt {attempt} comes late: attempt {newest} of this broker was decided on already",
        )
