"""Highest controller epoch known to a broker, and the numbers of its attempts.

Owns those two numbers. Decisions from lower epochs are ignored. The epoch comes from answers whose
controller proved its leadership, and from committed metadata; never from a node's claim of its own
term.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

from tidelog.core.errors import TidelogError
from tidelog.metadata.attempts import is_numbered
from tidelog.v1 import common_pb2

RequestT = TypeVar("RequestT")


class StaleControllerError(TidelogError):
    """An answer from a superseded controller: call another one.

    The request may have been processed before the controller was superseded.
    """

    code = common_pb2.NOT_CONTROLLER
    is_retriable = True
    is_outcome_unknown = True


class ControllerEpoch:
    """Controller epoch shared by all channels of a broker."""

    def __init__(self) -> None:
        self.highest = 0
        self._attempts = 0

    def learn(self, epoch: int) -> None:
        """Note the epoch of a controller's decision; 0: none decided."""
        self.highest = max(self.highest, epoch)

    def check(self, epoch: int, *, source: str) -> None:
        """Raise `StaleControllerError` for an answer older than the newest known controller.

        An answer without an epoch, 0, is no decision and passes.
        """
        if 0 < epoch < self.highest:
            raise StaleControllerError(
                f"{source} answered in controller epoch {epoch}, which ended: it is {self.highest}"
            )

    def attempt(self, request: RequestT) -> RequestT:
        """Number the request as the next attempt, addressed to the newest known controller epoch.

        Requests without attempt numbers stay unchanged. See `tidelog.metadata.attempts`.
        """
        if not is_numbered(request):
            return request
        self._attempts += 1
        attempt = deepcopy(request)
        attempt.controller_epoch, attempt.attempt = self.highest, self._attempts
        return attempt  # type: ignore[return-value]  # a copy of the request
