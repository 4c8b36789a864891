"""The layers and rules R1 to R6 of docs/ARCHITECTURE.md, read from the source with `ast`.

Every rule is a function from a module to complaints: applied to the whole tree, and shown to bite
on small counterexamples. Nothing here imports the code it reads.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# R1: who may import whom. Position in the picture is no permission.
_FLOOR = frozenset({"proto", "core", "records", "net"})
_STORAGE = _FLOOR | {"log"}
ALLOWED: dict[str, frozenset[str]] = {
    "proto": frozenset(),
    "core": frozenset({"proto"}),
    "records": frozenset({"core"}),
    "net": frozenset({"proto", "core"}),
    "log": _FLOOR - {"net"},
    "raft": _STORAGE,
    "metadata": _STORAGE | {"raft"},
    "broker": _STORAGE | {"raft", "metadata"},
    "client": _FLOOR,
    "spark": _FLOOR | {"client"},
    "chaos": _STORAGE | {"raft", "metadata", "broker", "client"},
    "cli": _STORAGE | {"raft", "metadata", "broker", "client", "chaos", "spark"},
}
# What a folder may import where that is less than its package may.
ALLOWED_BELOW = {"chaos/tidelog/chaos/workloads/": _STORAGE | {"client"}}

# R2: modules that decide. They hold no await and none of these libraries.
CORES = (
    "records/tidelog/records/batch.py",
    "log/tidelog/log/checkpoints.py",
    "log/tidelog/log/cleanable.py",
    "log/tidelog/log/compaction.py",
    "records/tidelog/records/compression.py",
    "log/tidelog/log/config.py",
    "core/tidelog/core/config_types.py",
    "log/tidelog/log/epochs.py",
    "core/tidelog/core/errors.py",
    "log/tidelog/log/file_names.py",
    "log/tidelog/log/producers.py",
    "log/tidelog/log/producer_snapshots.py",
    "records/tidelog/records/record_columns.py",
    "records/tidelog/records/record_runs.py",
    "records/tidelog/records/records.py",
    "log/tidelog/log/retention.py",
    "log/tidelog/log/validation.py",
    "records/tidelog/records/varints.py",
    "raft/tidelog/raft/config.py",
    "raft/tidelog/raft/durable_state.py",
    "raft/tidelog/raft/engine.py",
    "raft/tidelog/raft/hello.py",
    "raft/tidelog/raft/leading.py",
    "raft/tidelog/raft/local_log.py",
    "raft/tidelog/raft/log_origin.py",
    "raft/tidelog/raft/outbox.py",
    "raft/tidelog/raft/peer_processes.py",
    "raft/tidelog/raft/progress.py",
    "raft/tidelog/raft/pysyncobj/codec.py",
    "raft/tidelog/raft/pysyncobj/reads.py",
    "raft/tidelog/raft/pysyncobj/snapshot_sender.py",
    "raft/tidelog/raft/rejoiner.py",
    "raft/tidelog/raft/rejoining.py",
    "raft/tidelog/raft/replicated_log.py",
    "raft/tidelog/raft/rules.py",
    "raft/tidelog/raft/run_clock.py",
    "raft/tidelog/raft/transport.py",
    "raft/tidelog/raft/voter.py",
    "raft/tidelog/raft/well_formed.py",
    "metadata/tidelog/metadata/assignments.py",
    "metadata/tidelog/metadata/brokers.py",
    "net/tidelog/net/transport.py",
    "metadata/tidelog/metadata/attempts.py",
    "metadata/tidelog/metadata/commands.py",
    "metadata/tidelog/metadata/config.py",
    "metadata/tidelog/metadata/configs.py",
    "metadata/tidelog/metadata/controller.py",
    "metadata/tidelog/metadata/decision.py",
    "metadata/tidelog/metadata/damage.py",
    "metadata/tidelog/metadata/delta.py",
    "metadata/tidelog/metadata/election.py",
    "metadata/tidelog/metadata/image.py",
    "metadata/tidelog/metadata/leaders.py",
    "metadata/tidelog/metadata/partitions.py",
    "metadata/tidelog/metadata/placement.py",
    "metadata/tidelog/metadata/plans.py",
    "metadata/tidelog/metadata/producer_ids.py",
    "metadata/tidelog/metadata/reachability.py",
    "metadata/tidelog/metadata/records.py",
    "metadata/tidelog/metadata/replication.py",
    "metadata/tidelog/metadata/snapshot.py",
    "metadata/tidelog/metadata/topic_rules.py",
    "metadata/tidelog/metadata/topics.py",
    "broker/tidelog/broker/config.py",
    "broker/tidelog/broker/journal/*.py",
    "broker/tidelog/broker/fetch_rounds.py",
    "broker/tidelog/broker/partition/*.py",
    "broker/tidelog/broker/partition_map.py",
    "broker/tidelog/broker/peers.py",
    "broker/tidelog/broker/repeated_lines.py",
    "broker/tidelog/broker/replica_config.py",
    "broker/tidelog/broker/unfinished_requests.py",
    "broker/tidelog/broker/unread_responses.py",
    "broker/tidelog/broker/call.py",
    "chaos/tidelog/chaos/checks/*.py",
    "chaos/tidelog/chaos/history.py",
    "chaos/tidelog/chaos/history_lines.py",
    "cli/tidelog/cli/bench/efforts.py",
    "cli/tidelog/cli/bench/plan.py",
    "cli/tidelog/cli/bench/report.py",
    "cli/tidelog/cli/bench/rows.py",
    "client/tidelog/client/accumulator.py",
    "client/tidelog/client/arrow_columns.py",
    "client/tidelog/client/arrow_rows.py",
    "client/tidelog/client/assignment.py",
    "client/tidelog/client/backoff.py",
    "client/tidelog/client/batches.py",
    "client/tidelog/client/changes.py",
    "client/tidelog/client/cluster_metadata.py",
    "client/tidelog/client/descriptions.py",
    "client/tidelog/client/key_hashes.py",
    "client/tidelog/client/offset_ranges.py",
    "client/tidelog/client/partitioners.py",
    "client/tidelog/client/ranked.py",
    "client/tidelog/client/ready_partitions.py",
    "client/tidelog/client/record_bytes.py",
    "client/tidelog/client/record_fields.py",
    "client/tidelog/client/record_walks.py",
    "client/tidelog/client/records.py",
    "client/tidelog/client/row_partitions.py",
    "client/tidelog/client/sequences.py",
    "client/tidelog/client/serializers.py",
    "client/tidelog/client/table_ranges.py",
    "client/tidelog/client/varints.py",
    "client/tidelog/client/written.py",
    "spark/tidelog/spark/commit_markers.py",
    "spark/tidelog/spark/filters.py",
    "spark/tidelog/spark/option_values.py",
    "spark/tidelog/spark/options.py",
    "spark/tidelog/spark/pipeline/plan.py",
    "spark/tidelog/spark/pipeline/summary.py",
    "spark/tidelog/spark/planner.py",
    "spark/tidelog/spark/range_splits.py",
    "spark/tidelog/spark/sink_options.py",
    "spark/tidelog/spark/sink_rows.py",
    "spark/tidelog/spark/stream_offsets.py",
    "spark/tidelog/spark/stream_options.py",
    "spark/tidelog/spark/stream_planner.py",
    "spark/tidelog/spark/task_results.py",
)
# Cores the architecture names; they count as soon as they exist.
CORES_TO_COME = (
    "broker/tidelog/broker/coordinator/shard.py",
    "broker/tidelog/broker/coordinator/groups.py",
    "broker/tidelog/broker/coordinator/offsets.py",
    "broker/tidelog/broker/coordinator/transactions.py",
)
IMPURE = frozenset(
    {
        *("asyncio", "threading", "time", "random", "os", "socket", "grpc", "pysyncobj", "logging"),
        *("structlog", "concurrent", "multiprocessing", "subprocess", "mmap", "selectors"),
        "signal",
    }
)

# R3: a library lives in few files (product code only).
_SYSTEM = (
    *("core/tidelog/core/system.py", "core/tidelog/core/output_file.py"),
    "core/tidelog/core/page_cache.py",
    "broker/tidelog/broker/rpc/grpc_connections.py",
    *("cli/*", "chaos/tidelog/chaos/socket_stage/*"),
)
_GRPC = ("*/grpc_*.py",)
LIBRARIES: dict[str, tuple[str, ...]] = {
    "grpc": _GRPC,
    "grpc_health": _GRPC,
    "grpc_reflection": _GRPC,
    "pysyncobj": ("raft/tidelog/raft/pysyncobj/*",),
    "time": _SYSTEM,
    "random": _SYSTEM,
    "os": _SYSTEM,
    "pyspark": ("spark/*",),
    "toxiproxy": ("chaos/*",),
    "click": ("cli/*",),
    "rich": ("cli/*",),
}

# R4: who may build these parts. All others get them handed in.
_ROOT_OF_A_NODE = ("broker/tidelog/broker/server.py",)
_ENTRY_POINTS = (
    *("broker/tidelog/broker/process.py", "client/*", "cli/*", "spark/*", "chaos/*"),
    "core/tidelog/core/system.py",
)
BUILDERS: dict[str, tuple[str, ...]] = {
    "ReplicaManager": _ROOT_OF_A_NODE,
    "Quorum": _ROOT_OF_A_NODE,
    "build_replicated_log": (*_ROOT_OF_A_NODE, "chaos/*"),
    "MetadataFollower": _ROOT_OF_A_NODE,
    "Lifecycle": _ROOT_OF_A_NODE,
    "build_node": ("broker/tidelog/broker/process.py", "chaos/*"),
    "SystemClock": _ENTRY_POINTS,
    "SystemDisk": _ENTRY_POINTS,
    "SystemRandom": _ENTRY_POINTS,
}

# R5: ceilings, not aims.
LINE_COLUMNS_MAX, FUNCTION_LINES_MAX, FILE_LINES_MAX = 100, 60, 500

# R6: threads, executors, mapped memory and stable storage have one home.
THREADED = (
    "core/tidelog/core/system.py",
    "core/tidelog/core/workers.py",
    "client/tidelog/client/sync.py",
)
THREAD_LIBRARIES = frozenset({"threading", "_thread", "concurrent", "multiprocessing", "mmap"})
THREAD_CALLS = frozenset({"to_thread", "run_in_executor", "fsync", "fdatasync"})


@dataclass(frozen=True)
class Module:
    """One source file: `path` from the root, and its text."""

    path: str
    text: str

    @property
    def package(self) -> str:
        """The top folder, which is the package's name."""
        return self.path.split("/", 1)[0]

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(ast.parse(self.text)))

    @cached_property
    def imports(self) -> frozenset[str]:
        """Full dotted names, with the names taken from a module: `from a import b` gives `a.b`."""
        return frozenset(name for node in self.nodes for name in self._imported(node))

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = self._absolute(node.module or "", level=node.level)
            yield from (f"{module}.{alias.name}" for alias in node.names)

    def _absolute(self, name: str, *, level: int) -> str:
        if level == 0:
            return name
        folders = self.path.split("/")[1:-level]
        return ".".join([*folders, name] if name else folders)

    def is_in(self, patterns: tuple[str, ...]) -> bool:
        """Whether a shell pattern matches the path; `*` matches slashes too."""
        return any(fnmatch(self.path, pattern) for pattern in patterns)


def package_of(imported: str) -> str | None:
    """The package a dotted name belongs to; None for other people's."""
    parts = imported.split(".")
    if parts[0] != "tidelog" or len(parts) == 1:
        return None
    return "proto" if parts[1] == "v1" else parts[1]


def layer_complaints(module: Module) -> list[str]:
    """R1."""
    allowed = ALLOWED[module.package] | {module.package}
    for folder, fewer in ALLOWED_BELOW.items():
        if module.path.startswith(folder):
            allowed = fewer | {module.package}
    return [
        f"{module.path}: imports {name}; {module.package} may import {sorted(allowed)}"
        for name in sorted(module.imports)
        if package_of(name) not in allowed | {None}
    ]


def core_complaints(module: Module) -> list[str]:
    """R2."""
    if not module.is_in(CORES + CORES_TO_COME):
        return []
    found = [f"imports {name}" for name in module.imports if name.split(".")[0] in IMPURE]
    declared = _declared_by_protocols(module)
    for node in module.nodes:
        if isinstance(node, ast.AsyncFunctionDef) and node not in declared:
            found.append(f"defines async {node.name}")
        elif isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            found.append(f"awaits in line {node.lineno}")
    return [f"{module.path}: a core that {what}" for what in sorted(found)]


def _declared_by_protocols(module: Module) -> set[ast.stmt]:
    """Methods that a Protocol declares: a port says what others do, it does nothing."""
    return {
        statement
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).partition("[")[0] == "Protocol" for base in node.bases)
        for statement in node.body
    }


def library_complaints(module: Module) -> list[str]:
    """R3."""
    used = {name.split(".")[0] for name in module.imports}
    return [
        f"{module.path}: imports {library}, which only {places} may"
        for library, places in LIBRARIES.items()
        if library in used and not module.is_in(places)
    ]


def builder_complaints(module: Module) -> list[str]:
    """R4."""
    called = {_last_name(node.func) for node in module.nodes if isinstance(node, ast.Call)}
    return [
        f"{module.path}: builds {name}, which only {places} may"
        for name, places in BUILDERS.items()
        if name in called and not module.is_in(places)
    ]


def _last_name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def size_complaints(module: Module) -> list[str]:
    """R5."""
    lines = module.text.splitlines()
    found = [
        f"{module.path}:{number}: {len(line)} columns"
        for number, line in enumerate(lines, start=1)
        if len(line) > LINE_COLUMNS_MAX
    ]
    if len(lines) > FILE_LINES_MAX:
        found.append(f"{module.path}: {len(lines)} lines")
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                found.append(f"{module.path}:{node.lineno}: {node.name} has {length} lines")
    return found


def thread_complaints(module: Module) -> list[str]:
    """R6."""
    if module.is_in(THREADED):
        return []
    found = {name for name in module.imports if name.split(".")[0] in THREAD_LIBRARIES}
    found |= {name for name in module.imports if name.rpartition(".")[2] in THREAD_CALLS}
    attributes = {node.attr for node in module.nodes if isinstance(node, ast.Attribute)}
    return [
        f"{module.path}: uses {name}, which only {THREADED} may"
        for name in sorted(found | (attributes & THREAD_CALLS))
    ]


def modules_in(*folders: str) -> list[Module]:
    """Every source file below the folders that a person wrote."""
    return [
        Module(str(path.relative_to(ROOT)), path.read_text())
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.name.endswith(("_pb2.py", "_pb2_grpc.py"))
    ]


PRODUCT = modules_in(*ALLOWED)
EVERYTHING = PRODUCT + modules_in("tests", "tools", "docs/examples")
Rule = Callable[[Module], list[str]]


@pytest.mark.parametrize(
    ("rule", "modules"),
    [
        (layer_complaints, PRODUCT),
        (core_complaints, PRODUCT),
        (library_complaints, PRODUCT),
        (builder_complaints, PRODUCT),
        (size_complaints, EVERYTHING),
        (thread_complaints, PRODUCT),
    ],
    ids=["R1-layers", "R2-cores", "R3-libraries", "R4-graph", "R5-sizes", "R6-threads"],
)
def test_tree_keeps_rule(rule: Rule, modules: list[Module]) -> None:
    complaints = [complaint for module in modules for complaint in rule(module)]
    assert not complaints, "\n".join(["", *complaints])


def test_every_listed_core_exists() -> None:
    missing = [name for name in CORES if not any(module.is_in((name,)) for module in PRODUCT)]
    assert missing == []


def test_every_listed_part_is_defined() -> None:
    definitions = ast.ClassDef | ast.FunctionDef
    defined = {n.name for module in PRODUCT for n in module.nodes if isinstance(n, definitions)}
    assert BUILDERS.keys() - defined == set()


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (layer_complaints, "client/tidelog/client/x.py", "from tidelog.broker import config"),
        (layer_complaints, "client/tidelog/client/x.py", "from tidelog import broker"),
        (layer_complaints, "log/tidelog/log/x.py", "def f():\n    import tidelog.raft.wal"),
        (layer_complaints, "log/tidelog/log/x.py", "from ..raft import wal"),
        (layer_complaints, "proto/tidelog/v1/x.py", "import tidelog.log"),
        (layer_complaints, "chaos/tidelog/chaos/x.py", "import tidelog.cli.main"),
        (layer_complaints, "chaos/tidelog/chaos/workloads/x.py", "import tidelog.broker.server"),
        (core_complaints, "records/tidelog/records/batch.py", "import os.path"),
        (core_complaints, "records/tidelog/records/batch.py", "from asyncio import sleep"),
        (core_complaints, "records/tidelog/records/batch.py", "async def f(): pass"),
        (core_complaints, "broker/tidelog/broker/partition/leader.py", "import time"),
        (core_complaints, "log/tidelog/log/producers.py", "import logging"),
        (library_complaints, "broker/tidelog/broker/rpc/fetch.py", "import grpc.aio"),
        (library_complaints, "raft/tidelog/raft/wal.py", "from pysyncobj import SyncObj"),
        (library_complaints, "broker/tidelog/broker/fetcher.py", "import time"),
        (library_complaints, "client/tidelog/client/arrow.py", "import pyspark"),
        (builder_complaints, "broker/tidelog/broker/fetcher.py", "m = rm.ReplicaManager(x=1)"),
        (builder_complaints, "metadata/tidelog/metadata/quorum.py", "clock = SystemClock()"),
        (size_complaints, "log/tidelog/log/x.py", "x = " + "1" * LINE_COLUMNS_MAX),
        (size_complaints, "log/tidelog/log/x.py", LONG_FUNCTION),
        (size_complaints, "log/tidelog/log/x.py", "x = 1\n" * (FILE_LINES_MAX + 1)),
        (thread_complaints, "raft/tidelog/raft/wal.py", "from concurrent import futures"),
        (thread_complaints, "raft/tidelog/raft/wal.py", "asyncio.to_thread(f)"),
        (thread_complaints, "raft/tidelog/raft/wal.py", "from asyncio import to_thread"),
        (thread_complaints, "cli/tidelog/cli/x.py", "import os\nos.fsync(1)"),
    ],
)
def test_rule_finds_the_counterexample(rule: Rule, path: str, text: str) -> None:
    assert len(rule(Module(path, text))) == 1


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (layer_complaints, "client/tidelog/client/x.py", "from tidelog.v1 import data_pb2"),
        (layer_complaints, "client/tidelog/client/x.py", "from . import errors"),
        (layer_complaints, "chaos/tidelog/chaos/x.py", "import tidelog.broker.server"),
        (core_complaints, "log/tidelog/log/partition_log.py", "import asyncio"),
        (
            core_complaints,
            "raft/tidelog/raft/replicated_log.py",
            'class Port(Protocol):\n    async def f(self) -> None:\n        """Does f."""',
        ),
        (library_complaints, "raft/tidelog/raft/grpc_transport.py", "import grpc"),
        (library_complaints, "core/tidelog/core/system.py", "import os, time, random"),
        (builder_complaints, "broker/tidelog/broker/server.py", "Quorum(log=log)"),
        (size_complaints, "log/tidelog/log/x.py", "x = 1\n" * FILE_LINES_MAX),
        (thread_complaints, "core/tidelog/core/system.py", "import threading, mmap"),
    ],
)
def test_rule_lets_what_is_right_pass(rule: Rule, path: str, text: str) -> None:
    assert rule(Module(path, text)) == []
