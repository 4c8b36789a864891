"""Errors of Kafka's messages.

KafkaMessageError           message, version, field, problem
├── MalformedMessageError   bytes that are not what the message's version says
│   └── TooManyElementsError   more elements than the reader takes
├── UnsupportedVersionError a version that the message does not have
└── UnencodableMessageError a value that the version's form cannot hold: a bug of the caller

The first two are a stranger's fault. None of them leaves anything changed or allocated.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import Self


class KafkaMessageError(ValueError):
    """A message that cannot be read or written; names message, version and field."""

    def __init__(self, problem: str, *, field: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.field = field
        """Struct and field, such as `FetchTopic.Topic`; empty for the message itself."""
        self.message = ""
        self.version = -1

    def of(self, message: str, version: int) -> Self:
        """Name the message and its version; return the error."""
        self.message, self.version = message, version
        return self

    def __str__(self) -> str:
        where = f": {self.field}" if self.field else ""
        return f"{self.message} version {self.version}{where}: {self.problem}"


class MalformedMessageError(KafkaMessageError):
    """Bytes that end too early, go on too long, or hold a length or text that cannot be."""


class TooManyElementsError(MalformedMessageError):
    """More elements in all lists of a message than its reader takes."""


class UnsupportedVersionError(KafkaMessageError):
    """A version that the message does not have."""


class UnencodableMessageError(KafkaMessageError):
    """A value that does not fit its field: null, out of range, too long or of another type."""
