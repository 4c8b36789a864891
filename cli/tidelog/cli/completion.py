"""`tidelog completion bash | zsh | fish`: the script that completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_TIDELOG_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(*, shell: str) -> None:
    """Print the completion script of SHELL.

    bash, in ~/.bashrc: eval "$(tidelog completion bash)". zsh, in ~/.zshrc: eval "$(tidelog
    completion zsh)". fish: tidelog completion fish > ~/.config/fish/completions/tidelog.fish.
    """
    of_shell = get_completion_class(shell)
    if of_shell is None:
        raise click.ClickException(f"click completes nothing in {shell}")
    root = click.get_current_context().find_root().command
    script = of_shell(root, {}, "tidelog", _VARIABLE)
    click.echo(script.source_template % script.source_vars())
