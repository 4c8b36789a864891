"""Generates the Python code of proto/**/*.proto beside its source, or checks that it is up to date.

`--check` generates into a temporary folder and compares; it changes nothing. Generating adds new
facts to `tests/proto_baseline.txt`, see `proto_baseline`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

import proto_baseline

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "proto"


def generate(target: Path) -> None:
    """Write `*_pb2.py` and `*_pb2.pyi` of every .proto file below `target`."""
    _protoc(f"--python_out={target}", f"--pyi_out={target}")


def described() -> FileDescriptorSet:
    """The declarations of every .proto file, with comments."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "descriptors.binpb")
        _protoc("--include_source_info", f"--descriptor_set_out={path}")
        return FileDescriptorSet.FromString(path.read_bytes())


def _protoc(*outputs: str) -> None:
    names = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.proto"))
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={SOURCE}", *outputs, *names],
        check=True,
    )


def generated(folder: Path) -> dict[str, str]:
    """Relative path and content of the generated files below `folder`."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for pattern in ("*_pb2.py", "*_pb2.pyi")
        for path in sorted(folder.rglob(pattern))
    }


def problems() -> list[str]:
    """A line for each file that is missing, left over, or differs from the generated one."""
    with tempfile.TemporaryDirectory() as name:
        fresh_folder = Path(name)
        generate(fresh_folder)
        fresh = generated(fresh_folder)
    committed = generated(SOURCE)
    found = [
        f"proto/{path}: not what its .proto file gives; run `make proto`"
        for path in sorted(fresh.keys() | committed.keys())
        if fresh.get(path) != committed.get(path)
    ]
    if not proto_baseline.facts(described()) <= proto_baseline.promised():
        found.append("tests/proto_baseline.txt: lacks what is new in proto/; run `make proto`")
    return found


def main(arguments: list[str]) -> int:
    """`protos.py` writes, `protos.py --check` only reports."""
    if arguments != ["--check"]:
        generate(SOURCE)
        proto_baseline.add(proto_baseline.facts(described()))
        return 0
    found = problems()
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
