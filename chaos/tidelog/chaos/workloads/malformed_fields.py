"""Fields of requests at their extremes, by the message's own description alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from tidelog.chaos.workloads.dice import Dice

INT32 = (0, 1, -1, 2, 7, -2, 127, 128, 255, 65_536, 2**31 - 1, -(2**31))
INT64 = (*INT32, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), 2**63 - 1_001)
UINT64 = (0, 1, 2**32, 2**64 - 1)
FLOATS = (0.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e308)
NAMES = (
    *("", ".", "..", "a/b", "../x", "/", "a b", "ü", "\x00", "\n", "a\x00b", "%s%s%n", "{0}", "\\"),
    *("x" * 249, "x" * 250, "x" * 5_000, "..." * 50, "__cluster_metadata", "\U0001f4a9", "\u202e"),
    *("é" * 125, "a.b", "a_b", "-", "CON", "nul", "'; DROP TABLE", "0", "-1", "1e400", "nowhere"),
    *("true", "\u0661", "9" * 5_000, "0x10", "inf", "nan", "1_000", " 1 ", "delete,compact,delete"),
)
KEYS = (
    *("retention.ms", "segment.bytes", "min.insync.replicas", "cleanup.policy", "flush.messages"),
    *("compression.type", "max.message.bytes", "unclean.leader.election.enable", "segment.bites"),
    *("message.timestamp.type", "min.cleanable.dirty.ratio", "file.delete.delay.ms"),
)
PATTERNS = (
    *("(", "[", "*", "a**", "(a+)+", "(a|aa)*$", "(.*a){20}", r"(a)\1", "(?=a)", "a{5000}", "\\"),
    *("(" * 5_000, "a?" * 400, "x" * 1_001, "(a{1000}){1000}", "[[:alpha:]]", "", ".*", "\x00"),
)
"""Patterns of subscriptions, hardly one of which a coordinator takes."""
SIZES = (0, 1, 15, 16, 17, 100)
REPEATS = (0, 1, 1, 1, 2, 3, 20)
_ABSENT, _DEPTH_MAX = 0.25, 4
_OWN_CLUSTER = 0.8
"""Share of true cluster ids: a node compares them before it looks at any other field."""


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about a cluster, so that not every request fails at the first look-up."""

    topics: tuple[str, ...] = ()
    """The names of topics that are there, and that nothing may change."""
    compacted: str = ""
    """A topic whose records are checked individually."""
    node_ids: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    controller_ids: tuple[int, ...] = (1, 2, 3)
    cluster_id: str = ""
    """As its nodes have it: what names another one is looked into no further."""
    partitions: int = 1
    """Partitions of each topic, numbered from 0."""
    groups: tuple[str, ...] = ()
    """Consumer groups that are there, and that nothing may change."""
    members: tuple[str, ...] = ()
    """Ids of their members."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the topics."""
        return (*self.topics, self.compacted) if self.compacted else self.topics


Special = Callable[[Dice], Any]  # the value of a field, of its type


@dataclass(frozen=True, slots=True)
class Filler:
    """Fills messages. `specials` by the name of a field go before what its type alone says."""

    known: Known
    specials: dict[str, Special] = field(default_factory=dict)

    def fill(self, kind: type[Message], dice: Dice) -> Message:
        """A message of the kind: every field absent, true, at an edge or beyond it."""
        message = kind()
        self._fill(message, dice, _DEPTH_MAX)
        return message

    def _fill(self, message: Message, dice: Dice, depth: int) -> None:
        one: Any  # a FieldDescriptor; its stubs know two of them
        for one in message.DESCRIPTOR.fields:
            if not dice.happens(_ABSENT):
                self._set(message, one, dice, depth)

    def _set(self, message: Message, one: FieldDescriptor, dice: Dice, depth: int) -> None:
        if one.is_repeated:
            self._repeat(message, one, dice, depth)
        elif one.message_type is not None:
            if depth > 0:
                inner = getattr(message, one.name)
                inner.SetInParent()
                self._fill(inner, dice, depth - 1)
        else:
            setattr(message, one.name, self._value(one, dice))

    def _repeat(self, message: Message, one: FieldDescriptor, dice: Dice, depth: int) -> None:
        values = getattr(message, one.name)
        count = dice.one_of(REPEATS)
        if one.message_type is None:
            values.extend(
                [self._value(one, dice)] * 2
                if count == 2
                else [self._value(one, dice) for _ in range(count)]
            )
        elif _is_map(one.message_type):
            for _ in range(count):
                values[dice.one_of((*KEYS, *NAMES))] = dice.one_of((*NAMES, *map(str, INT64)))
        elif depth > 0:
            for _ in range(count):
                self._fill(values.add(), dice, depth - 1)
            if len(values) == 2:
                values[1].CopyFrom(values[0])

    def _value(self, one: FieldDescriptor, dice: Dice) -> Any:  # of the field's type
        special = self.specials.get(one.name)
        if special is not None:
            return special(dice)
        match one.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING:
                return self._text(one, dice)
            case FieldDescriptor.CPPTYPE_BOOL:
                return dice.happens(0.5)
            case FieldDescriptor.CPPTYPE_INT32 | FieldDescriptor.CPPTYPE_ENUM:
                return self._number(one, dice, INT32)
            case FieldDescriptor.CPPTYPE_INT64:
                return self._number(one, dice, INT64)
            case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
                return dice.one_of(FLOATS)
        return dice.one_of(UINT64)

    def _number(self, one: FieldDescriptor, dice: Dice, edges: Sequence[int]) -> int:
        if one.name.endswith("_id") and dice.happens(0.5):
            return dice.one_of(self.known.node_ids)
        if one.name == "partition" and dice.happens(0.6):
            return dice.randrange(0, self.known.partitions)
        return dice.one_of(edges)

    def _text(self, one: FieldDescriptor, dice: Dice) -> str | bytes:
        if one.type == FieldDescriptor.TYPE_BYTES:
            return dice.randbytes(dice.one_of(SIZES))
        if one.name in ("topic", "name", "names", "topics") and dice.happens(0.6):
            return dice.one_of(self.known.names or NAMES)
        if one.name == "cluster_id" and dice.happens(_OWN_CLUSTER):
            return self.known.cluster_id
        if one.name == "key":
            return dice.one_of((*KEYS, *NAMES))
        return dice.one_of(NAMES)


def _is_map(kind: Descriptor) -> bool:
    return bool(kind.GetOptions().map_entry)
