"""tidelog.v1 only grows: what clients, older nodes and logs on disk rely on stays true."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

import proto_baseline
from protos import described

HOW = (
    "a client or a log of before would be misread. Leave it as it is and add something new beside "
    "it. Where nobody can rely on it, say why in the commit and run "
    "`.venv/bin/python tools/proto_baseline.py --break`"
)


@pytest.fixture(scope="module")
def files() -> FileDescriptorSet:
    return described()


def test_nothing_that_was_promised_is_taken_back(files: FileDescriptorSet) -> None:
    broken = proto_baseline.broken(proto_baseline.facts(files))
    assert not broken, "\n".join([f"proto/ breaks what others rely on: {HOW}.", *broken])


def test_list_is_written_as_the_tool_writes_it() -> None:
    assert proto_baseline.PATH.read_text().splitlines() == sorted(proto_baseline.promised())


# The rule bites, and lets what is new pass.


def changed(files: FileDescriptorSet, change: Callable[[FileDescriptorProto], None]) -> list[str]:
    """What is broken after a change of data.proto."""
    copy = FileDescriptorSet()
    copy.CopyFrom(files)
    change(next(file for file in copy.file if file.name.endswith("data.proto")))
    return proto_baseline.broken(proto_baseline.facts(copy))


def message(file: FileDescriptorProto, name: str) -> DescriptorProto:
    return next(one for one in file.message_type if one.name == name)


def remove_field(file: FileDescriptorProto) -> None:
    del message(file, "ProduceResponse").field[0]


def renumber_field(file: FileDescriptorProto) -> None:
    message(file, "ProduceResponse").field[0].number = 9


def rename_field(file: FileDescriptorProto) -> None:
    message(file, "ProduceResponse").field[0].name = "parts"


def retype_field(file: FileDescriptorProto) -> None:
    message(file, "FetchRequest").field[2].type = FieldDescriptorProto.TYPE_SINT32


def repeat_field(file: FileDescriptorProto) -> None:
    message(file, "FetchRequest").field[2].label = FieldDescriptorProto.LABEL_REPEATED


def forget_presence(file: FileDescriptorProto) -> None:
    field = message(file, "FetchRequest").field[0]
    field.ClearField("proto3_optional")
    field.ClearField("oneof_index")


def remove_enum_value(file: FileDescriptorProto) -> None:
    del message(file, "ListOffsetsRequest").enum_type[0].value[3]


def renumber_enum_value(file: FileDescriptorProto) -> None:
    message(file, "ListOffsetsRequest").enum_type[0].value[3].number = 7


def remove_rpc(file: FileDescriptorProto) -> None:
    del file.service[0].method[0]


def rename_rpc(file: FileDescriptorProto) -> None:
    file.service[0].method[0].name = "Append"


def stream_rpc(file: FileDescriptorProto) -> None:
    file.service[0].method[0].server_streaming = True


@pytest.mark.parametrize(
    "change",
    [
        *(remove_field, renumber_field, rename_field, retype_field, repeat_field, forget_presence),
        *(remove_enum_value, renumber_enum_value, remove_rpc, rename_rpc, stream_rpc),
    ],
)
def test_incompatible_change_is_found(
    files: FileDescriptorSet, change: Callable[[FileDescriptorProto], None]
) -> None:
    assert len(changed(files, change)) == 1


def test_message_that_is_gone_is_found_with_its_fields(files: FileDescriptorSet) -> None:
    def remove(file: FileDescriptorProto) -> None:
        file.message_type.remove(message(file, "EpochEndOffset"))

    assert [fact.split()[0] for fact in changed(files, remove)] == ["field", "field", "message"]


def test_additions_pass(files: FileDescriptorSet) -> None:
    def add(file: FileDescriptorProto) -> None:
        message(file, "ProduceResponse").field.add(
            name="more",
            number=99,
            type=FieldDescriptorProto.TYPE_INT32,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
        )
        message(file, "ListOffsetsRequest").enum_type[0].value.add(name="MIDDLE", number=99)
        file.message_type.add(name="New")
        file.service[0].method.add(
            name="More", input_type=".tidelog.v1.New", output_type=".tidelog.v1.New"
        )

    assert changed(files, add) == []
