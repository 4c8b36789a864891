"""A program with the peer's command line, for tests: measures nothing, notes what it is told."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_PROGRAM = """
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "told", "a") as arguments:
    arguments.write(" ".join(sys.argv[1:]) + chr(10))
command, options = sys.argv[1], dict(zip(sys.argv[2::2], sys.argv[3::2]))
print("progress", file=sys.stderr)
if command == "break":
    print("no jars", file=sys.stderr)
    sys.exit(3)
if command == "perf":
    name = f"produce.{options['--clients']}.{options['--sizes']}B"
    rest = f".{options.get('--codecs')}.{options.get('--profiles')}.acks={options.get('--acks')}"
    print("not a figure")
    print(json.dumps({"figure": name, "runs": [7]}))
    print(json.dumps({"figure": name + rest + ".steady_mb_s", "runs": [0.001]}))
    print(json.dumps({"figure": name + rest + ".broker_cpu_per_gib", "runs": [1e6]}))
"""


def fake_peer(folder: Path) -> str:
    """Its command; what it was told is in the file `told` of the folder, a line a call."""
    program = folder / "fake-peer.py"
    program.write_text(_PROGRAM)
    return shlex.join([sys.executable, str(program)])
