"""Changes that the admin client asked for, until each item has its answer. Pure.

Owns which answers leave a change open. Asking is `change_calls`'.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.client.errors import TidelogError, error_from_wire
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error

RETRIED_CODES = frozenset(
    {
        common_pb2.NOT_CONTROLLER,
        common_pb2.REQUEST_TIMED_OUT,
        common_pb2.BROKER_NOT_AVAILABLE,
        common_pb2.UNKNOWN_SERVER_ERROR,
    }
)
"""No controller leads, or the outcome of the change is unknown: the client asks again."""


class Result(Protocol):
    """The answer to a change of one topic, or of the cluster, which has no name."""

    name: str
    error: Error


class Changes:
    """Topics a change was asked for, until each has its answer."""

    def __init__(self, names: list[str]) -> None:
        self._names = list(dict.fromkeys(names))
        self._results: dict[str, TidelogError | None] = {}
        self.last_error: TidelogError | None = None

    @property
    def pending(self) -> list[str]:
        """The names without an answer."""
        return [name for name in self._names if name not in self._results]

    @property
    def results(self) -> dict[str, TidelogError | None]:
        """The refusal of each that has an answer, None where it was changed; as they were asked."""
        return {name: self._results[name] for name in self._names if name in self._results}

    def take(self, results: Sequence[Result]) -> None:
        """Take the answers to one attempt."""
        for result in results:
            code = result.error.code
            if code in RETRIED_CODES:
                self.last_error = error_from_wire(result.error)
            else:
                is_done = code == common_pb2.NONE
                self._results[result.name] = None if is_done else error_from_wire(result.error)

    def attempt_failed(self, error: TidelogError) -> None:
        """Note that a whole attempt failed; raise its error when no retry can help."""
        if error.code not in RETRIED_CODES:
            raise error
        self.last_error = error

    def give_up(self, error: TidelogError) -> None:
        """End without a further attempt: `error` is the answer to the pending names.

        Raises `error` when no name has an answer: then the call failed as a whole.
        """
        if not self._results:
            raise error
        self._results |= dict.fromkeys(self.pending, error)
