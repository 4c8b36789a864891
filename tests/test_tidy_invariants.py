"""No handler swallows a broken invariant, which ends the node: read from the source with `ast`.

`InvariantError` is no `TidelogError`, so only a handler of all errors, or one that names it, can
keep it from the top of its task or the edge of its protocol. Each of them raises it again, or
stands below with the reason why nothing of a node is behind it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_tidy import PRODUCT, Module
from tidelog.core.errors import InvariantError, TidelogError

ALL_ERRORS = frozenset({"Exception", "BaseException", "ExceptionGroup", "BaseExceptionGroup"})
BROKEN = "InvariantError"
OF_INTEREST = re.compile(
    r"Exception|except\s*:|InvariantError|return_exceptions|create_task|ensure_future"
)
READ = [module for module in PRODUCT if OF_INTEREST.search(module.text)]
"""Modules that may have what the rules look for; the others are not parsed."""

_TOP = "a top that ends the node, or hands the error to what does"
_CALLERS = "the error is the caller's: of the one who awaits, or of the test"
_APPLICATION = "the application's code is called, in its own process"
_USERS_ASSIGNOR = "a user's class is called, and nothing of the node"
_RUN = "a run's outcome, whatever it is: judged by the run, and no node's"
_PARSER = "a library's parser, whose errors have no common class"

MAY_CATCH_ALL = {
    "core/tidelog/core/background.py": _TOP,
    "raft/tidelog/raft/driver.py": _TOP,
    "simulation/tidelog/simulation/engine/exchange.py": _TOP,
    "broker/tidelog/broker/coordinator/assignors/catalogue.py": _USERS_ASSIGNOR,
    "broker/tidelog/broker/coordinator/assignors/validated.py": _USERS_ASSIGNOR,
    "broker/tidelog/broker/coordinator/runtime.py": _CALLERS,
    "client/tidelog/client/consuming/consumer_interceptors.py": _APPLICATION,
    "client/tidelog/client/consuming/deserializers.py": _APPLICATION,
    "client/tidelog/client/producing/partitioners.py": _APPLICATION,
    "client/tidelog/client/producing/producer_interceptors.py": _APPLICATION,
    "client/tidelog/client/producing/serializers.py": _APPLICATION,
    "client/tidelog/client/consuming/group_reader.py": _CALLERS,
    "cli/tidelog/cli/main.py": _CALLERS,
    "testing/tidelog/testing/cluster_nodes.py": _CALLERS,
    "testing/tidelog/testing/sim/guest_loop.py": _CALLERS,
    "testing/tidelog/testing/sim/processes.py": _CALLERS,
    "testing/tidelog/testing/sim/seed_run.py": _RUN,
    "benchmarks/tidelog/benchmarks/worker.py": _RUN,
    "chaos/tidelog/chaos/faults/storm.py": _RUN,
    "chaos/tidelog/chaos/sockets/story_limits.py": _RUN,
    "simulation/tidelog/simulation/cluster/seed_run.py": _RUN,
    "simulation/tidelog/simulation/groups/seed_run.py": _RUN,
    "simulation/tidelog/simulation/raft/simulation.py": _RUN,
    "simulation/tidelog/simulation/engine/loop.py": "the dead may say anything",
    "spark/tidelog/spark/pipeline/frames.py": _PARSER,
}
MAY_ANSWER_IT = {
    "net/tidelog/net/grpc_edge.py": _TOP,
    "broker/tidelog/broker/kafka/peer.py": _TOP,
    "node/tidelog/node/process.py": _TOP,
    "raft/tidelog/raft/wal.py": "a record of a file that breaks a rule of the log is a damaged one",
}
MAY_DROP_OUTCOMES = {
    "raft/tidelog/raft/syncing.py": "its task has failed or stops, and says so itself",
    "raft/tidelog/raft/snapshotting.py": "as in syncing",
    "client/tidelog/client/loop_thread.py": "cancelled at the end of the loop, in a client",
}

# Tasks of a node that no `Background` owns: each has a reader of its outcome.
_NODE_ROOMS = ("core", "net", "log", "raft", "metadata", "broker", "node")
OWNERS = {
    "core/tidelog/core/background.py": "Background itself",
    "core/tidelog/core/system.py": "whoever asked for the disk's work awaits it",
    "net/tidelog/net/grpc_server.py": "it calls nothing of the node",
    "net/tidelog/net/grpc_transport.py": "it calls nothing of the node",
    "raft/tidelog/raft/driver.py": "its last handler ends the node",
    "raft/tidelog/raft/syncing.py": "the raft task takes its result",
    "raft/tidelog/raft/snapshotting.py": "the raft task takes its result",
    "raft/tidelog/raft/peer_link.py": "the link takes its result",
    "raft/tidelog/raft/stream_transport.py": "report_failure",
    "metadata/tidelog/metadata/failure_detector.py": "report_failure",
    "broker/tidelog/broker/kafka/peer.py": "the edge of Kafka's protocol",
    "broker/tidelog/broker/partition/appender.py": "gathered by its request",
    "broker/tidelog/broker/replication/fetch_session.py": "its request takes the result",
    "broker/tidelog/broker/replication/fetcher.py": "its stream raises the failure",
    "node/tidelog/node/handlers/group_stream.py": "its call takes the result",
    "node/tidelog/node/handlers/produce_stream.py": "its call takes the results",
    "node/tidelog/node/http.py": "it calls nothing of the node",
    "node/tidelog/node/process.py": "the files of the log alone",
}


def _names(node: ast.expr | None) -> frozenset[str]:
    """Last names of the classes that a handler catches; every error where it names none."""
    if node is None:
        return ALL_ERRORS
    classes = node.elts if isinstance(node, ast.Tuple) else [node]
    return frozenset(ast.unparse(one).rpartition(".")[2] for one in classes)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _swallowing(node: ast.AST) -> Iterator[tuple[int, bool]]:
    """Line of each handler of a `try` that keeps a broken invariant; whether it names it."""
    if not isinstance(node, ast.Try | ast.TryStar):
        return
    for handler in node.handlers:
        names = _names(handler.type)
        if not names & (ALL_ERRORS | {BROKEN}):
            continue
        if not _raises_again(handler):
            yield handler.lineno, BROKEN in names
        if BROKEN in names or not names.isdisjoint({"Exception", "BaseException"}):
            return  # later handlers get none


def swallow_complaints(module: Module) -> list[str]:
    found = []
    for node in module.nodes:
        for line, is_named in _swallowing(node):
            allowed = MAY_ANSWER_IT if is_named else MAY_CATCH_ALL
            if module.path not in allowed:
                found.append(f"{module.path}:{line}: keeps a broken invariant from ending the node")
    return found


def dropped_complaints(module: Module) -> list[str]:
    """`suppress` of all errors, and outcomes of several tasks of which nobody reads the errors."""
    if module.package not in (*_NODE_ROOMS, "client"):
        return []
    found = []
    for node in module.nodes:
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        of_all = frozenset().union(*(_names(one) for one in node.args))
        is_suppressed = called == "suppress" and of_all & (ALL_ERRORS | {BROKEN})
        is_gathered = any(one.arg == "return_exceptions" for one in node.keywords)
        if (is_suppressed or is_gathered) and module.path not in MAY_DROP_OUTCOMES:
            found.append(f"{module.path}:{node.lineno}: drops a broken invariant")
    return found


def owner_complaints(module: Module) -> list[str]:
    if module.package not in _NODE_ROOMS or module.path in OWNERS:
        return []
    return [
        f"{module.path}:{node.lineno}: a task that no Background owns: spawn it there"
        for node in module.nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("create_task", "ensure_future")
    ]


def test_a_broken_invariant_is_no_error_that_handlers_answer() -> None:
    assert not issubclass(InvariantError, TidelogError)


@pytest.mark.parametrize("rule", [swallow_complaints, dropped_complaints, owner_complaints])
def test_no_handler_keeps_a_broken_invariant(rule: object) -> None:
    assert callable(rule)
    complaints = [complaint for module in READ for complaint in rule(module)]
    assert not complaints, "\n".join(["", *complaints])


def test_every_reason_has_its_place() -> None:
    found = {module.path: module for module in READ}
    listed = {*MAY_CATCH_ALL, *MAY_ANSWER_IT, *MAY_DROP_OUTCOMES, *OWNERS}
    assert sorted(listed - found.keys()) == []
    kept = {
        path for path, module in found.items() for node in module.nodes if any(_swallowing(node))
    }
    assert sorted({*MAY_CATCH_ALL, *MAY_ANSWER_IT} - kept) == []


BROKER = "broker/tidelog/broker/x.py"


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept: pass",
        "try: f()\nexcept BaseException as error: g(error)",
        "try: f()\nexcept (OSError, Exception): pass",
        "try: f()\nexcept InvariantError: pass",
        "try: f()\nexcept errors.InvariantError as error: raise ValueError from error",
        "try: f()\nexcept (ValueError, InvariantError): pass\nexcept Exception: pass",
        "try: f()\nexcept* ExceptionGroup: pass",
        "with suppress(Exception): f()",
        "with contextlib.suppress(ValueError, InvariantError): f()",
        "gather(a, b, return_exceptions=True)",
        "asyncio.create_task(f())",
        "loop.create_task(f())",
    ],
)
def test_the_rules_bite(text: str) -> None:
    module = Module(BROKER, text)
    assert [*swallow_complaints(module), *dropped_complaints(module), *owner_complaints(module)]


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept TidelogError: pass",
        "try: f()\nexcept InvariantError: raise\nexcept Exception: pass",
        "try: f()\nexcept BaseException:\n    g()\n    raise",
        "with suppress(TidelogError): f()",
        "background.spawn('name', f())",
    ],
)
def test_the_rules_leave_others_alone(text: str) -> None:
    module = Module(BROKER, text)
    assert not swallow_complaints(module)
    assert not dropped_complaints(module)
    assert not owner_complaints(module)
