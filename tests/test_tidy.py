"""The layers and rules R1 to R9 of docs/ARCHITECTURE.md, read from the source with `ast`.

R7, on words, is in `test_tidy_words`.

Every rule is a function from a module to complaints: applied to the whole tree, and shown to bite
on small counterexamples. Nothing here imports the code it reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Written by tools: mypy reads them, no other rule does.
GENERATED = ("*_pb2.py", "*_pb2_grpc.py", "proto/tidelog/kafka/messages/*.py")

# R1: who may import whom. Position in the picture is no permission.
_FLOOR = frozenset({"proto", "core", "records", "net"})
_STORAGE = _FLOOR | {"log"}
_CONTROLLER = _STORAGE | {"raft", "metadata"}
_NODE = _CONTROLLER | {"broker", "node"}
ALLOWED: dict[str, frozenset[str]] = {
    "proto": frozenset(),
    "core": frozenset({"proto"}),
    "records": frozenset({"core"}),
    "net": frozenset({"proto", "core"}),
    "log": _FLOOR - {"net"},
    "raft": _STORAGE,
    "metadata": _STORAGE | {"raft"},
    "broker": _CONTROLLER,
    "node": _CONTROLLER | {"broker"},
    "client": _FLOOR,
    "history": frozenset({"core"}),
    "chaos": _NODE | {"client", "history"},
    "simulation": _NODE | {"client", "history", "chaos"},
    "spark": _FLOOR | {"client"},
    "benchmarks": _NODE | {"client"},
    "demo": _FLOOR | {"client", "spark"},
    "testing": _NODE | {"client", "history", "chaos", "simulation"},
    "cli": _NODE | {"client", "history", "chaos", "simulation", "spark", "benchmarks", "demo"},
}
# What a folder may import instead of what its package may.
ALLOWED_BELOW = {
    "chaos/tidelog/chaos/workloads/": _STORAGE | {"client", "history"},
    "node/tidelog/node/http_produce/": _FLOOR | {"client"},
}

# R2: modules that decide say so in a line, hold no await and none of these libraries.
PURE = "\n# Pure: decides, never acts (rule R2).\n"
PURE_ROOMS = (
    "broker/tidelog/broker/replica/",
    "chaos/tidelog/chaos/invariants/",
    "history/tidelog/history/checks/",
)
PURE_MODULES_MIN = 140
LOGS = "tidelog.core.logs"
IMPURE = frozenset(
    {
        *("asyncio", "threading", "time", "random", "os", "socket", "grpc", "pysyncobj", "logging"),
        *("structlog", "concurrent", "multiprocessing", "subprocess", "mmap", "selectors"),
        "signal",
    }
)

# First pages that export names; all others are prose alone.
PUBLIC_PAGES = ("client/*", "spark/*", "testing/*", "raft/tidelog/raft/pysyncobj/__init__.py")

# R3: a library lives in few files (product code only).
_SYSTEM = (
    *("core/tidelog/core/system.py", "core/tidelog/core/output_file.py"),
    "core/tidelog/core/page_cache.py",
    "net/tidelog/net/grpc_connections.py",
    *("core/tidelog/core/provenance.py", "net/tidelog/net/quiet_ports.py"),
    *("cli/*", "benchmarks/*", "demo/*", "node/tidelog/node/local_cluster/*"),
    *("chaos/tidelog/chaos/sockets/*", "testing/tidelog/testing/sim/surroundings.py"),
)
# A socket is found, dialled or bound here; what it carries is decided behind the ports of `net`.
_SOCKETS = (
    *("net/tidelog/net/tcp_server.py", "net/tidelog/net/grpc_connections.py"),
    *("net/tidelog/net/grpc_dial.py", "net/tidelog/net/quiet_ports.py"),
    *("node/tidelog/node/local_cluster/*", "chaos/tidelog/chaos/sockets/*"),
    "testing/tidelog/testing/sim/surroundings.py",  # refuses it in a simulated test
)
_GRPC = ("net/tidelog/net/grpc_*.py", "chaos/*/grpc_*.py")
LIBRARIES: dict[str, tuple[str, ...]] = {
    "grpc": _GRPC,
    "grpc_health": _GRPC,
    "grpc_reflection": _GRPC,
    "pysyncobj": ("raft/tidelog/raft/pysyncobj/*",),
    "time": _SYSTEM,
    "random": _SYSTEM,
    "os": _SYSTEM,
    "socket": _SOCKETS,
    "pyspark": ("spark/*", "demo/*"),
    "toxiproxy": ("chaos/*",),
    "aiokafka": ("chaos/tidelog/chaos/kafka_clients/*",),
    "click": ("cli/*",),
    "rich": ("cli/*", "benchmarks/*", "demo/*"),
}

# R4: who may build these parts. All others get them handed in.
_ROOT_OF_A_NODE = ("node/tidelog/node/server.py", "node/tidelog/node/quorum.py")
_ENTRY_POINTS = (
    *("node/tidelog/node/process.py", "node/tidelog/node/served_node.py", "client/*", "cli/*"),
    *("spark/*", "chaos/*", "simulation/*", "testing/*"),
    *("benchmarks/*", "demo/*", "node/tidelog/node/local_cluster/*"),
    "core/tidelog/core/system.py",
)
BUILDERS: dict[str, tuple[str, ...]] = {
    "ReplicaManager": _ROOT_OF_A_NODE,
    "QuorumController": _ROOT_OF_A_NODE,
    "build_replicated_log": (*_ROOT_OF_A_NODE, "simulation/*"),
    "MetadataFollower": _ROOT_OF_A_NODE,
    "Lifecycle": _ROOT_OF_A_NODE,
    "build_node": ("node/tidelog/node/served_node.py", "simulation/*"),
    "SystemClock": _ENTRY_POINTS,
    "SystemDisk": _ENTRY_POINTS,
    "SystemRandom": _ENTRY_POINTS,
}
# Constructors of gRPC: one module makes channels, one makes servers. The faults make bad ones.
GRPC_BUILDERS: dict[str, tuple[str, ...]] = {
    "insecure_channel": (
        "net/tidelog/net/grpc_channels.py",
        "chaos/tidelog/chaos/sockets/grpc_*.py",
    ),
    "add_insecure_port": ("net/tidelog/net/grpc_server.py",),
}

# R5: ceilings, not aims.
LINE_COLUMNS_MAX, FUNCTION_LINES_MAX, FILE_LINES_MAX = 100, 60, 500

# R8: a constructor takes a few parts; the options of a public client are Kafka's, one by one.
PARAMETERS_MAX = 8
PUBLIC_CLIENTS = frozenset({"Producer", "Consumer", "Admin", "TableWriter"})

# R6: threads, executors, mapped memory and stable storage have one home.
THREADED = (
    "core/tidelog/core/system.py",
    "core/tidelog/core/workers.py",
    "testing/tidelog/testing/sim/surroundings.py",  # refuses them in a simulated test
    "testing/tidelog/testing/shared_loop.py",  # taken and given back on any thread of a test
    "client/tidelog/client/loop_thread.py",
    "client/tidelog/client/sync.py",
)
THREAD_LIBRARIES = frozenset({"threading", "_thread", "concurrent", "multiprocessing", "mmap"})
THREAD_CALLS = frozenset({"to_thread", "run_in_executor", "fsync", "fdatasync"})

# R9: the broker serves plain requests (decision 0044); a follower is a client of gRPC.
DATA_MESSAGE = re.compile(r"tidelog\.v1\.data_pb2(\.\w*(Produce(?!r)|Fetch|Forgotten)\w*)?")
CLIENTS_OF_BROKERS = (
    "broker/tidelog/broker/partition/follower_io.py",
    "broker/tidelog/broker/replication/fetcher.py",
)


@dataclass(frozen=True)
class Module:
    """One source file: `path` from the root, and its text."""

    path: str
    text: str

    @property
    def package(self) -> str:
        """The top folder, which is the package's name."""
        return self.path.split("/", 1)[0]

    @property
    def is_first_page(self) -> bool:
        return self.path.endswith("/__init__.py")

    @property
    def name(self) -> str:
        """As it is imported."""
        inner = self.path.split("/", 1)[1].removesuffix(".py").removesuffix("/__init__")
        return inner.replace("/", ".")

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
    return "proto" if parts[1] in ("v1", "kafka") else parts[1]


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
    if PURE not in module.text:
        return []
    found = [
        f"imports {name}"
        for name in module.imports
        if name.split(".")[0] in IMPURE or name.startswith(LOGS)
    ]
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
        for name, places in (BUILDERS | GRPC_BUILDERS).items()
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


def constructor_complaints(module: Module) -> list[str]:
    """R8."""
    found = []
    for made in (node for node in module.nodes if isinstance(node, ast.ClassDef)):
        for method in made.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                named = method.args
                count = len(named.posonlyargs) + len(named.args) + len(named.kwonlyargs) - 1
                if count > PARAMETERS_MAX and made.name not in PUBLIC_CLIENTS:
                    found.append(f"{module.path}: {made.name} takes {count} parameters")
    return found


def message_complaints(module: Module) -> list[str]:
    """R9."""
    if module.package != "broker" or module.is_in(CLIENTS_OF_BROKERS):
        return []
    return [
        f"{module.path}: imports {name}, a message of one protocol: codecs decode it"
        for name in sorted(module.imports)
        if DATA_MESSAGE.fullmatch(name)
    ]


def modules_in(*folders: str) -> list[Module]:
    """Every source file below the folders that a person wrote."""
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    modules = [Module(str(path.relative_to(ROOT)), path.read_text()) for path in files]
    return [module for module in modules if not module.is_in(GENERATED)]


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
        (constructor_complaints, PRODUCT),
        (message_complaints, PRODUCT),
    ],
    ids=[
        "R1-layers",
        "R2-cores",
        "R3-libraries",
        "R4-graph",
        "R5-sizes",
        "R6-threads",
        "R8-constructors",
        "R9-messages",
    ],
)
def test_tree_keeps_rule(rule: Rule, modules: list[Module]) -> None:
    complaints = [complaint for module in modules for complaint in rule(module)]
    assert not complaints, "\n".join(["", *complaints])


def test_pure_modules_do_not_lose_their_mark() -> None:
    pure = [module for module in PRODUCT if PURE in module.text]
    rooms = [m for m in PRODUCT if m.path.startswith(PURE_ROOMS) and not m.is_first_page]
    assert [module.path for module in rooms if module not in pure] == []
    assert len(pure) >= PURE_MODULES_MIN


def test_every_room_has_a_first_page() -> None:
    folders = {module.path.rpartition("/")[0] for module in PRODUCT if module.package != "proto"}
    pages = {m.path.rpartition("/")[0]: m for m in PRODUCT if m.is_first_page}
    assert sorted(folders - pages.keys()) == []
    assert [m.path for m in pages.values() if not ast.get_docstring(ast.parse(m.text))] == []
    private = [m.path for m in pages.values() if m.imports and not m.is_in(PUBLIC_PAGES)]
    assert private == []


def test_every_listed_part_is_defined() -> None:
    definitions = ast.ClassDef | ast.FunctionDef
    defined = {n.name for module in PRODUCT for n in module.nodes if isinstance(n, definitions)}
    assert BUILDERS.keys() - defined == set()


READER = "broker/tidelog/broker/partition/reader.py"
GREEDY = "class C:\n    def __init__(self, " + ", ".join("abcdefghi") + "): ..."
LONG_FUNCTION = "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (layer_complaints, "client/tidelog/client/x.py", "from tidelog.broker import config"),
        (layer_complaints, "client/tidelog/client/x.py", "from tidelog import broker"),
        (layer_complaints, "log/tidelog/log/x.py", "def f():\n    import tidelog.raft.wal"),
        (layer_complaints, "log/tidelog/log/x.py", "from ..raft import wal"),
        (layer_complaints, "proto/tidelog/v1/x.py", "import tidelog.log"),
        (layer_complaints, "proto/tidelog/kafka/x.py", "from tidelog.core import errors"),
        (layer_complaints, "chaos/tidelog/chaos/x.py", "import tidelog.cli.main"),
        (layer_complaints, "chaos/tidelog/chaos/workloads/x.py", "import tidelog.node.server"),
        (core_complaints, "records/tidelog/records/batch.py", PURE + "import os.path"),
        (core_complaints, "records/tidelog/records/batch.py", PURE + "from asyncio import sleep"),
        (core_complaints, "records/tidelog/records/batch.py", PURE + "async def f(): pass"),
        (core_complaints, "broker/tidelog/broker/replica/leader.py", PURE + "import time"),
        (core_complaints, "log/tidelog/log/producers.py", PURE + "import logging"),
        (library_complaints, "broker/tidelog/broker/rpc/fetch.py", "import grpc.aio"),
        (library_complaints, "raft/tidelog/raft/grpc_transport.py", "import grpc"),
        (library_complaints, "raft/tidelog/raft/wal.py", "from pysyncobj import SyncObj"),
        (library_complaints, "broker/tidelog/broker/replication/fetcher.py", "import time"),
        (library_complaints, "client/tidelog/client/arrow.py", "import pyspark"),
        (library_complaints, "broker/tidelog/broker/kafka/server.py", "import socket"),
        (library_complaints, "node/tidelog/node/process.py", "from socket import create_server"),
        (
            builder_complaints,
            "broker/tidelog/broker/replication/fetcher.py",
            "m = rm.ReplicaManager(x=1)",
        ),
        (
            builder_complaints,
            "metadata/tidelog/metadata/quorum_controller.py",
            "clock = SystemClock()",
        ),
        (builder_complaints, "net/tidelog/net/grpc_dial.py", 'grpc.aio.insecure_channel("")'),
        (builder_complaints, "node/tidelog/node/process.py", 's.add_insecure_port("")'),
        (size_complaints, "log/tidelog/log/x.py", "x = " + "1" * LINE_COLUMNS_MAX),
        (size_complaints, "log/tidelog/log/x.py", LONG_FUNCTION),
        (constructor_complaints, "log/tidelog/log/x.py", GREEDY),
        (size_complaints, "log/tidelog/log/x.py", "x = 1\n" * (FILE_LINES_MAX + 1)),
        (thread_complaints, "raft/tidelog/raft/wal.py", "from concurrent import futures"),
        (thread_complaints, "raft/tidelog/raft/wal.py", "asyncio.to_thread(f)"),
        (thread_complaints, "raft/tidelog/raft/wal.py", "from asyncio import to_thread"),
        (thread_complaints, "cli/tidelog/cli/x.py", "import os\nos.fsync(1)"),
        (message_complaints, "broker/tidelog/broker/x.py", "from tidelog.v1 import data_pb2"),
        (message_complaints, READER, "from tidelog.v1.data_pb2 import PartitionFetchResult"),
        (message_complaints, READER, "from tidelog.v1.data_pb2 import ProduceRequest"),
        (message_complaints, READER, "import tidelog.v1.data_pb2"),
    ],
)
def test_rule_finds_the_counterexample(rule: Rule, path: str, text: str) -> None:
    assert len(rule(Module(path, text))) == 1


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (layer_complaints, "client/tidelog/client/x.py", "from tidelog.v1 import data_pb2"),
        (layer_complaints, "client/tidelog/client/x.py", "from . import errors"),
        (layer_complaints, "broker/tidelog/broker/x.py", "from tidelog.kafka import message"),
        (layer_complaints, "chaos/tidelog/chaos/x.py", "import tidelog.node.server"),
        (core_complaints, "log/tidelog/log/partition_log.py", "import asyncio"),
        (
            core_complaints,
            "raft/tidelog/raft/replicated_log.py",
            'class Port(Protocol):\n    async def f(self) -> None:\n        """Does f."""',
        ),
        (library_complaints, "net/tidelog/net/grpc_streams.py", "import grpc"),
        (library_complaints, "core/tidelog/core/system.py", "import os, time, random"),
        (library_complaints, "net/tidelog/net/tcp_server.py", "import socket"),
        (builder_complaints, "node/tidelog/node/server.py", "QuorumController(log=log)"),
        (size_complaints, "log/tidelog/log/x.py", "x = 1\n" * FILE_LINES_MAX),
        (thread_complaints, "core/tidelog/core/system.py", "import threading, mmap"),
        (message_complaints, READER, "from tidelog.v1.data_pb2 import ListOffsetsRequest"),
        (message_complaints, READER, "from tidelog.v1.data_pb2 import InitProducerIdRequest"),
        (message_complaints, CLIENTS_OF_BROKERS[0], "from tidelog.v1.data_pb2 import FetchRequest"),
        (message_complaints, "node/tidelog/node/x.py", "from tidelog.v1 import data_pb2"),
    ],
)
def test_rule_lets_what_is_right_pass(rule: Rule, path: str, text: str) -> None:
    assert rule(Module(path, text)) == []
