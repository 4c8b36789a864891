"""`tidelog configs describe | set | delete`, of a topic or of the whole cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import API_TIMEOUT_MS, run
from tidelog.client.admin import Admin
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
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@bootstrap_option
def describe(
    *, topic: str | None, of_cluster: bool, with_defaults: bool, as_json: bool, bootstrap: str
) -> None:
    """Show the configs of TOPIC: value, where it is set, and the default."""
    if (topic is None) is not of_cluster:
        raise click.UsageError("name a TOPIC, or --cluster")

    async def work() -> Mapping[str, ConfigDescription]:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            return await admin.describe_configs(topic)

    described = run(work())
    shown = [one for one in described.values() if with_defaults or not one.is_default]
    if as_json:
        click.echo(json.dumps({"topic": topic, "configs": [_as_json(one) for one in shown]}))
    elif shown:
        _print_table(shown)
    else:
        click.echo(f"nothing is set: all {len(described)} configs are at their defaults, see --all")


@configs.command(name="set")
@click.argument("words", nargs=-1, required=True, metavar="[TOPIC] KEY=VALUE…")
@cluster_option
@bootstrap_option
def set_configs(*, words: tuple[str, ...], of_cluster: bool, bootstrap: str) -> None:
    """Set configs; returns when every live broker has applied them. No restart is needed."""
    topic, pairs = _split(words, of_cluster=of_cluster)
    _alter(topic, parse_configs(pairs), bootstrap)
    click.echo(f"set {', '.join(pairs)} of {_name(topic)}")


@configs.command()
@click.argument("words", nargs=-1, required=True, metavar="[TOPIC] KEY…")
@cluster_option
@bootstrap_option
def delete(*, words: tuple[str, ...], of_cluster: bool, bootstrap: str) -> None:
    """Delete configs: the cluster's value applies again, or else the default."""
    topic, keys = _split(words, of_cluster=of_cluster)
    _alter(topic, dict.fromkeys(keys), bootstrap)
    click.echo(f"deleted {', '.join(keys)} of {_name(topic)}")


def parse_configs(pairs: Iterable[str]) -> dict[str, str]:
    """Parse KEY=VALUE words. Errors: `click.UsageError` for a word of another form."""
    parsed: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{pair!r} is not KEY=VALUE")
        if key in parsed:
            raise click.UsageError(f"{key} is given twice")
        parsed[key] = value
    return parsed


def _split(words: Sequence[str], *, of_cluster: bool) -> tuple[str | None, Sequence[str]]:
    topic, rest = (None, words) if of_cluster else (words[0], words[1:])
    if topic is not None and "=" in topic:
        raise click.UsageError("name a TOPIC first, or --cluster")
    if not rest:
        raise click.UsageError("name at least one config after the TOPIC")
    return topic, rest


def _alter(topic: str | None, changes: Mapping[str, str | None], bootstrap: str) -> None:
    async def work() -> None:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            await admin.alter_configs(topic, changes)

    run(work())


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


def _print_table(shown: Sequence[ConfigDescription]) -> None:
    """Print one line per config, never cut or wrapped, so that lines can be searched."""
    rows = [("key", "value", "source", "default")]
    rows += [(one.name, one.value, one.source, one.default) for one in shown]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())
