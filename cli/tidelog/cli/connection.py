"""The parts that all commands with a cluster share: its addresses, and errors as one line."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

DEFAULT_BOOTSTRAP = "127.0.0.1:9192,127.0.0.1:9193,127.0.0.1:9194"
API_TIMEOUT_MS = 30_000

T = TypeVar("T")

bootstrap_option = click.option(
    "--bootstrap",
    envvar="TIDELOG_BOOTSTRAP",
    default=DEFAULT_BOOTSTRAP,
    show_default=True,
    show_envvar=True,
    metavar="HOST:PORT,…",
    help="Broker addresses; one that answers is enough.",
)


def run(work: Coroutine[Any, Any, T]) -> T:  # Any: nothing is ever sent into the coroutine
    """Run `work` to its end; a client error becomes a click error, Ctrl-C an abort."""
    from tidelog.core.errors import TidelogError

    try:
        return asyncio.run(work)
    except (TidelogError, ValueError) as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except KeyboardInterrupt:
        raise click.Abort from None
