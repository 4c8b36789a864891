"""The time constants and bounds of the product, found by reading its code.

A bound is a number with a name that tells of a limit or a unit: a constant of a module, a field of
a configuration, an option of a client, an option of gRPC. Keys are `package/module:Name`.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    *("core", "records", "net", "log", "raft", "metadata", "broker", "node", "client"),
    "testing",
)
UNITS = frozenset(
    {
        *("s", "ms", "seconds", "timeout", "interval"),
        *("bytes", "characters", "entries", "records", "events", "batches", "partitions"),
        *("max", "min", "limit", "size"),
    }
)
FACES = {
    "Admin": "client/admin/admin",
    "Consumer": "client/consuming/consumer",
    "Producer": "client/producing/producer",
    "TableWriter": "client/arrow/table_writer",
}
"""The classes of the client that an application makes, and their modules."""
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


class Bound(NamedTuple):
    """A number of the product; None where only a run knows it."""

    key: str
    value: float | None

    @property
    def word(self) -> str:
        """The name alone, as whoever uses it writes it."""
        return re.split(r"[:.(]", self.key)[-1].rstrip(")")

    @property
    def seconds(self) -> float | None:
        """The value, where it is a time."""
        tokens = self.word.lower().split("_")
        if self.value is None or not {"s", "ms"} & set(tokens):
            return None
        return self.value / 1000 if "ms" in tokens else self.value


def has_unit(name: str) -> bool:
    """Whether a name tells of a limit or a unit."""
    return bool(UNITS & set(name.lower().split("_")))


def product_bounds() -> dict[str, Bound]:
    """All of them, by key."""
    found: dict[str, Bound] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT / package).with_suffix("").as_posix()
            dotted = name.replace("/", ".")
            if dotted.endswith("__main__") or name.endswith("_pb2"):
                continue
            key = name.removeprefix("tidelog/")
            bounds = bounds_in(ast.parse(path.read_text()), key, importlib.import_module(dotted))
            found.update({bound.key: bound for bound in bounds})
    return found


def bounds_in(tree: ast.Module, key: str, module: ModuleType) -> Iterator[Bound]:
    """Those of one module."""
    for name in _constants(tree):
        value = getattr(module, name)
        if has_unit(name) and isinstance(value, (int, float)):
            yield Bound(f"{key}:{name}", value)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Config"):
            yield from _fields(getattr(module, node.name), f"{key}:{node.name}")
        elif isinstance(node, ast.ClassDef) and key == FACES.get(node.name):
            yield from _options(getattr(module, node.name), f"{key}:{node.name}")
    yield from _of_grpc(tree, key, module)


def _constants(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            for name in names:
                if isinstance(name, ast.Name) and CONSTANT.fullmatch(name.id):
                    yield name.id


def _fields(config: type, key: str) -> Iterator[Bound]:
    if dataclasses.is_dataclass(config):
        for field in dataclasses.fields(config):
            if has_unit(field.name) and isinstance(field.default, (int, float)):
                yield Bound(f"{key}.{field.name}", field.default)


def _options(face: type, key: str) -> Iterator[Bound]:
    """What a caller of the client may leave out."""
    for name, parameter in inspect.signature(face).parameters.items():
        default = parameter.default
        if has_unit(name) and isinstance(default, (int, float)) and not isinstance(default, bool):
            yield Bound(f"{key}({name})", default)


def _of_grpc(tree: ast.Module, key: str, module: ModuleType) -> Iterator[Bound]:
    for node in ast.walk(tree):
        match node:
            case ast.Tuple(elts=[ast.Constant(value=str(name)), value]) if name.startswith("grpc."):
                if has_unit(name.replace(".", "_")):
                    yield Bound(f"{key}:{name}", _evaluated(value, module))


def _evaluated(node: ast.expr, module: ModuleType) -> float | None:
    if isinstance(node, ast.Name):
        found = getattr(module, node.id, None)
        return found if isinstance(found, (int, float)) else None
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if isinstance(found, (int, float)) else None
