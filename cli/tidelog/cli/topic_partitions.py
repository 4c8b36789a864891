"""Topics and some of their partitions, as options of commands name them: `orders:0,2`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from tidelog.client.records import TopicPartition

Selection: TypeAlias = tuple[str, list[int] | None]
"""A topic and its partitions; None: all of them."""


class TopicSelection(click.ParamType[Selection]):
    """`orders` or `orders:0,2`."""

    name = "topic[:0,2,…]"

    def convert(
        self, value: str | Selection, param: click.Parameter | None, ctx: click.Context | None
    ) -> Selection:
        """See `click.ParamType.convert`."""
        if isinstance(value, tuple):
            return value
        topic, colon, numbers = value.partition(":")
        parts = numbers.split(",")
        if not topic or (colon and not all(part.isdecimal() for part in parts)):
            self.fail(f"{value!r} is neither a topic nor partitions such as orders:0,2", param, ctx)
        return topic, sorted({int(part) for part in parts}) if colon else None


def partitions_of(
    selections: Sequence[Selection], known: Iterable[TopicPartition]
) -> list[tuple[str, int]]:
    """Name the partitions of a selection; of whole topics those that are known."""
    listed = list(known)
    found: dict[tuple[str, int], None] = {}
    for topic, numbers in selections:
        of_topic = [tp.partition for tp in listed if tp.topic == topic]
        for number in of_topic if numbers is None else numbers:
            found[topic, number] = None
    return list(found)
