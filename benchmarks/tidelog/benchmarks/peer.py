"""The peer: a program that runs Kafka's side of a figure, given by its command line.

docs/BENCHMARKS.md lists the sub-commands it must understand. The bench reads JSON lines with
`figure` and `runs` from its stdout and ignores other lines; the end of its stderr is the reason of
a failure.
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
"""The time for the peer's own clean-up after SIGTERM."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer's command, split as a shell would."""

    command: Sequence[str]

    @classmethod
    def of(cls, text: str) -> Peer:
        """Split a command line. Errors: ValueError if it is empty or no shell could split it."""
        command = shlex.split(text)
        if not command:
            raise ValueError("the peer's command is empty")
        return cls(tuple(command))

    def up(self) -> None:
        """Format and start the peer's nodes."""
        self.run("up")

    def down(self) -> None:
        """Stop the peer's nodes; no error when none runs."""
        self.run("down")

    def run(self, *arguments: str) -> dict[str, list[float]]:
        """The figures of one call by name: one value per run. Errors: `RunFailedError`."""
        return parse(run_program([*self.command, *arguments], timeout_s=TIMEOUT_S).splitlines())


def parse(lines: Iterable[str]) -> dict[str, list[float]]:
    """The figures in the lines that a peer wrote."""
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
    """Run a program and return its stdout; if this process is interrupted, the program ends too.

    The program gets SIGTERM and time to clean up. Errors: `RunFailedError` if it cannot be started,
    fails, or takes longer than `timeout_s`.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            start_new_session=True,  # Ctrl-C reaches this process, which then ends the program
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
