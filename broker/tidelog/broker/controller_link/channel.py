"""Calls from a broker to the controllers: any will do, since they forward to the active one.

Owns the choice of the controller, and refuses answers from superseded ones; never interprets an
answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from tidelog.broker.controller_link.epoch import ControllerEpoch, StaleControllerError
from tidelog.core.env import Clock
from tidelog.core.errors import CallFailedError, KafkaError, TidelogError, UnreachableError
from tidelog.core.logs import get_logger
from tidelog.metadata.attempts import LATE_CODES
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.peers import Peers
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.methods import Method, Request, Response

RETRY_BACKOFF_MS = 50
# Error codes after which the attempt was not processed and never will be.
_ASK_AGAIN = frozenset({common_pb2.NOT_CONTROLLER, *LATE_CODES})

log = get_logger(__name__)


class Answer(Protocol):
    """Fields common to all answers of controllers."""

    @property
    def error(self) -> Error:
        """Error of the request as a whole."""

    @property
    def controller_epoch(self) -> int:
        """Raft term of the controller that decided; 0: none did."""


class ControllerChannel:
    """Channel of a broker to the quorum; `epoch` is shared by the broker's channels."""

    def __init__(
        self,
        *,
        peers: Peers,
        addresses: Sequence[str],
        clock: Clock,
        epoch: ControllerEpoch,
        own: OwnCluster | None = None,
    ) -> None:
        self.epoch = epoch
        self.own = own or OwnCluster()
        self._peers = peers
        self._addresses = list(addresses)
        self.clock = clock
        self._preferred = 0

    @property
    def address(self) -> str:
        """Address of the controller to call first."""
        return self._addresses[self._preferred]

    def rotate(self) -> None:
        """Call another controller first from now on."""
        self._preferred = (self._preferred + 1) % len(self._addresses)

    async def call(
        self, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        """Call one controller after another until one answers other than NOT_CONTROLLER.

        Pauses after each round over all controllers. Answers from superseded controllers and from
        other clusters are refused. Raises the last call's error, or `StaleControllerError`, once
        `timeout_ms` has passed; INCONSISTENT_CLUSTER_ID at once when all are of another cluster.
        Requests must be idempotent: after a `CallFailedError` the next controller is called, with a
        higher attempt number where requests are numbered. An answer then settles all earlier
        attempts, too.
        """
        self.own.stamp(request)
        deadline = self.clock.monotonic_ms() + timeout_ms
        last: TidelogError = UnreachableError("no controller was reached in time")
        asked = strangers = 0
        while (left := deadline - self.clock.monotonic_ms()) > 0:
            known_epoch = self.epoch.highest
            try:
                # Half of the remaining time, so that a silent controller leaves time for the next
                # one.
                response = await self._peers.call(
                    self.address, method, self.epoch.attempt(request), timeout_ms=max(1, left // 2)
                )
                self.own.check(response, who=f"the node at {self.address}")
                answer = answer_in(response)
                self.epoch.check(answer.controller_epoch, source=self.address)
            except KafkaError as error:
                last = error
                strangers += 1
            except (UnreachableError, CallFailedError) as error:
                last = error
                strangers = 0
            except StaleControllerError as error:
                log.warning("controller was replaced", method=method.name, error=str(error))
                last = error
                strangers = 0
            else:
                strangers = 0
                if answer.error.code not in _ASK_AGAIN:
                    self.epoch.learn(answer.controller_epoch)
                    return response
                last = UnreachableError(answer.error.message)
                if answer.error.code in LATE_CODES:
                    self.epoch.learn(answer.controller_epoch)
                    if self.epoch.highest > known_epoch:
                        continue  # the active controller, unknown to this broker so far
            self.rotate()
            asked += 1
            if strangers == len(self._addresses):
                break
            if asked % len(self._addresses) == 0:
                await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
        raise last


def answer_in(response: object) -> Answer:
    """View an answer through the fields common to all controllers' answers."""
    return response  # type: ignore[return-value]  # every Controller answer has these fields
