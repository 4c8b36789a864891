"""The parts that all commands with a cluster share: its addresses, and errors as one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tidelog.core.errors import TidelogError

API_TIMEOUT_MS = 30_000

T = TypeVar("T")
Item = TypeVar("Item")
Value = TypeVar("Value")


def run(work: Coroutine[Any, Any, T]) -> T:  # Any: nothing is ever sent into the coroutine
    """Run `work` to its end; a client error becomes a click error, Ctrl-C an abort."""
    from tidelog.core.errors import TidelogError

    try:
        return asyncio.run(work)
    except (TidelogError, ValueError) as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except KeyboardInterrupt:
        raise click.Abort from None


def echo_results(
    results: Mapping[Item, Value | TidelogError],
    said: Callable[[Item, Value], str],
    *,
    name_of: Callable[[Item], str],
) -> None:
    """A line for each item: what is `said` of its value, or on stderr its name and its error.

    Exits 1 after the last when there was an error.
    """
    from tidelog.core.errors import TidelogError

    failures = 0
    for item, result in results.items():
        if isinstance(result, TidelogError):
            failures += 1
            click.echo(f"{name_of(item)}: {' '.join(result.message.split())}", err=True)
        else:
            click.echo(said(item, result))
    if failures:
        raise SystemExit(1)
