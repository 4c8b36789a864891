"""`tidelog.client` has, by name, everything that its public methods take, return or raise."""

from __future__ import annotations

import importlib.metadata
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints

import pytest

import tidelog.client
from tidelog.client import errors
from tidelog.client.version import NOT_INSTALLED, installed_version
from tidelog.core.errors import KAFKA_ERRORS

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
    for name, member in vars(cls).items():
        if name.startswith("_") and name not in special:
            continue
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function):
            yield function


def types_named_by(cls: type) -> set[type]:
    """The types of a class's public signatures and fields."""
    found = set(types_in([*get_type_hints(cls).values()]))
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
