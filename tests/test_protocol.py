"""`methods.py` lists exactly the RPCs that the .proto files declare."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from tidelog.v1 import methods

FOLDER = Path(methods.__file__).parent


def _generated_modules() -> list[ModuleType]:
    names = sorted(path.stem for path in FOLDER.glob("*_pb2.py"))
    return [importlib.import_module(f"tidelog.v1.{name}") for name in names]


def _declared() -> dict[str, MethodDescriptor]:
    return {
        f"/{service.full_name}/{method.name}": method
        for module in _generated_modules()
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }


def _listed() -> list[methods.Method[Message, Message]]:
    return [value for value in vars(methods).values() if isinstance(value, methods.Method)]


def test_every_declared_rpc_is_listed_once() -> None:
    assert sorted(method.path for method in _listed()) == sorted(_declared())


def test_listed_types_and_streams_are_the_declared_ones() -> None:
    declared = _declared()
    for method in _listed():
        descriptor = declared[method.path]
        assert method.request_type.DESCRIPTOR is descriptor.input_type, method.path
        assert method.response_type.DESCRIPTOR is descriptor.output_type, method.path
        assert method.is_request_stream == descriptor.client_streaming, method.path
        assert method.is_response_stream == descriptor.server_streaming, method.path
