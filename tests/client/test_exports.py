"""`tidelog.client` has, by name, everything that its public methods take, return or raise."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import tidelog.client
from tidelog.client import errors
from tidelog.client.version import NOT_INSTALLED, installed_version
from tidelog.core.errors import KAFKA_ERRORS

HEAVY = {
    "asyncio",
    "backports.zstd",
    "compression.zstd",
    "cramjam",
    "crc32c",
    "grpc",
    "importlib.metadata",
    "lz4",
    "ssl",
    "tidelog.client.admin",
    "tidelog.client.consuming",
    "tidelog.client.producing",
    "tidelog.client.sync",
    "tidelog.records",
    "tidelog.v1.admin_pb2",
    "tidelog.v1.controller_pb2",
    "tidelog.v1.data_pb2",
    "tidelog.v1.raft_pb2",
}
"""Modules that cost an importer most and that no error needs."""
PORTS = {"tidelog.core.env", "tidelog.net.transport"}
"""For simulations, not for programs."""


def exported() -> dict[str, Any]:  # classes, aliases of types and a module
    return {name: getattr(tidelog.client, name) for name in tidelog.client.__all__}


def types_in(hint: Any) -> Iterator[type]:  # Any: what an annotation may be
    """Every class of this project that an annotation names, at any depth."""
    if isinstance(hint, list | tuple):
        hints = hint
    else:
        if inspect.isclass(hint) and hint.__module__.startswith("tidelog."):
            yield hint
        hints = get_args(hint)
    for one in hints:
        yield from types_in(one)


def functions_of(cls: type) -> Iterator[Callable[..., object]]:
    special = {"__iter__", "__aiter__"}
    if cls is not tidelog.client.RecordBatch:  # which only consumers make
        special.add("__init__")
    parts = [part for part in cls.__mro__ if part.__module__.startswith("tidelog.")]
    for name, member in [item for part in parts for item in vars(part).items()]:
        if name.startswith("_") and name not in special:
            continue
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function):
            yield function


def types_named_by(cls: type) -> set[type]:
    """The types of a class's public signatures and fields."""
    hints = get_type_hints(cls).items()
    found = set(types_in([hint for name, hint in hints if not name.startswith("_")]))
    for function in functions_of(cls):
        found.update(types_in([*get_type_hints(function).values()]))
    return {one for one in found if one.__module__ not in PORTS}


def missing_from(names: dict[str, Any]) -> set[str]:
    classes = [one for one in names.values() if inspect.isclass(one)]
    assert len(classes) > 70
    needed = {one for cls in classes for one in types_named_by(cls)}
    return {one.__name__ for one in needed if names.get(one.__name__) is not one}


def test_what_public_methods_take_and_return_is_exported() -> None:
    assert missing_from(exported()) == set()


@pytest.mark.parametrize("name", ["NodeDescription", "PeerDescription", "EventFilter", "Codec"])
def test_a_type_that_is_left_out_is_named(name: str) -> None:
    names = exported()
    del names[name]
    assert missing_from(names) == {name}


def test_every_error_is_exported_and_brokers_answers_have_one_base() -> None:
    names = exported()
    for cls in KAFKA_ERRORS.values():
        assert names[cls.__name__] is cls is getattr(errors, cls.__name__)
        assert issubclass(cls, tidelog.client.KafkaError)
    for name in errors.__all__:
        assert issubclass(names[name], tidelog.client.TidelogError)


def test_names_are_exported_once_and_exist() -> None:
    assert len(tidelog.client.__all__) == len(set(tidelog.client.__all__))
    assert all(hasattr(tidelog.client, name) for name in tidelog.client.__all__)


def test_version_is_that_of_the_distribution() -> None:
    assert tidelog.client.__version__ == importlib.metadata.version("tidelog")


def test_modules_that_nobody_installed_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("tidelog.client.version.version", absent)
    assert installed_version() == NOT_INSTALLED


def modules_after(statement: str) -> set[str]:
    """The modules that a new interpreter has loaded after this statement."""
    show = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def imports_for_type_checkers() -> dict[str, str]:
    """The module of each name that `tidelog.client` imports under TYPE_CHECKING."""
    tree = ast.parse(Path(tidelog.client.__file__).read_text())
    block = next(one for one in tree.body if isinstance(one, ast.If))
    imports = [one for one in block.body if isinstance(one, ast.ImportFrom)]
    return {alias.name: one.module or "" for one in imports for alias in one.names}


def test_importing_the_client_loads_neither_the_clients_nor_heavy_modules() -> None:
    loaded = modules_after("import tidelog.client")
    assert "tidelog.client.errors" in loaded
    assert loaded & HEAVY == set()


def test_a_producer_loads_neither_consumer_nor_admin_client() -> None:
    loaded = modules_after("from tidelog.client import Producer")
    assert "tidelog.client.producing.producer" in loaded
    assert loaded & {"grpc", "tidelog.client.admin", "tidelog.client.consuming"} == set()


def test_type_checkers_see_the_classes_that_programs_get() -> None:
    homes = imports_for_type_checkers()
    assert {*homes, *errors.__all__, "errors"} == set(tidelog.client.__all__)
    for name, module in homes.items():
        assert getattr(importlib.import_module(module), name) is getattr(tidelog.client, name)


def test_a_new_interpreter_lists_and_star_imports_every_name() -> None:
    statement = (
        "import tidelog.client as c; assert {*c.__all__, '__version__'} <= set(dir(c));"
        "assert 'Admin' not in vars(c); from tidelog.client import *;"
        "assert all(globals()[name] is getattr(c, name) for name in c.__all__);"
        "assert vars(c)['Admin'] is Admin"
    )
    assert "tidelog.client.admin" in modules_after(statement)


def test_a_name_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match=r"'tidelog\.client' has no attribute 'Prodcer'"):
        getattr(tidelog.client, "Prodcer")  # noqa: B009  # mypy refuses the plain form


def test_exported_objects_survive_pickling_where_nothing_is_loaded() -> None:
    partition = tidelog.client.TopicPartition("t", 3)
    assert pickle.loads(pickle.dumps(partition)) == partition
    read = f"import pickle; assert pickle.loads({pickle.dumps(partition)!r}) == ('t', 3)"
    assert "tidelog.client.records" in modules_after(read)
