"""The examples use the whole public client: a name, method or option that they lack fails here.

By the examples' own rule, which makes this exact: an object of a class is called by the class's
name in small letters, `producer.send`. `make check` types them strictly, with mypy and pyright;
`tests/integration/test_examples.py` runs them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog.client
from tidelog.client import errors, sync
from tidelog.core.errors import KAFKA_ERRORS

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
ASYNC = tuple(
    EXAMPLES / f"{name}.py" for name in ("whole_client", "whole_group", "whole_transactions")
)
SYNC = EXAMPLES / "whole_sync_client.py"
CLASSES = {
    "producer": tidelog.client.Producer,
    "consumer": tidelog.client.Consumer,
    "admin": tidelog.client.Admin,
    "batch": tidelog.client.RecordBatch,
}
FACES = {"producer": sync.Producer, "consumer": sync.Consumer, "admin": sync.Admin}
PORTS = {"transport", "clock", "random"}
"""For simulations, not for programs."""


class Uses(ast.NodeVisitor):
    """What a program uses of names it gave to objects: {"producer.send": {"key", …}}."""

    def __init__(self, program: str) -> None:
        self.names: set[str] = set()
        self.members: set[str] = set()
        self.keywords: dict[str, set[str]] = {}
        self.visit(ast.parse(program))

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.members.add(ast.unparse(node))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        given = {keyword.arg for keyword in node.keywords if keyword.arg}
        self.keywords.setdefault(ast.unparse(node.func), set()).update(given)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self.members.add(f"{ast.unparse(node.iter)}.__iter__")
        self.generic_visit(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> None:
        self.members.add(f"{ast.unparse(node.iter)}.__aiter__")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.members.add(f"{ast.unparse(node.iter)}.__iter__")
        self.generic_visit(node)


def uses_of(*paths: Path) -> Uses:
    return Uses("\n".join(path.read_text() for path in paths))


def public_members(cls: type) -> set[str]:
    iterations = {"__iter__", "__aiter__"}
    return {name for name in members_of(cls) if not name.startswith("_") or name in iterations}


def members_of(cls: type) -> dict[str, object]:
    """Members of a class and of its bases in this project."""
    parts = [part for part in reversed(cls.__mro__) if part.__module__.startswith("tidelog.")]
    return {name: member for part in parts for name, member in vars(part).items()}


def options(function: Callable[..., object]) -> set[str]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name for one in parameters if one.kind is one.KEYWORD_ONLY} - PORTS


def missing(uses: Uses, classes: dict[str, type], *, with_options: bool) -> set[str]:
    """Members, and options of methods and constructors, that a program does not use."""
    wanted = {f"{name}.{member}" for name, cls in classes.items() for member in public_members(cls)}
    lacking = wanted - uses.members
    for name, cls in classes.items() if with_options else ():
        called = {f"{name}.{one}": members_of(cls)[one] for one in public_members(cls)}
        methods: dict[str, Callable[..., object]]
        methods = {one: method for one, method in called.items() if inspect.isfunction(method)}
        if cls is not tidelog.client.RecordBatch:  # which only consumers make
            methods[cls.__name__] = cls
        for one, method in methods.items():
            lacking |= {f"{one}({o}=)" for o in options(method) - uses.keywords.get(one, set())}
    return lacking


def test_asyncio_example_uses_every_name_but_those_of_errors() -> None:
    names = set(tidelog.client.__all__) - set(errors.__all__)
    assert names - uses_of(*ASYNC).names == set()


def test_asyncio_example_uses_every_method_and_option() -> None:
    assert missing(uses_of(*ASYNC), CLASSES, with_options=True) == set()


def test_asyncio_example_meets_every_error_but_those_of_single_codes() -> None:
    codes = {cls.__name__ for cls in KAFKA_ERRORS.values()}
    own = {f"errors.{name}" for name in set(errors.__all__) - codes}
    assert len(own) > 10
    assert own - uses_of(*ASYNC).members == set()


def test_synchronous_example_uses_every_name_and_method() -> None:
    uses = uses_of(SYNC)
    assert set(sync.__all__) - uses.names == set()
    # The options are those of the asyncio classes: `test_sync.py` holds that.
    assert missing(uses, FACES, with_options=False) == set()


@pytest.mark.parametrize("path", [*ASYNC, SYNC], ids=lambda path: path.stem)
def test_examples_are_typed_strictly(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("# pyright: strict\n")
    assert "type: ignore" not in text
    assert "Any" not in uses_of(path).names
    makefile = (EXAMPLES.parents[1] / "Makefile").read_text()
    check = makefile.partition("\ncheck: ")[2].partition("\n\n")[0]
    assert "basedpyright docs/examples" in check


@pytest.mark.parametrize(
    ("cut", "found"),
    [
        ("await producer.flush()", "producer.flush"),
        ("linger_ms=5,", "Producer(linger_ms=)"),
        ("consumer.resume(partitions[0])", "consumer.resume"),
        (", hold_ms=1", "admin.prepare_stop(hold_ms=)"),
        ("{batch.leader_epoch}", "batch.leader_epoch"),
    ],
)
def test_what_an_example_lacks_is_named(cut: str, found: str) -> None:
    program = "\n".join(path.read_text() for path in ASYNC)
    assert cut in program
    uses = Uses(program.replace(cut, "pass" if cut[0].isalpha() and "=" not in cut else ""))
    assert missing(uses, CLASSES, with_options=True) == {found}
