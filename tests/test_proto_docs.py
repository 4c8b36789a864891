"""proto/ documents itself: a reader of the files needs no other page and no code.

- Each service, RPC, enum and enum value has a comment, as has each message but a request, an
  answer, whose RPC says what they are for, and a message within another.
- So has each field whose name is not in the vocabulary at the top of common.proto, which says
  what it means everywhere. A comment on a oneof counts for its fields.
- The comment of an RPC whose answer holds an Error names the codes after "Errors:", or none.
- Codes named anywhere are codes; every word of the vocabulary is in use.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from protos import described
from tidelog.records.records import iter_records
from tidelog.v1 import methods

PACKAGE, MESSAGE, ENUM, SERVICE = 2, 4, 5, 6
"""Numbers of fields of FileDescriptorProto, as in the paths of its source info."""
FIELD, NESTED, NESTED_ENUM, ONEOF = 2, 3, 4, 8
"""The same of DescriptorProto."""
VALUE = RPC = 2
"""The same of EnumDescriptorProto and ServiceDescriptorProto."""
Place = tuple[int, ...]
ENTRY = re.compile(r"^  - ([a-z_, ]+):", re.MULTILINE)
CODE = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
"""A code, or a value of another enum."""
NAMED = re.compile(rf"{CODE.pattern}|\bnone\b")


class Comments:
    """What is said where in one file."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._by_path = {
            tuple(at.path): at.leading_comments + at.trailing_comments
            for at in file.source_code_info.location
        }

    def at(self, path: Place) -> str:
        return self._by_path.get(path, "")

    def all(self) -> str:
        return "\n".join(self._by_path.values())


def vocabulary(files: FileDescriptorSet) -> set[str]:
    """Names of fields that mean the same everywhere, told once."""
    common = next(file for file in files.file if file.name.endswith("common.proto"))
    entries = ENTRY.findall(Comments(common).at((PACKAGE,)))
    return {name.strip() for names in entries for name in names.split(",")}


def undocumented(files: FileDescriptorSet) -> list[str]:
    known = vocabulary(files)
    rpc_types = [
        type_name.rpartition(".")[2]
        for file in files.file
        for service in file.service
        for rpc in service.method
        for type_name in (rpc.input_type, rpc.output_type)
    ]
    found = [name for file in files.file for name in _of_file(file, known)]
    return [name for name in found if name not in rpc_types]


def _of_file(file: FileDescriptorProto, known: set[str]) -> Iterator[str]:
    comments = Comments(file)
    for number, message in enumerate(file.message_type):
        if not comments.at((MESSAGE, number)):
            yield message.name
        yield from _of_message(message, (MESSAGE, number), comments, known)
    for number, enum in enumerate(file.enum_type):
        yield from _of_enum(enum, (ENUM, number), comments)
    for number, service in enumerate(file.service):
        if not comments.at((SERVICE, number)):
            yield service.name
        for place, rpc in enumerate(service.method):
            if not comments.at((SERVICE, number, RPC, place)):
                yield f"{service.name}.{rpc.name}"


def _of_message(
    message: DescriptorProto, path: Place, comments: Comments, known: set[str], within: str = ""
) -> Iterator[str]:
    name = f"{within}{message.name}"
    for number, field in enumerate(message.field):
        is_documented = field.name in known or comments.at((*path, FIELD, number))
        if field.HasField("oneof_index"):
            is_documented = is_documented or comments.at((*path, ONEOF, field.oneof_index))
        if not is_documented:
            yield f"{name}.{field.name}"
    for number, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            inner = (*path, NESTED, number)
            yield from _of_message(nested, inner, comments, known, within=f"{name}.")
    for number, enum in enumerate(message.enum_type):
        yield from _of_enum(enum, (*path, NESTED_ENUM, number), comments, within=f"{name}.")


def _of_enum(
    enum: EnumDescriptorProto, path: Place, comments: Comments, within: str = ""
) -> Iterator[str]:
    if not comments.at(path):
        yield f"{within}{enum.name}"
    for number, value in enumerate(enum.value):
        if not comments.at((*path, VALUE, number)):
            yield f"{within}{enum.name}.{value.name}"


def without_errors(files: FileDescriptorSet) -> list[str]:
    """RPCs whose answers hold errors, and that do not say which."""
    messages = {m.name: m for file in files.file for m in file.message_type}
    found = []
    for file in files.file:
        comments = Comments(file)
        for number, service in enumerate(file.service):
            for place, rpc in enumerate(service.method):
                answer = messages[rpc.output_type.rpartition(".")[2]]
                _, _, errors = comments.at((SERVICE, number, RPC, place)).partition("Errors:")
                if _holds_errors(answer) and not NAMED.search(errors):
                    found.append(f"{service.name}.{rpc.name}")
    return found


def _holds_errors(message: DescriptorProto) -> bool:
    inner = any(map(_holds_errors, message.nested_type))
    types = {field.type_name for field in message.field}
    return inner or not types.isdisjoint(
        {".tidelog.v1.Error", ".tidelog.v1.PartitionProduceResult"}
        | {".tidelog.v1.PartitionFetchResult"}
    )


@pytest.fixture(scope="module")
def files() -> FileDescriptorSet:
    return described()


def test_everything_is_documented(files: FileDescriptorSet) -> None:
    missing = undocumented(files)
    assert not missing, "\n".join(["without a comment in proto/:", *missing])


def test_each_rpc_names_its_errors(files: FileDescriptorSet) -> None:
    missing = without_errors(files)
    assert not missing, "\n".join(['without "Errors:" and codes in proto/:', *missing])


def test_codes_that_comments_name_exist(files: FileDescriptorSet) -> None:
    values = {v.name for file in files.file for enum in _enums(file) for v in enum.value}
    named = {code for file in files.file for code in CODE.findall(Comments(file).all())}
    assert len(named) > 20
    assert named <= values


def _enums(file: FileDescriptorProto) -> list[EnumDescriptorProto]:
    return [*file.enum_type, *(enum for m in file.message_type for enum in m.enum_type)]


def test_vocabulary_holds_no_word_that_nobody_uses(files: FileDescriptorSet) -> None:
    used = {name for file in files.file for m in file.message_type for name in _fields(m)}
    assert vocabulary(files) <= used


def _fields(message: DescriptorProto) -> list[str]:
    inner = [name for nested in message.nested_type for name in _fields(nested)]
    return [field.name for field in message.field] + inner


def test_session_in_the_docs_is_of_this_protocol() -> None:
    page = (Path(__file__).parent.parent / "docs" / "PROTOCOL.md").read_text()
    paths = {f"/{name}" for name in re.findall(r"tidelog\.v1\.\w+/\w+", page)}
    assert {"/tidelog.v1.Broker/Produce", "/tidelog.v1.Broker/Fetch"} <= paths
    assert paths <= {method.path for method in vars(methods).values() if hasattr(method, "path")}
    sent, _again, _fetched, _broken = re.findall(r'"records": "([^"]+)"', page)
    batch = base64.b64decode(sent)
    (fields,) = iter_records(batch)
    assert fields[2:4] == (b"brest", b"6.4 m")
    listed = page.rpartition("```text")[2]
    dumped = re.findall(r"^((?:[0-9a-f]{2} )+)  ", listed, re.MULTILINE)
    assert bytes.fromhex("".join(dumped)) == batch


# The rules bite.


def test_what_has_no_comment_is_found(files: FileDescriptorSet) -> None:
    copy = FileDescriptorSet()
    copy.CopyFrom(files)
    data = next(file for file in copy.file if file.name.endswith("data.proto"))
    data.source_code_info.Clear()
    found = undocumented(copy)
    assert {"Broker", "Broker.Fetch", "EpochEndOffset", "FetchRequest.min_bytes"} <= set(found)
    assert {"ListOffsetsRequest.Spec", "ListOffsetsRequest.Spec.LATEST"} <= set(found)
    assert not {"FetchRequest", "FetchPartition.topic", "NewTopic"} & set(found)
    assert "Broker.Fetch" in without_errors(copy)
