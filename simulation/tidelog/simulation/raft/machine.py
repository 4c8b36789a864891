"""State machine of the Raft suite: a few keys, their values, and each command's result.

It owns what a command does and what the state's hash is; it never waits and never raises. A command
is applied at most once, however often it was proposed: the first outcome is kept by its id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from tidelog.raft.replicated_log import CommittedEntry

_HASH_BITS = 64


class Command(NamedTuple):
    """A write of `value`, or a compare-and-set if `is_conditional`. Values are never used twice.

    None stands for the value of a key that was never written.
    """

    command_id: int
    attempt: int
    key: int
    value: int
    is_conditional: bool = False
    expected: int | None = None
    padding: str = ""

    def encode(self) -> bytes:
        """The bytes to propose."""
        return json.dumps(self).encode()

    @classmethod
    def decode(cls, content: bytes) -> Command:
        """The command whose bytes these are."""
        return cls(*json.loads(content))


class Outcome(NamedTuple):
    """Result of a command, and the value it found."""

    is_done: bool
    previous: int | None


class KeyValueMachine:
    """Implements `StateMachine`; notifies its two listeners of every step."""

    def __init__(
        self,
        *,
        on_applied: Callable[[CommittedEntry, int], None],
        on_restored: Callable[[int, int, int], None],
    ) -> None:
        """`on_applied` gets the entry and the state's hash; `on_restored` index, term, hash."""
        self.values: dict[int, int] = {}
        self.outcomes: dict[int, Outcome] = {}
        self.state_hash = 0
        """Equal for equal states, whatever way led to them: a sum over what the state holds."""
        self._on_applied = on_applied
        self._on_restored = on_restored

    def apply(self, entry: CommittedEntry) -> None:
        """See `StateMachine`."""
        command = Command.decode(entry.command)
        if command.command_id not in self.outcomes:
            self._execute(command)
        self._on_applied(entry, self.state_hash)

    def records(self) -> Iterator[bytes]:
        """See `StateMachine`."""
        values = [["value", *item] for item in self.values.items()]
        outcomes = [["outcome", number, *outcome] for number, outcome in self.outcomes.items()]
        return iter([json.dumps(item).encode() for item in values + outcomes])

    def restore(self, records: Iterable[bytes], *, index: int, term: int) -> None:
        """See `StateMachine`."""
        self.values, self.outcomes, self.state_hash = {}, {}, 0
        for record in records:
            kind, number, *rest = json.loads(record)
            if kind == "value":
                self._set(number, rest[0])
            else:
                self._keep(number, Outcome(*rest))
        self._on_restored(index, term, self.state_hash)

    def _execute(self, command: Command) -> None:
        previous = self.values.get(command.key)
        is_done = not command.is_conditional or previous == command.expected
        if is_done:
            self._set(command.key, command.value)
        self._keep(command.command_id, Outcome(is_done, previous))

    def _set(self, key: int, value: int) -> None:
        if key in self.values:
            self._add(-_hash("value", key, self.values[key]))
        self.values[key] = value
        self._add(_hash("value", key, value))

    def _keep(self, command_id: int, outcome: Outcome) -> None:
        self.outcomes[command_id] = outcome
        self._add(_hash("outcome", command_id, *outcome))

    def _add(self, part: int) -> None:
        self.state_hash = (self.state_hash + part) % (1 << _HASH_BITS)


def _hash(*fields: object) -> int:
    digest = blake2b(repr(fields).encode(), digest_size=_HASH_BITS // 8).digest()
    return int.from_bytes(digest, "little")
