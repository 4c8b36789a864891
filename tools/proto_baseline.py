"""The baseline of tidelog.v1: facts of its messages that no change of proto/ may remove.

Existing clients, nodes of the previous version and logs on disk rely on each message, field, enum
value and RPC by its name, number and type. `tests/proto_baseline.txt` holds one such fact per line.
proto/ is compatible while every line is true of it; new facts may be added.

`proto_baseline.py` adds new facts (as `make proto` does). `--break` rewrites the list without facts
that are gone: only for facts that no client can rely on, with the reason in the commit message.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
)

PATH = Path(__file__).resolve().parent.parent / "tests" / "proto_baseline.txt"


def facts(files: FileDescriptorSet) -> set[str]:
    """The facts that others rely on, in words like those of a .proto file."""
    found: set[str] = set()
    for file in files.file:
        for message in file.message_type:
            found.update(_of_message(message, within=file.package))
        for enum in file.enum_type:
            found.update(_of_enum(enum, within=file.package))
        for service in file.service:
            found.update(_of_rpc(rpc, f"{file.package}.{service.name}") for rpc in service.method)
    return found


def promised() -> set[str]:
    """The facts on the list."""
    return set(PATH.read_text().splitlines())


def broken(now: Iterable[str]) -> list[str]:
    """Facts of the list that are not true any more."""
    return sorted(promised().difference(now))


def add(now: Iterable[str]) -> None:
    """Put what is new on the list; nothing is taken from it."""
    _write(promised().union(now))


def _write(lines: Iterable[str]) -> None:
    PATH.write_text("".join(f"{line}\n" for line in sorted(lines)))


def _of_message(message: DescriptorProto, *, within: str) -> Iterator[str]:
    name = f"{within}.{message.name}"
    yield f"message {name}"
    for field in message.field:
        yield f"field {name}: {_kind(message, field)} {field.name} = {field.number}"
    for nested in message.nested_type:
        yield from _of_message(nested, within=name)
    for enum in message.enum_type:
        yield from _of_enum(enum, within=name)


def _kind(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    """Label and type; whether a field is optional or in a oneof is seen by those who read it."""
    declared = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    kind = field.type_name.removeprefix(".") or declared
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {kind}"
    if field.proto3_optional:
        return f"optional {kind}"
    if field.HasField("oneof_index"):
        return f"oneof {message.oneof_decl[field.oneof_index].name} {kind}"
    return kind


def _of_enum(enum: EnumDescriptorProto, *, within: str) -> Iterator[str]:
    for value in enum.value:
        yield f"enum {within}.{enum.name}: {value.name} = {value.number}"


def _of_rpc(rpc: MethodDescriptorProto, service: str) -> str:
    taken = f"{'stream ' * rpc.client_streaming}{rpc.input_type.removeprefix('.')}"
    given = f"{'stream ' * rpc.server_streaming}{rpc.output_type.removeprefix('.')}"
    return f"rpc {service}.{rpc.name}({taken}) returns ({given})"


def main(arguments: list[str]) -> int:
    """Add new facts; with `--break` rewrite the list."""
    from protos import described

    now = facts(described())
    if arguments == ["--break"]:
        _write(now)
    else:
        add(now)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
