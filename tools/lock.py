"""Writes the hashed requirement files, or checks without a network that they are up to date.

Every file starts with the hash of the dependency tables of pyproject.toml that it was resolved
from; `--check` compares it. No file names an index: pip uses the one configured on its machine.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("requirements")
COMPILE = [
    *(".venv/bin/uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url"),
]
# In this order: the pins of the small environment apply to the big one too.
FILES: dict[str, tuple[str, ...]] = {
    "cluster": ("pyproject.toml", "--extra", "server"),
    "dev": ("pyproject.toml", "--all-extras", "--constraint", "requirements/cluster.txt"),
    "build": ("--group", "build", "--constraint", "requirements/dev.txt"),
    "lock": ("--group", "lock"),
    "go": ("--group", "go"),
}


def inputs_hash() -> str:
    """The hash of everything in pyproject.toml that decides what gets installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tables = [
        project["project"]["requires-python"],
        project["project"]["dependencies"],
        project["project"]["optional-dependencies"],
        project["dependency-groups"],
        project["tool"]["uv"],
    ]
    return hashlib.sha256(json.dumps(tables).encode()).hexdigest()


def header() -> str:
    """The first line of every lock file."""
    return f"# Made by `make lock` from pyproject.toml {inputs_hash()}; do not edit.\n"


def write() -> None:
    """Resolve every file to the newest versions that pyproject.toml allows."""
    (ROOT / FOLDER).mkdir(exist_ok=True)
    for name, arguments in FILES.items():
        command = [*COMPILE, "--upgrade", *arguments]
        body = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        (ROOT / FOLDER / f"{name}.txt").write_text(header() + body.stdout)


def problems() -> list[str]:
    """A line for each file that is missing or was resolved from other tables."""
    return [
        f"{path}: not in step with pyproject.toml; run `make lock`"
        for path in (FOLDER / f"{name}.txt" for name in FILES)
        if not (ROOT / path).exists() or not (ROOT / path).read_text().startswith(header())
    ]


def main(arguments: list[str]) -> int:
    """`lock.py` writes, `lock.py --check` only reports."""
    if arguments != ["--check"]:
        write()
        return 0
    found = problems()
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
