"""`tidelog transactions list | describe | find-hanging | abort`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, json_option
from tidelog.cli.table import echo_table
from tidelog.cli.units import parse_duration_ms

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.transaction_views import (
        AbortedTransaction,
        HangingTransaction,
        TransactionDescription,
        TransactionListing,
    )

STATES = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort"),
    *("CompleteCommit", "CompleteAbort"),
)
_LISTED = (
    *("transactional_id", "producer_id", "producer_epoch", "state", "age_ms"),
    "coordinator_id",
)
_HANGING = ("topic", "partition", "producer_id", "producer_epoch", "start_offset", "age_ms")


class _Duration(click.ParamType[int]):
    """A duration with a unit, as milliseconds."""

    name = "duration"

    def convert(
        self,
        value: Any,  # what click passes
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """See `click.ParamType`."""
        try:
            return parse_duration_ms(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.group()
def transactions() -> None:
    """List, describe and abort transactions; find those that hang."""


@transactions.command(name="list")
@click.option("--state", type=click.Choice(STATES), help="Only transactional ids in this state.")
@json_option
@bootstrap_option
def list_transactions(*, state: str | None, as_json: bool, bootstrap: str) -> None:
    """List every transactional id: its producer, state, age of what is open, and coordinator."""

    async def question(admin: Admin) -> list[TransactionListing]:
        return await admin.list_transactions([] if state is None else [state])

    found = ask(bootstrap, question)
    if as_json:
        echo_json({"transactions": [dict(zip(_LISTED, one, strict=True)) for one in found]})
    else:
        echo_table(_LISTED, found)


@transactions.command()
@click.argument("transactional_id", metavar="ID")
@json_option
@bootstrap_option
def describe(*, transactional_id: str, as_json: bool, bootstrap: str) -> None:
    """Describe a transactional ID: also its time-out and the partitions of what is open."""

    async def question(admin: Admin) -> TransactionDescription:
        from tidelog.client.results import require_all

        return require_all(await admin.describe_transactions([transactional_id]))[transactional_id]

    found = asdict(ask(bootstrap, question))
    partitions = found.pop("partitions")
    if as_json:
        named = [{"topic": topic, "partition": number} for topic, number in partitions]
        echo_json({**found, "partitions": named})
    else:
        texts = [f"{topic}-{number}" for topic, number in partitions]
        echo_table(("field", "value"), [*found.items(), ("partitions", " ".join(texts))])


@transactions.command(name="find-hanging")
@click.option(
    "--max-age",
    type=_Duration(),
    default="15m",
    show_default=True,
    metavar="DURATION",
    help="Only those whose producer has been silent for longer.",
)
@json_option
@bootstrap_option
def find_hanging(*, max_age: int, as_json: bool, bootstrap: str) -> None:
    """Find transactions that are open in a log and that no coordinator will end.

    All coordinators are asked: while one of them is loading or away, this fails, and is to be
    repeated. Readers of committed records stop before a transaction that hangs; abort it by its
    topic, partition and start offset.
    """

    async def question(admin: Admin) -> list[HangingTransaction]:
        return await admin.find_hanging_transactions(max_age_ms=max_age)

    found = ask(bootstrap, question)
    if as_json:
        echo_json({"hanging": [dict(zip(_HANGING, one, strict=True)) for one in found]})
    else:
        echo_table(_HANGING, found)


@transactions.command()
@click.argument("transactional_id", metavar="[ID]", required=False)
@click.option("-t", "--topic", help="Topic of a hanging transaction.")
@click.option("-p", "--partition", type=click.IntRange(min=0), help="Its partition.")
@click.option("--start-offset", type=click.IntRange(min=0), help="Its first offset.")
@json_option
@bootstrap_option
def abort(
    *,
    transactional_id: str | None,
    topic: str | None,
    partition: int | None,
    start_offset: int | None,
    as_json: bool,
    bootstrap: str,
) -> None:
    """Abort what a transactional ID has open, or a hanging transaction in one partition.

    Make sure by find-hanging that it hangs: if a coordinator commits it later, the records of this
    partition stay aborted.
    """
    place = _place(topic, partition, start_offset)
    if (transactional_id is None) == (place is None):
        raise click.UsageError("name an ID, or --topic, --partition and --start-offset")

    async def question(admin: Admin) -> AbortedTransaction:
        if place is not None:
            return await admin.abort_hanging_transaction(place[:2], start_offset=place[2])
        return await admin.abort_transaction(transactional_id or "")

    found = ask(bootstrap, question)
    what: dict[str, object] = {"transactional_id": transactional_id}
    if place is not None:
        what = dict(zip(("topic", "partition", "start_offset"), place, strict=True))
    if as_json:
        echo_json({"aborted": {**what, **found._asdict()}})
    else:
        where = transactional_id if place is None else f"{place[0]}-{place[1]} from {place[2]} on"
        click.echo(f"aborted {where}")


def _place(
    topic: str | None, partition: int | None, start_offset: int | None
) -> tuple[str, int, int] | None:
    """Return the place of a hanging transaction; None: none is named. Errors: click.UsageError."""
    if topic is None and partition is None and start_offset is None:
        return None
    if topic is None or partition is None or start_offset is None:
        raise click.UsageError("--topic, --partition and --start-offset go together")
    return topic, partition, start_offset
