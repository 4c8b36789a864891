"""Rule R7 of docs/ARCHITECTURE.md: docstrings, comments and names are in plain words."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.test_tidy import ALLOWED, EVERYTHING, Module

# Docstrings begin with a noun phrase or a verb, and names are the field's; tests are free.
ROOMS_IN_PLAIN_ENGLISH = frozenset({*ALLOWED, "tools", "docs"})
ELLIPTIC_START = re.compile(r"(What|One|Of|Who|Where|All|Whether|How)\b")
UNIDIOMATIC = re.compile(r"\b(anew|whoever)\b", re.IGNORECASE)
WORD_OF_A_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Each had several meanings; docs/concepts/glossary.md has the one word for each of them.
REFUSED_IN_NAMES = frozenset(
    {
        *("anew", "whoever", "tell", "tells", "telling", "told", "untold"),
        *("ground", "scene", "scenes", "setting", "sight", "sights", "sitting", "sittings"),
        *("stage", "stages", "world", "worlds"),
    }
)


def complaints(module: Module) -> list[str]:
    """Lines of a module of the product, with the word or the name that is to be another."""
    if module.package not in ROOMS_IN_PLAIN_ENGLISH:
        return []
    docs = [
        (node.lineno, node.value.value)
        for node in module.nodes
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    comments = [(one.start[0], one.string) for one in tokens if one.type == tokenize.COMMENT]
    found = [(line, start[0]) for line, text in docs if (start := ELLIPTIC_START.match(text))]
    found += [(line, word) for line, text in docs + comments for word in UNIDIOMATIC.findall(text)]
    found += [(line, name) for line, name in _defined(module) if _words(name) & REFUSED_IN_NAMES]
    return [f"{module.path}:{line}: words: {word!r}" for line, word in sorted(found)]


def _words(name: str) -> set[str]:
    return {word.lower() for word in WORD_OF_A_NAME.findall(name)}


def _defined(module: Module) -> Iterator[tuple[int, str]]:
    """Lines and names: the module, its classes, functions, attributes, parameters, variables."""
    yield 1, module.name
    for node in module.nodes:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def test_the_tree_is_in_plain_words() -> None:
    found = [complaint for module in EVERYTHING for complaint in complaints(module)]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("log/tidelog/log/x.py", '"""What a log does."""'),
        ("raft/tidelog/raft/x.py", 'class A:\n    """Of one node."""'),
        ("net/tidelog/net/x.py", 'x = 1\n"""Where it\nis."""'),
        ("broker/tidelog/broker/x.py", "# The log is opened anew.\nx = 1"),
        ("records/tidelog/records/x.py", '"""Records, for whoever reads."""'),
        ("client/tidelog/client/x.py", '"""Whether it is open."""'),
        ("tools/x.py", '"""All of it."""'),
        ("log/tidelog/log/open_anew.py", "x = 1"),
        ("log/tidelog/log/x.py", "class StartAnew:\n    offset: int"),
        ("log/tidelog/log/x.py", "async def start_anew(): ..."),
        ("log/tidelog/log/x.py", "class Start:\n    anew_from: int = 0"),
        ("log/tidelog/log/x.py", "def f(self):\n    self._is_anew = True"),
        ("broker/tidelog/broker/x.py", "def f(self, told): ..."),
        ("broker/tidelog/broker/x.py", "NOTHING_TOLD = -1"),
        ("broker/tidelog/broker/x.py", "def _tell_refusal(): ..."),
        ("chaos/tidelog/chaos/x.py", "class DiskScene: ..."),
        ("chaos/tidelog/chaos/x.py", "def f(world): ..."),
        ("simulation/tidelog/simulation/x.py", "class WorldConfig: ..."),
        ("benchmarks/tidelog/benchmarks/sitting.py", "x = 1"),
        ("benchmarks/tidelog/benchmarks/x.py", "stage = 1"),
    ],
)
def test_rule_finds_the_counterexample(path: str, text: str) -> None:
    assert len(complaints(Module(path, text))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("log/tidelog/log/x.py", '"""Offsets of one log."""\nx = "What?"'),
        ("log/tidelog/log/x.py", '"""Allocation of a renewed log."""'),
        ("log/tidelog/log/x.py", "def is_a_new_log(): ..."),
        ("log/tidelog/log/x.py", "scenario = background = settings = file.tell()"),
        ("tests/client/x.py", '"""What a client does anew."""'),
        ("tests/client/x.py", "def start_anew(): ..."),
    ],
)
def test_rule_lets_what_is_right_pass(path: str, text: str) -> None:
    assert complaints(Module(path, text)) == []
