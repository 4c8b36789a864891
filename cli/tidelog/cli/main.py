"""The `tidelog` command: its subcommands, and how errors reach the terminal.

A subcommand is imported when it runs, so listing them needs none of the packages that they need.
An error is one line on stderr and exit code 1, never a traceback.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click

from tidelog.cli.bootstrap import bootstrap_before


class Target(NamedTuple):
    """A command that is imported only when it runs."""

    location: str
    help: str
    extra: str | None = None
    """The extra of the distribution that holds the packages the command needs."""


COMMANDS = {
    "cluster": Target(
        "cluster:cluster", "Start, stop and inspect a cluster on this machine.", "server"
    ),
    "topics": Target("topics:topics", "Create, list, describe, alter and delete topics."),
    "configs": Target("configs:configs", "Describe, set and delete configs of topics."),
    "quorum": Target("quorum:quorum", "Show the controllers and their metadata log."),
    "brokers": Target("brokers:brokers", "List the brokers, live and fenced."),
    "groups": Target("groups:groups", "List, describe, reset and delete consumer groups."),
    "transactions": Target(
        "transactions:transactions", "List, describe, find and abort transactions."
    ),
    "events": Target("events:events", "Show what happened and why, from all nodes' journals."),
    "produce": Target("produce:produce", "Send lines of standard input or a file to a topic."),
    "consume": Target("consume:consume", "Print the records of topics."),
    "sql": Target("sql:sql", "Run a SELECT over topics.", "sql"),
    "dump-log": Target("dump_log:dump_log", "Show the contents of log files, read-only."),
    "sim": Target("sim:sim", "Simulate whole clusters on virtual time."),
    "chaos": Target("chaos:chaos", "Inject faults into a cluster of real processes.", "chaos"),
    "check": Target("check:check", "Check a history for lost, duplicated or reordered records."),
    "bench": Target("bench:bench", "Measure Tidelog on this machine, beside a peer.", "server"),
    "pipeline": Target("pipeline:pipeline", "Write JSON records of topics to Parquet.", "spark"),
    "demo": Target("demo:demo", "Produce flights, kill a leader half-way, read back.", "demo"),
    "completion": Target("completion:completion", "Print the completion script of a shell."),
}
INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a command when it runs, and none to list them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """See `click.Group`."""
        return list(COMMANDS)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See `click.Group`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, target.help) for name, target in COMMANDS.items()])

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group`."""
        target = COMMANDS.get(cmd_name)
        return None if target is None else _import(cmd_name, target)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See `click.Group`; a name that no command has gets a suggestion."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, COMMANDS, n=1)
            advice = f"Did you mean '{near[0]}'?" if near else "See tidelog --help."
            raise click.UsageError(f"No such command '{name}'. {advice}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # Any: what click returns
        """See `click.Group`; a package that is missing is an error that names its extra."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            name = ctx.invoked_subcommand or ""
            raise _missing_extra(name, COMMANDS[name], error) from None


def _import(name: str, target: Target) -> click.Command | None:
    module, _, attribute = target.location.partition(":")
    try:
        command = getattr(import_module(f"tidelog.cli.{module}"), attribute)
    except ModuleNotFoundError as error:
        raise _missing_extra(name, target, error) from None
    return command if isinstance(command, click.Command) else None


def _missing_extra(name: str, target: Target, error: ModuleNotFoundError) -> Exception:
    """An error in one line that names the extra; `error` itself if no extra holds the package."""
    if target.extra is None or (error.name or "tidelog").startswith("tidelog"):
        return error
    return click.ClickException(
        f"{name} needs {error.name}, which is not installed: "
        f"pip install 'tidelog[{target.extra}]' (in a checkout: make setup)"
    )


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tidelog")
@bootstrap_before
def tidelog() -> None:
    """A replicated commit log: run a cluster, manage topics, write and read records."""


def _message_of(error: Exception) -> str:
    """The message of an error of ours; any other is raised again."""
    from tidelog.core.errors import TidelogError  # not needed for the list of commands

    if isinstance(error, TidelogError):
        return error.message
    raise error


def main() -> None:
    """Run the command line; the exit code is 0, 1 for an error, 2 for wrong usage."""
    try:
        code = tidelog.main(standalone_mode=False, prog_name="tidelog")
    except click.ClickException as error:
        if isinstance(error, click.UsageError):
            error.show()
        else:
            click.echo(f"tidelog: {error.format_message()}", err=True)
        code = error.exit_code
    except click.Abort:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the top: other errors are raised again
        click.echo(f"tidelog: {_message_of(error)}", err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
