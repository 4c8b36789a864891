"""The highest controller epoch a broker knows of, and the numbers of the attempts it makes.

Owns those two numbers. What is decided below the epoch counts no more. The epoch comes from
answers that a controller proved its leadership for, and from committed metadata; never from what a
node says of its own term.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

from tidelog.core.errors import TidelogError
from tidelog.metadata.attempts import NumberedRequest
from tidelog.v1 import common_pb2

RequestT = TypeVar("RequestT")


class StaleControllerError(TidelogError):
    """An answer of a controller that has been replaced: ask another one.

    What was asked may have happened, before it was replaced.
    """

    code = common_pb2.NOT_CONTROLLER
    is_retriable = True
    is_outcome_unknown = True


class ControllerEpoch:
    """One for all channels of a broker."""

    def __init__(self) -> None:
        self.highest = 0
        self._attempts = 0

    def learn(self, epoch: int) -> None:
        """A controller of this epoch decided something; 0: nobody did."""
        self.highest = max(self.highest, epoch)

    def check(self, epoch: int, *, source: str) -> None:
        """Raise `StaleControllerError` for an answer from before the newest known controller.

        An answer without an epoch, 0, was decided by nobody and passes.
        """
        if 0 < epoch < self.highest:
            raise StaleControllerError(
                f"{source} answers in controller epoch {epoch}, which ended: it is {self.highest}"
            )

    def attempt(self, request: RequestT) -> RequestT:
        """The request as its next attempt: for the newest known controller, with the next number.

        A request of a kind that is not numbered stays as it is. See `tidelog.metadata.attempts`.
        """
        if not isinstance(request, NumberedRequest):
            return request
        self._attempts += 1
        attempt = deepcopy(request)
        attempt.controller_epoch, attempt.attempt = self.highest, self._attempts
        return attempt
