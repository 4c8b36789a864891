"""The place where `consume` starts: a name, an offset, a number before the end, a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

if TYPE_CHECKING:
    from tidelog.client.consuming.consumer import Consumer
    from tidelog.client.records import TopicPartition

_NAMES: dict[str, Literal["earliest", "latest"]] = {
    "earliest": "earliest",
    "beginning": "earliest",
    "latest": "latest",
    "end": "latest",
}


class StartOffset(NamedTuple):
    """A place in a partition: its start or end, an offset, offsets before the end, or a time."""

    reset: Literal["earliest", "latest"] = "latest"
    offset: int | None = None
    before_end: int | None = None
    time: datetime | None = None

    async def apply(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Move the positions of assigned partitions; at their reset if only that is given."""
        if self.time is not None:
            await consumer.seek_to_time(dict.fromkeys(partitions, self.time))
        if self.before_end is not None:
            await consumer.tail(partitions, self.before_end)
        if self.offset is not None:
            starts = await consumer.beginning_offsets(partitions)
            ends = await consumer.end_offsets(partitions)
            for tp in partitions:
                consumer.seek(tp, max(starts[tp], min(self.offset, ends[tp])))


class StartOffsetType(click.ParamType[StartOffset]):
    """`earliest`, `latest`, N, -N, `time:ISO` or kcat's `s@MILLISECONDS`."""

    name = "offset"

    def convert(
        self,
        value: str | StartOffset,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> StartOffset:
        """See `click.ParamType.convert`."""
        if isinstance(value, StartOffset):
            return value
        if value in _NAMES:
            return StartOffset(_NAMES[value])
        if re.fullmatch(r"\d{1,18}", value):
            return StartOffset(offset=int(value))
        if re.fullmatch(r"-\d{1,18}", value):
            return StartOffset(before_end=int(value[1:]))
        if re.fullmatch(r"s@\d{1,14}", value):
            return StartOffset(time=datetime.fromtimestamp(int(value[2:]) / 1000, UTC))
        if not value.startswith("time:"):
            shapes = "earliest, latest, N, -N, time:2026-11-21T07:00"
            self.fail(f"{value!r} is none of {shapes}", param, ctx)
        return StartOffset(time=parse_time(value.removeprefix("time:"), "--offset"))


def parse_time(text: str, option: str) -> datetime:
    """Parse ISO 8601, local time without an offset. Errors: click.UsageError names the option."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise click.UsageError(f"{option} {text!r} is not a time: {error}") from error
