"""Writes proto/tidelog/kafka/messages from proto/kafka/*.schema, or checks that it is up to date.

A module for each message: its classes, a function that reads and one that writes each layout, and
which version has which. `table.py` lists the APIs.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from kafka_classes import WRITTEN_ALONE, class_of
from kafka_decoders import Decoders
from kafka_encoders import Encoders
from kafka_layouts import Shapes, snake
from kafka_lines import Formats
from kafka_notation import Message, parse
from kafka_schemas import SCHEMAS

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "proto" / "tidelog" / "kafka" / "messages"

_WIRE = (
    *("COPIED_RECORDS_BYTES", "NO_UUID", "ONE_BYTE", "Buffer", "bad_count", "bad_length"),
    *("bad_tag", "cut_off", "long_text", "long_varint", "not_utf8", "null_field", "packer"),
    *("read_compact_texts", "read_numbers", "read_texts", "read_uuids", "skip_tags"),
    *("tag_count", "tag_head", "text_length_of", "varint_of", "write_compact_texts"),
    *("write_tags", "write_texts"),
)
_BASES = ("Message", "Part", "RecordsMessage")


def generated() -> dict[str, str]:
    """Name and content of each module."""
    modules = {}
    messages: list[Message] = []
    for path in sorted(SCHEMAS.glob("*.schema")):
        for message in parse(path.read_text()):
            messages.append(message)
            modules[f"{snake(message.name)}.py"] = _module(message, path.name)
    modules["table.py"] = _table(messages)
    modules["__init__.py"] = (
        '"""Kafka\'s messages, a module each. Generated: `make proto`; see `tidelog.kafka`."""\n'
    )
    return modules


def _module(message: Message, source: str) -> str:
    shapes, formats = Shapes(message), Formats()
    decoders, encoders = Decoders(shapes, formats), Encoders(shapes, formats)
    tables = _table_of(shapes, message.name, "_READERS", decoders)
    tables += _table_of(shapes, message.name, "_WRITERS", encoders)
    for struct in shapes.structs.keys() & WRITTEN_ALONE:
        tables += _table_of(shapes, struct, "_WRITERS", encoders)
    classes = [class_of(shapes, struct) for struct in shapes.structs]
    functions = [*decoders.functions, *encoders.functions]
    body = "\n\n".join([*classes, formats.text(), *functions, tables])
    return _head(message, source, body) + "\n\n" + body


def _table_of(shapes: Shapes, struct: str, name: str, functions: Decoders | Encoders) -> str:
    """Which version of a struct has which function."""
    names = {
        version: functions.name_of(shapes.layout(version, struct), version)
        for version in shapes.message.versions
    }
    rows = []
    for function, run in groupby(names, key=names.__getitem__):
        versions = list(run)
        rows.append(f"    **dict.fromkeys(range({versions[0]}, {versions[-1] + 1}), {function}),\n")
    return f"{struct}.{name} = {{\n{''.join(rows)}}}\n"


def _head(message: Message, source: str, body: str) -> str:
    wire = ", ".join(name for name in _WIRE if _uses(body, name))
    bases = ", ".join(name for name in _BASES if f"({name}," in body)
    msgspec = "\nimport msgspec\n" if "(msgspec.Struct," in body else ""
    msgspec += "from msgspec import field\n" if "= field(" in body else ""
    return (
        f'"""{message.name} of Kafka\'s protocol.\n\n'
        f'Generated from proto/kafka/{source}; do not edit.\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from collections.abc import Iterable\n"
        "from struct import Struct\n"
        "from typing import ClassVar\n"
        f"{msgspec}\n"
        f"from tidelog.kafka.message import {bases}\n"
        f"from tidelog.kafka.wire import {wire}\n"
    )


def _uses(body: str, name: str) -> bool:
    return any(f"{before}{name}" in body for before in (" ", "(", "["))


def _table(messages: list[Message]) -> str:
    requests = {one.key: one for one in messages if one.kind == "request" and one.key is not None}
    rows = []
    for key, one in sorted(requests.items()):
        name = one.name.removesuffix("Request")
        first, last = one.versions.first, one.versions.last
        flexible = last + 1 if one.flexible.is_empty else one.flexible.first
        facts = f'{key}, "{name}", "{snake(name)}", {first}, {last}, {flexible}, {one.is_unstable}'
        rows.append(f"    {key}: Api({facts}),\n")
    return (
        '"""APIs of Kafka that have messages here.\n\n'
        'Generated from proto/kafka/*.schema; do not edit.\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from tidelog.kafka.api import Api\n\n"
        f"APIS: dict[int, Api] = {{\n{''.join(rows)}}}\n"
    )


def problems() -> list[str]:
    """A line for each module that is missing, left over, or differs from the generated one."""
    fresh = generated()
    kept = {path.name: path.read_text() for path in TARGET.glob("*.py")}
    return [
        f"proto/tidelog/kafka/messages/{name}: not what its schema gives; run `make proto`"
        for name in sorted(fresh.keys() | kept.keys())
        if fresh.get(name) != kept.get(name)
    ]


def main(arguments: list[str]) -> int:
    """`kafka_messages.py` writes, `kafka_messages.py --check` only reports."""
    if arguments == ["--check"]:
        found = problems()
        print("".join(f"{problem}\n" for problem in found), end="", file=sys.stderr)
        return 1 if found else 0
    TARGET.mkdir(exist_ok=True)
    for old in TARGET.glob("*.py"):
        old.unlink()
    for name, text in generated().items():
        (TARGET / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
