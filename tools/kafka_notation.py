"""Schemas of Kafka's messages in our notation: what they hold, how they are written and read.

One file describes one API; lines are indented by two spaces for each level:

    request 0 ProduceRequest 3-13 flexible 9+
      TransactionalId string null = null
      TopicData []TopicProduceData
        Name string 3-12

The head of a message says its kind, the API's key (requests and responses alone), its name, its
versions, from which version it is flexible (KIP-482), and `unstable` where the last version is not
final. A field has a name, a type, and where they apply: its versions, `null` (nullable), `tag N`,
each with versions of its own, `inflexible` (never compact), and `= DEFAULT`. Versions that are not
named are those of the parent. Lines below a field are the fields of its struct; a line
`struct NAME VERSIONS` begins one that several fields share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

SCALARS = (
    *("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64"),
    *("string", "bytes", "records", "uuid"),
)
KINDS = ("request", "response", "header", "data")


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included; `first` above `last`: none."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    @property
    def is_empty(self) -> bool:
        """True if no version is in it."""
        return self.first > self.last

    def within(self, outer: Versions) -> Versions:
        """The versions that are in both."""
        return Versions(max(self.first, outer.first), min(self.last, outer.last))

    @staticmethod
    def parse(text: str, outer: Versions) -> Versions:
        """Read `N`, `N-M`, `N+` or `none`, cut to `outer`."""
        if text == "none":
            return NONE
        first, dash, last = text.removesuffix("+").partition("-")
        end = outer.last if text.endswith("+") else int(last if dash else first)
        return Versions(int(first), end).within(outer)

    def text(self, outer: Versions) -> str:
        """The shortest form that `parse` reads back; empty for all of `outer`."""
        if self.is_empty:
            return "none"
        if self == outer:
            return ""
        if self.last == outer.last and self.first < self.last:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    def whole(self) -> str:
        """The form of a message's own versions."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NONE = Versions(0, -1)


@dataclass(slots=True)
class Field:
    """A field. `default` is None for the type's own (0, "", empty), else `null` or a value."""

    name: str
    type: str
    versions: Versions
    nullable: Versions = NONE
    tag: int | None = None
    tagged: Versions = NONE
    is_inflexible: bool = False
    default: str | None = None
    fields: list[Field] = field(default_factory=list)
    """Fields of a struct that is written with this field."""

    @property
    def is_array(self) -> bool:
        """True for a list of elements."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type, or that of an array's elements."""
        return self.type.removeprefix("[]")

    @property
    def is_struct(self) -> bool:
        """True if the type, or that of the elements, is a struct."""
        return self.element not in SCALARS


@dataclass(slots=True)
class Struct:
    """A struct that several fields share."""

    name: str
    versions: Versions
    fields: list[Field]


@dataclass(slots=True)
class Message:
    """A message in all its versions."""

    kind: str
    key: int | None
    name: str
    versions: Versions
    flexible: Versions
    is_unstable: bool
    fields: list[Field]
    structs: list[Struct]


def write(messages: list[Message]) -> str:
    """The text of messages, without a head of the file."""
    return "\n".join("\n".join(_message_lines(message)) + "\n" for message in messages)


def _message_lines(message: Message) -> Iterator[str]:
    words = [message.kind, *([] if message.key is None else [str(message.key)]), message.name]
    words.append(message.versions.whole())
    if not message.flexible.is_empty:
        words.append(f"flexible {message.flexible.first}+")
    yield " ".join([*words, *(["unstable"] if message.is_unstable else [])])
    yield from _field_lines(message.fields, message.versions, 1)
    for struct in message.structs:
        yield f"  struct {struct.name} {struct.versions.text(message.versions)}".rstrip()
        yield from _field_lines(struct.fields, struct.versions, 2)


def _field_lines(fields: list[Field], outer: Versions, depth: int) -> Iterator[str]:
    for one in fields:
        words = [one.name, one.type, one.versions.text(outer)]
        if not one.nullable.is_empty:
            words += ["null", one.nullable.text(one.versions)]
        if one.tag is not None:
            words += [f"tag {one.tag}", one.tagged.text(one.versions)]
        words += ["inflexible"] if one.is_inflexible else []
        words += [f"= {one.default}"] if one.default is not None else []
        yield "  " * depth + " ".join(word for word in words if word)
        yield from _field_lines(one.fields, one.versions, depth + 1)


class NotationError(ValueError):
    """A schema that is not in the notation; names the line."""


_HEAD = re.compile(
    rf"(?P<kind>{'|'.join(KINDS)})( (?P<key>\d+))? (?P<name>\w+) (?P<versions>[\d-]+)"
    r"( flexible (?P<flexible>\d+\+))?(?P<unstable> unstable)?"
)
_STRUCT = re.compile(r"struct (?P<name>\w+)( (?P<versions>[\d+-]+))?")
_FIELD = re.compile(
    r"(?P<name>\w+) (?P<type>(\[\])?\w+)( (?P<versions>\d[\d+-]*))?"
    r"(?P<null> null( (?P<nullable>\d[\d+-]*))?)?"
    r"( tag (?P<tag>\d+)( (?P<tagged>\d[\d+-]*))?)?"
    r"(?P<inflexible> inflexible)?( = (?P<default>\S+))?"
)


def parse(text: str) -> list[Message]:
    """Read what `write` wrote; lines that begin with # are passed over. Raises NotationError."""
    messages: list[Message] = []
    lists: list[tuple[list[Field], Versions]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        try:
            if depth == 0:
                messages.append(_head(line))
                lists = [(messages[-1].fields, messages[-1].versions)]
            elif depth == 1 and (struct := _struct(line.strip(), messages[-1])):
                lists = [lists[0], (struct.fields, struct.versions)]
            else:
                siblings, outer = lists[depth - 1]
                siblings.append(_field(line.strip(), outer))
                lists = [*lists[:depth], (siblings[-1].fields, siblings[-1].versions)]
        except (IndexError, ValueError) as error:
            raise NotationError(f"line {number}: {line.strip()!r}: {error}") from error
    return messages


def _head(line: str) -> Message:
    found = _matched(_HEAD, line)
    versions = Versions.parse(found["versions"], Versions(0, 1 << 15))
    return Message(
        kind=found["kind"],
        key=None if found["key"] is None else int(found["key"]),
        name=found["name"],
        versions=versions,
        flexible=Versions.parse(found["flexible"] or "none", versions),
        is_unstable=bool(found["unstable"]),
        fields=[],
        structs=[],
    )


def _struct(line: str, message: Message) -> Struct | None:
    if not line.startswith("struct "):
        return None
    found = _matched(_STRUCT, line)
    versions = _versions(found, "versions", message.versions)
    message.structs.append(Struct(found["name"], versions, []))
    return message.structs[-1]


def _field(line: str, outer: Versions) -> Field:
    found = _matched(_FIELD, line)
    versions = _versions(found, "versions", outer)
    return Field(
        name=found["name"],
        type=found["type"],
        versions=versions,
        nullable=_versions(found, "nullable", versions) if found["null"] else NONE,
        tag=None if found["tag"] is None else int(found["tag"]),
        tagged=NONE if found["tag"] is None else _versions(found, "tagged", versions),
        is_inflexible=bool(found["inflexible"]),
        default=found["default"],
    )


def _versions(found: re.Match[str], group: str, outer: Versions) -> Versions:
    return outer if found[group] is None else Versions.parse(found[group], outer)


def _matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    found = pattern.fullmatch(line)
    if found is None:
        raise NotationError("not in the notation of tools/kafka_notation.py")
    return found
