"""Blocks of a documentation page that are run: commands, and the lines that they are to show.

A fenced block `console` holds commands after `$ ` and, below each, lines of its output. `…` in such
a line stands for any text, spaces do not count, and a line that begins with `#` is a remark.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_STATE = re.compile(r"export |\w+\(\) \{")
_LOOKS = re.compile(r"tidelog (topics describe|events|cluster status|dump-log)|cat ")
_PATIENCE_S = 90.0
_COMMAND_TIMEOUT_S = 120.0
_LOOK_EVERY_S = 0.7
"""Each look starts a process: a third of a second of a processor, which the nodes need, too."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a page, and the lines of its output that the page shows."""

    command: str
    lines: tuple[str, ...]


class StepFailedError(AssertionError):
    """The output of a step lacks a line of the page, or its command failed."""

    def __init__(self, step: Step, code: int, output: str) -> None:
        missing = missing_line(step, output)
        super().__init__(f"`{step.command}` ended with {code}; missing: {missing!r}\n{output}")
        self.step = step


def steps_of(page: str) -> list[Step]:
    """The commands of a page in their order."""
    found: list[tuple[str, list[str]]] = []
    for block in _BLOCK.findall(page):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif line and not line.startswith("#"):
                found[-1][1].append(line)
    return [Step(command, tuple(lines)) for command, lines in found]


def missing_line(step: Step, output: str) -> str | None:
    """The first line of the page that the output has not, in order; None when it has all."""
    left = iter([_plain(line) for line in output.splitlines()])
    for line in step.lines:
        pattern = ".*".join(re.escape(part.strip()) for part in _plain(line).split("…"))
        if not any(re.fullmatch(pattern, have) for have in left):
            return line
    return None


class Shell:
    """Runs the commands of a page one by one in `folder`; exports and functions stay."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._state: list[str] = []

    def run(self, step: Step) -> None:
        """Run a step and check its output; a command that only looks is repeated."""
        if _STATE.match(step.command):
            self._state.append(step.command)
            return
        ends_s = time.monotonic() + (_PATIENCE_S if _LOOKS.match(step.command) else 0.0)
        while True:
            code, output = self._run(step.command)
            if code == 0 and missing_line(step, output) is None:
                return
            if time.monotonic() >= ends_s:
                raise StepFailedError(step, code, output)
            time.sleep(_LOOK_EVERY_S)

    def _run(self, command: str) -> tuple[int, str]:
        # A file, since nodes that stay in the background would keep a pipe open.
        shown = self._folder / "output"
        with shown.open("wb") as output:
            done = subprocess.run(
                ["bash", "-c", "\n".join([*self._state, command])],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_COMMAND_TIMEOUT_S,
                check=False,
            )
        return done.returncode, shown.read_text(encoding="utf-8")


def _plain(line: str) -> str:
    """One space between words, none beside commas, so that no look of a table matters."""
    return re.sub(r" ?, ?", ",", " ".join(line.split()))
