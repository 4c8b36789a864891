"""Malformed requests, the n-th of a seed the same wherever it is made. Pure.

Half are messages whose fields are absent, at an edge or beyond it; half are such messages with
their bytes changed. None can change anything, see `harmless`: one that might is made unreadable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from tidelog.chaos.workloads.dice import Dice
from tidelog.chaos.workloads.grpc_rpcs import Rpc, rpcs
from tidelog.chaos.workloads.harmless import EPOCHS_END, is_harmless
from tidelog.chaos.workloads.malformed_batches import corrupt_records, damaged_records
from tidelog.chaos.workloads.malformed_bytes import UNFINISHED, mutate
from tidelog.chaos.workloads.malformed_fields import NAMES, PATTERNS, Filler, Known, Special

STREAM_MESSAGES_MAX = 256
"""On one stream, all but the last of them readable: what cannot be read ends it."""

_FALSE_EPOCHS = (0, -1, -(2**63), 2**63 - 1, EPOCHS_END, 2**62)
_SPECIALS: dict[str, Special] = {
    **dict.fromkeys(
        ("broker_epoch", "replica_epoch", "reporter_epoch"), lambda dice: dice.one_of(_FALSE_EPOCHS)
    ),
    "hold_ms": lambda dice: dice.one_of((-1, -2, -(2**31))),
    "max_wait_ms": lambda dice: dice.one_of((0, 0, 1, 20, -1, -(2**31))),
    "topic_id": lambda dice: b"" if dice.happens(0.7) else dice.randbytes(dice.one_of((1, 16, 99))),
    "allow_auto_topic_creation": lambda _: False,
    "offset": lambda dice: dice.one_of((-2, -(2**63), EPOCHS_END, 2**63 - 1)),
    "records": corrupt_records,
}
# Behind a change of its bytes a batch under a CRC that is right might be a good one.
_SPECIALS_BEFORE_MUTATION = {**_SPECIALS, "records": damaged_records}
_OF_RPC: Mapping[str, dict[str, Special]] = {
    "DeleteTopics": {"names": lambda dice: dice.one_of(NAMES)},
    "ElectLeaders": {
        "name": lambda dice: dice.one_of(NAMES),
        "partitions": lambda dice: dice.one_of((-1, 2**31 - 1, 70_000)),
    },
    "Exchange": {"term": lambda dice: dice.one_of((-1, -(2**63), 2**63 - 1, 2**62, 2**63 - 2))},
}
_OF_COORDINATOR: Mapping[str, Special] = {
    "offset": lambda dice: dice.one_of((-1, -2, -(2**63), -(2**31), 2**63 - 1)),
    "member_epoch": lambda dice: dice.one_of((-3, -(2**31), 2**31 - 1, 2**20, 1, 0, -1, -2)),
    "sequence": lambda dice: dice.one_of((0, -1, -(2**63), 2**63 - 1, 1)),
    "assignment_version": lambda dice: dice.one_of((0, 1, -1, 2**63 - 1, -(2**63))),
    "metadata": lambda dice: "m" * dice.one_of((0, 1, 4_096, 4_097, 100_000)),
    "pattern": lambda dice: dice.one_of(PATTERNS),
    "partitions": lambda dice: dice.one_of((0, -1, 7, 2**31 - 1, -(2**31), 70_000)),
    "rebalance_timeout_ms": lambda dice: dice.one_of((0, -1, 1, 60_000, 2**31 - 1, -(2**31))),
    "assignor": lambda dice: dice.one_of(("", "uniform", "unifrom", *NAMES)),
}
# All that they name holds `corrupt_records`, which no look of our own needs to tell.
_REFUSED_BY_RECORDS = ("Produce", "ProduceStream")


@dataclass(frozen=True, slots=True)
class Malformed:
    """A call: of a unary RPC one message, of a stream several."""

    place: int
    rpc: Rpc
    messages: tuple[bytes, ...]


class MalformedRequests:
    """Malformed requests of one seed; `among` are the RPCs that may be called, in turn."""

    def __init__(self, seed: int, known: Known, among: Sequence[Rpc] | None = None) -> None:
        self._seed = seed
        self._known = known
        self._rpcs = tuple(among or rpcs())

    def call(self, place: int) -> Malformed:
        """The call with this number."""
        dice = Dice(self._seed, place)
        rpc = self._rpcs[place % len(self._rpcs)]
        count = dice.one_of((0, 1, 10, STREAM_MESSAGES_MAX - 1)) if _is_stream(rpc) else 0
        # A stream that changes who it is of is over.
        sender = {"replica_id": dice.one_of((None, None, 1, 7, -1, 2**31 - 1))}
        if rpc.name == "GroupStream" and dice.happens(0.8):
            sender = {one: self._special(rpc)[one](dice) for one in ("group_id", "member_id")}
        messages = [
            self._message(rpc, dice, sender, is_mutated=position == count and dice.happens(0.5))
            for position in range(count + 1)
        ]
        return Malformed(place, rpc, tuple(messages))

    def _special(self, rpc: Rpc) -> dict[str, Special]:
        """Values of fields of this RPC by their names, besides those of all RPCs."""
        if rpc.service != "tidelog.v1.Coordinator":
            return _OF_RPC.get(rpc.name, {})
        known = self._known
        groups, members = _often(known.groups), _often(known.members)
        return {
            **_OF_COORDINATOR,
            "group_id": groups,
            "group_ids": groups,
            "member_id": members,
            "instance_id": members,
        }

    def _message(
        self, rpc: Rpc, dice: Dice, sender: Mapping[str, Any], *, is_mutated: bool
    ) -> bytes:
        own = self._special(rpc)
        specials = _SPECIALS_BEFORE_MUTATION if is_mutated else _SPECIALS
        message: Any = Filler(self._known, {**specials, **own}).fill(rpc.request, dice)
        for name, value in sender.items() if _is_stream(rpc) else ():
            if name in message.DESCRIPTOR.fields_by_name:
                message.ClearField(name)
                if value is not None:
                    setattr(message, name, value)
        if is_mutated:
            return self._check(rpc, mutate(message.SerializeToString(), dice))
        if rpc.name in _REFUSED_BY_RECORDS or is_harmless(rpc.path, message, self._known):
            return bytes(message.SerializeToString())
        if "validate_only" in message.DESCRIPTOR.fields_by_name:
            message.validate_only = True
            return bytes(message.SerializeToString())
        return bytes(message.SerializeToString()) + UNFINISHED

    def _check(self, rpc: Rpc, data: bytes) -> bytes:
        try:
            message = rpc.request.FromString(data)
        except DecodeError:
            return data
        return data if is_harmless(rpc.path, message, self._known) else data + UNFINISHED


def _often(known: Sequence[str]) -> Special:
    """Draw a known name every other time, where there are any."""
    return lambda dice: dice.one_of(known if known and dice.happens(0.5) else NAMES)


def _is_stream(rpc: Rpc) -> bool:
    """True if each request is answered; where none is, the first malformed one ends it."""
    return rpc.is_request_stream and rpc.is_response_stream
