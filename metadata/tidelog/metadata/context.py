"""The context of a decision: everything a controller goes by beside the command and the image."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.env import Random
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.plans import Slice
from tidelog.metadata.sessions import Sessions, Vacancies


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """Context of one decision on one command."""

    config: ControllerConfig
    random: Random
    sessions: Sessions
    vacancies: Vacancies
    now_ms: int
    """Monotonic time of the decision."""
    is_held: bool
    """The cluster is about to stop as one: no broker is fenced and no ISR changes."""
    part: Slice
    """The part of the command's plan that this batch has room for."""

    def was_heard(self, broker_id: int) -> bool:
        """See `Sessions.was_heard`."""
        return self.sessions.was_heard(broker_id, self.now_ms)
