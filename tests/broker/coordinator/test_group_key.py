"""A group lies in the partition that Kafka would choose; ids are bounded."""

from __future__ import annotations

import pytest

from tidelog.broker.coordinator.group_key import (
    GROUP_ID_CHARACTERS_MAX,
    check_group_id,
    java_hash,
    partition_of,
)
from tidelog.core.errors import InvalidGroupIdError

SMALLEST_HASH = "polygenelubricants"


@pytest.mark.parametrize(
    ("text", "hashed"),
    [  # as OpenJDK 17 prints them
        ("", 0),
        ("a", 97),
        ("console-consumer", -648_006_740),
        ("Aa", 2112),
        ("BB", 2112),
        ("\N{SNOWMAN}", 9731),
        ("\N{PILE OF POO}", 1_772_556),
        (SMALLEST_HASH, -(1 << 31)),
    ],
)
def test_hash_is_that_of_java(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


def test_partition_is_that_of_kafka() -> None:
    assert partition_of("Aa", 50) == 2112 % 50
    assert partition_of(SMALLEST_HASH, 50) == 0  # has no absolute value in 32 bits


def test_a_negative_hash_counts_as_its_absolute_value() -> None:
    assert java_hash("console-consumer") < 0
    assert partition_of("console-consumer", 50) == -java_hash("console-consumer") % 50


@pytest.mark.parametrize("group_id", ["", "g" * (GROUP_ID_CHARACTERS_MAX + 1)])
def test_empty_and_long_ids_are_refused(group_id: str) -> None:
    with pytest.raises(InvalidGroupIdError, match=r"the group id (is empty|has 250 characters)"):
        check_group_id(group_id)


def test_ids_within_the_bound_are_taken() -> None:
    check_group_id("g")
    check_group_id("g" * GROUP_ID_CHARACTERS_MAX)
