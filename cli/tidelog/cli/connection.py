"""The parts that commands with a cluster share: calls, errors as one line, results as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.core.errors import TidelogError

API_TIMEOUT_MS = 30_000

T = TypeVar("T")
Item = TypeVar("Item")
Value = TypeVar("Value")

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
json_lines_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object per line."
)


def run(work: Coroutine[Any, Any, T]) -> T:  # Any: nothing is ever sent into the coroutine
    """Run `work` to its end; a client error becomes a click error, Ctrl-C an abort."""
    from tidelog.core.errors import TidelogError

    try:
        return asyncio.run(work)
    except (TidelogError, ValueError) as error:
        raise click.ClickException(one_line(error)) from error
    except KeyboardInterrupt:
        raise click.Abort from None


def ask(bootstrap: str, question: Callable[[Admin], Awaitable[T]]) -> T:
    """The answer to a question to the cluster; errors as in `run`."""

    async def work() -> T:
        from tidelog.client.admin import Admin

        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            return await question(admin)

    return run(work())


def echo_json(fields: object) -> None:
    """Print an object as one line of JSON."""
    click.echo(json.dumps(fields))


def one_line(error: BaseException) -> str:
    """The message of an error in one line."""
    return " ".join(str(error).split())


def echo_results(
    results: Mapping[Item, Value | TidelogError],
    said: Callable[[Item, Value], str],
    *,
    name_of: Callable[[Item], str],
    json_of: Callable[[Item, Value | None], Mapping[str, object]] | None = None,
) -> None:
    """A line for each item: what is `said` of its value, or on stderr its name and its error.

    With `json_of` a JSON line for each, with its fields and "error", null where there was none.
    Exits 1 after the last when there was an error.
    """
    from tidelog.core.errors import TidelogError

    failures = 0
    for item, result in results.items():
        error = one_line(result) if isinstance(result, TidelogError) else None
        failures += error is not None
        if json_of is not None:
            value = None if isinstance(result, TidelogError) else result
            echo_json({**json_of(item, value), "error": error})
        elif isinstance(result, TidelogError):
            click.echo(f"{name_of(item)}: {one_line(result)}", err=True)
        else:
            click.echo(said(item, result))
    if failures:
        raise SystemExit(1)
