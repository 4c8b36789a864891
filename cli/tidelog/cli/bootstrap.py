"""The options that name the cluster: before a command or after it, by our names and by Kafka's.

Imports click alone, since the list of commands needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

DEFAULT_BOOTSTRAP = "127.0.0.1:9192,127.0.0.1:9193,127.0.0.1:9194"
VARIABLE = "TIDELOG_BOOTSTRAP"
_NAMES = ("-b", "--bootstrap", "--bootstrap-server", "--brokers")

Function = TypeVar("Function", bound=Callable[..., Any])  # whatever a command takes


def _named_before(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """The addresses after the command, or before it, or the variable's, or the default."""
    source = context.get_parameter_source(parameter.name or "")
    if source is click.core.ParameterSource.COMMANDLINE:
        return value
    before: str | None = context.find_root().meta.get(VARIABLE)
    return before or value


def _keep(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[VARIABLE] = value


bootstrap_option = click.option(
    *_NAMES,
    "bootstrap",
    envvar=VARIABLE,
    default=DEFAULT_BOOTSTRAP,
    show_default=True,
    show_envvar=True,
    metavar="HOST:PORT,…",
    callback=_named_before,
    help="Broker addresses; one that answers is enough.",
)


def bootstrap_before(command: Function) -> Function:
    """The same option before a command: `tidelog -b HOST:PORT topics list`."""
    option = click.option(
        *_NAMES,
        "bootstrap",
        metavar="HOST:PORT,…",
        callback=_keep,
        expose_value=False,
        help="Broker addresses, here or after the command.",
    )
    return option(command)


topic_option = click.option(
    *("-t", "--topic"),
    "named_topics",
    multiple=True,
    metavar="TOPIC",
    help="As the argument TOPIC.",
)
