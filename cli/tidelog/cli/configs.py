"""`tidelog configs describe | set | delete`, of a topic or of the whole cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, json_option
from tidelog.cli.counts import pluralize
from tidelog.cli.table import echo_table
from tidelog.cli.units import config_number

if TYPE_CHECKING:
    from tidelog.client.admin.descriptions import ConfigDescription

cluster_option = click.option(
    "--cluster", "of_cluster", is_flag=True, help="Use the cluster's defaults instead of a TOPIC."
)


@click.group()
def configs() -> None:
    """Describe, set and delete the configs of a topic, or the cluster's defaults for topics."""


@configs.command()
@click.argument("topic", required=False)
@cluster_option
@click.option(
    "--all", "with_defaults", is_flag=True, help="Include configs left at their defaults."
)
@json_option
@bootstrap_option
def describe(
    *, topic: str | None, of_cluster: bool, with_defaults: bool, as_json: bool, bootstrap: str
) -> None:
    """Show the configs of TOPIC: value, where it is set, and the default."""
    if (topic is None) is not of_cluster:
        raise click.UsageError("name a TOPIC, or --cluster")
    described = ask(bootstrap, lambda admin: admin.describe_configs(topic))
    shown = [one for one in described.values() if with_defaults or not one.is_default]
    if as_json:
        echo_json({"topic": topic, "configs": [_as_json(one) for one in shown]})
    elif shown:
        echo_table(
            ("key", "value", "source", "default"),
            [(one.name, one.value, one.source, one.default) for one in shown],
        )
    else:
        every = pluralize(len(described), "config")
        click.echo(f"nothing is set: all {every} are at their defaults, see --all")


@configs.command(name="set")
@click.argument("words", nargs=-1, required=True, metavar="[TOPIC] KEY=VALUE…")
@cluster_option
@json_option
@bootstrap_option
def set_configs(*, words: tuple[str, ...], of_cluster: bool, as_json: bool, bootstrap: str) -> None:
    """Set configs; returns when every live broker has applied them. No restart is needed.

    A duration or size may have a unit: retention.ms=7d, segment.bytes=512MiB.
    """
    topic, pairs = _split(words, of_cluster=of_cluster)
    changes = parse_configs(pairs)
    ask(bootstrap, lambda admin: admin.alter_configs(topic, changes))
    if as_json:
        echo_json({"topic": topic, "set": changes})
    else:
        said = ", ".join(f"{key}={value}" for key, value in changes.items())
        click.echo(f"set {said} of {_name(topic)}")


@configs.command()
@click.argument("words", nargs=-1, required=True, metavar="[TOPIC] KEY…")
@cluster_option
@json_option
@bootstrap_option
def delete(*, words: tuple[str, ...], of_cluster: bool, as_json: bool, bootstrap: str) -> None:
    """Delete configs: the cluster's value applies again, or else the default."""
    topic, keys = _split(words, of_cluster=of_cluster)
    changes: Mapping[str, str | None] = dict.fromkeys(keys)
    ask(bootstrap, lambda admin: admin.alter_configs(topic, changes))
    if as_json:
        echo_json({"topic": topic, "deleted": list(changes)})
    else:
        click.echo(f"deleted {', '.join(keys)} of {_name(topic)}")


def parse_configs(pairs: Iterable[str]) -> dict[str, str]:
    """Parse KEY=VALUE words; durations and sizes with a unit become numbers.

    Errors: `click.UsageError` for a word of another form.
    """
    parsed: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{pair!r} is not KEY=VALUE")
        if key in parsed:
            raise click.UsageError(f"{key} is given twice")
        try:
            parsed[key] = config_number(key, value)
        except ValueError as error:
            raise click.UsageError(f"{key}: {error}") from error
    return parsed


def _split(words: Sequence[str], *, of_cluster: bool) -> tuple[str | None, Sequence[str]]:
    topic, rest = (None, words) if of_cluster else (words[0], words[1:])
    if topic is not None and "=" in topic:
        raise click.UsageError("name a TOPIC first, or --cluster")
    if not rest:
        raise click.UsageError("name at least one config after the TOPIC")
    return topic, rest


def _name(topic: str | None) -> str:
    return "the cluster" if topic is None else topic


def _as_json(one: ConfigDescription) -> dict[str, object]:
    return {
        "name": one.name,
        "value": one.value,
        "source": one.source,
        "default": one.default,
        "type": one.type,
        "doc": one.doc,
    }
