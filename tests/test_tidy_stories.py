"""A story that a test tells in a function of its own is run: read from the source with `ast`.

A test whose `async def main()` is never run cannot fail.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent
Function = ast.FunctionDef | ast.AsyncFunctionDef


def _unused(tree: ast.AST) -> Iterator[str]:
    """Yield functions that a function defines, by no decorator, and never names."""
    for outer in ast.walk(tree):
        if not isinstance(outer, Function):
            continue
        inner = [one for one in outer.body if isinstance(one, Function) and not one.decorator_list]
        if inner:
            named = {one.id for one in ast.walk(outer) if isinstance(one, ast.Name)}
            yield from (f"{outer.name}: {one.name}" for one in inner if one.name not in named)


def test_every_function_that_a_test_defines_is_used() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {unused}"
        for path in ROOT.rglob("*.py")
        if "    def " in (text := path.read_text()) or "    async def " in text
        for unused in _unused(ast.parse(text))
    }

    assert not found


def test_a_story_that_is_never_run_is_found() -> None:
    assert list(_unused(ast.parse("def test_a():\n    async def main(): ...\n"))) == [
        "test_a: main"
    ]
    assert not list(_unused(ast.parse("def test_a():\n    def f(): ...\n    f()\n")))
