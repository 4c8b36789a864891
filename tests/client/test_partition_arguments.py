"""Partitions as callers name them: every shape of Kafka's Python clients, or a TypeError."""

from __future__ import annotations

import inspect
from typing import Any, cast

import pytest

from tidelog.client import Admin, Consumer, TopicPartition
from tidelog.client.consuming.assignment import names_and_partitions
from tidelog.client.partition_arguments import partition_of, partitions_of

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)


@pytest.mark.parametrize(
    "given",
    [(A0, B1), (("a", 0), ("b", 1)), ([A0, B1],), ({B1, A0},), (iter([A0, B1]),), ((A0, B1),)],
    ids=["apart", "pairs", "a list", "a set", "an iterator", "a tuple"],
)
def test_every_shape_names_the_same_partitions(given: tuple[Any, ...]) -> None:
    assert partitions_of(*given, method="pause") == [A0, B1]


def test_a_partition_alone_is_that_partition() -> None:
    assert partitions_of(A0, method="committed") == [A0]
    assert partitions_of(method="seek_to_end") == []


@pytest.mark.parametrize("wrong", ["a", None, 7, ("a",), ("a", "0"), ["a"], [None], b"a", (0, "a")])
def test_another_shape_is_refused_with_the_name_of_the_method(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^pause\(\) takes partitions, .* alone or in a list, not"):
        partitions_of(wrong, method="pause")
    with pytest.raises(TypeError, match=r"^seek\(\) takes partitions"):
        partition_of(wrong, method="seek")


@pytest.mark.parametrize("client", [Consumer, Admin])
def test_every_public_method_that_takes_partitions_takes_every_shape(client: type) -> None:
    others = [
        f"{client.__name__}.{name}({parameter})"
        for name, method in inspect.getmembers(client, inspect.isfunction)
        for parameter in inspect.signature(method).parameters.values()
        if not name.startswith("_") and parameter.name == "partitions"
        if "tuple" in str(parameter.annotation)
    ]
    assert others == []


@pytest.mark.parametrize("given", [A0, [A0], {("a", 0)}])
def test_a_partition_alone_may_be_assigned(given: Any) -> None:
    assert names_and_partitions(given) == ([], [A0])


def test_topics_may_be_assigned_alone_and_beside_partitions() -> None:
    assert names_and_partitions("a") == (["a"], [])
    assert names_and_partitions(["a", B1]) == (["a"], [B1])
    with pytest.raises(TypeError, match=r"^assign\(\) takes"):
        names_and_partitions(cast("Any", [7]))
