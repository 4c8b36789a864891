"""The `tidelog` command: its groups, and how errors reach the terminal.

Commands are imported when they are used, so that each starts as fast as it can. An error is one
line on stderr and exit code 1, never a traceback.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

COMMANDS = {
    "cluster": "tidelog.cli.cluster:cluster",
    "topics": "tidelog.cli.topics:topics",
    "configs": "tidelog.cli.configs:configs",
    "quorum": "tidelog.cli.quorum:quorum",
    "events": "tidelog.cli.events:events",
    "produce": "tidelog.cli.produce:produce",
    "consume": "tidelog.cli.consume:consume",
    "dump-log": "tidelog.cli.dump_log:dump_log",
    "sim": "tidelog.cli.sim:sim",
    "chaos": "tidelog.cli.chaos:chaos",
    "check": "tidelog.cli.check:check",
    "bench": "tidelog.cli.bench.command:bench",
    "pipeline": "tidelog.cli.pipeline:pipeline",
    "demo": "tidelog.cli.demo:demo",
}
INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """See `click.Group`."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group`."""
        target = COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        command = getattr(import_module(module), attribute)
        return command if isinstance(command, click.Command) else None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tidelog")
def tidelog() -> None:
    """A replicated commit log: run a cluster, manage topics, write and read records."""


def main() -> None:
    """Run the command line; the exit code is 0, 1 for an error, 2 for wrong usage."""
    try:
        code = tidelog.main(standalone_mode=False)
    except click.ClickException as error:
        if isinstance(error, click.UsageError):
            error.show()
        else:
            click.echo(f"tidelog: {error.format_message()}", err=True)
        code = error.exit_code
    except click.Abort:
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)
