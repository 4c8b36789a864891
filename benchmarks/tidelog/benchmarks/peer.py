"""The peer: a program that runs Kafka's side of a figure, told by its command line.

docs/BENCHMARKS.md says what it must understand. Its stdout is read for JSON lines with `figure` and
`runs`; whatever else it writes is passed over, and the end of its stderr tells why it failed.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.benchmarks.errors import RunFailedError

TIMEOUT_S = 900.0
GRACE_S = 60.0
"""For its own clean-up, once it is told to end."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer's command, split as a shell would."""

    command: Sequence[str]

    @classmethod
    def of(cls, text: str) -> Peer:
        """From an option or the environment; ValueError where no shell could split it."""
        command = shlex.split(text)
        if not command:
            raise ValueError("the peer's command is empty")
        return cls(tuple(command))

    def up(self) -> None:
        """Start its nodes, formatted anew."""
        self.run("up")

    def down(self) -> None:
        """Stop them; also when none runs."""
        self.run("down")

    def run(self, *arguments: str) -> dict[str, list[float]]:
        """The figures of one call, by name: a value a run. Errors: `RunFailedError`."""
        return parse(run_program([*self.command, *arguments], timeout_s=TIMEOUT_S).splitlines())


def parse(lines: Iterable[str]) -> dict[str, list[float]]:
    """The figures in what a peer wrote."""
    found: dict[str, list[float]] = {}
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            runs = [float(value) for value in said["runs"]]
            found.setdefault(str(said["figure"]), []).extend(runs)
    return found


def run_program(
    command: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None
) -> str:
    """What a program writes to stdout; it is ended, with time to clean up, when we are.

    Errors: `RunFailedError` where it cannot be started, fails or takes longer.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            start_new_session=True,  # Ctrl-C is ours to pass on
        )
    except OSError as error:
        raise RunFailedError(f"{command[0]}: {error.strerror}") from error
    try:
        output, said = process.communicate(timeout=timeout_s)
    except BaseException as error:
        _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            raise RunFailedError(f"{command[0]} took longer than {timeout_s:.0f} s") from error
        raise
    if process.returncode:
        lines = [line for line in said.splitlines() if line.strip()] or ["it wrote nothing"]
        raise RunFailedError(f"exit code {process.returncode}: {lines[-1].strip()}")
    return output


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
