"""aiokafka's errors as ours. Pure.

It tries again by itself, and tells of the last attempt alone: what it gives up may have been done
by an attempt before. So the outcome of a call that failed is unknown, unless nothing was sent.
"""

from __future__ import annotations

from aiokafka.errors import (
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRangeError,
)

from tidelog.chaos.workloads.clients import BrokenClientError
from tidelog.client.errors import OffsetOutOfRangeError as OurOffsetOutOfRangeError
from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError


def of_call(error: BaseException) -> TidelogError:
    """Return what a call of a consumer failed of."""
    if isinstance(error, OffsetOutOfRangeError):
        return OurOffsetOutOfRangeError(_said(error))
    if isinstance(error, IllegalStateError):  # refused by the client itself
        return UnreachableError(_said(error))
    return CallFailedError(_said(error))


def of_record(error: BaseException, *, is_idempotent: bool) -> TidelogError:
    """Return what a record failed of that the producer had taken; its outcome is unknown.

    A record that an idempotent producer gives up leaves a gap in its sequence, and no later one is
    taken: another producer must go on.
    """
    return (BrokenClientError if is_idempotent else CallFailedError)(_said(error))


def of_submission(error: KafkaError) -> TidelogError:
    """Return why the producer did not take a record: nothing of it was sent."""
    return UnreachableError(_said(error))


def is_full(error: KafkaError) -> bool:
    """Return True if the producer's buffer for the partition is full."""
    return isinstance(error, KafkaTimeoutError)


def _said(error: BaseException) -> str:
    return f"aiokafka: {error!r}"
