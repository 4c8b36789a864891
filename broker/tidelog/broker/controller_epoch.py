"""The highest controller epoch a broker knows of: what is decided below it counts no more.

Owns that number alone. It comes from answers that a controller proved its leadership for, and from
committed metadata; never from what a node says of its own term.
"""

from __future__ import annotations

from tidelog.log.errors import TidelogError
from tidelog.v1 import common_pb2


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
