"""Rule R7: pure tests wait for no real milliseconds, read from the source as in `test_tidy`.

An asynchronous test runs on virtual time (`tests.virtual_loop`), where any wait is right. What this
rule looks at is the way around it: threads that sleep, loops of a test's own, and, in tests marked
`real_time`, sleeps that are no polling of a condition, and time-outs that a busy machine exceeds.
Tests of real processes run alone and may wait as they must.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.test_tidy import Module, modules_in

ALONE = frozenset({"process", "chaos", "spark"})
REAL_TIME = "real_time"
TIMEOUT_MS_MIN = 1000


def complaints(module: Module) -> list[str]:
    """R7: what waits on the machine's clock in a test that does not run alone.

    Helpers of a module count as its tests do that are marked most.
    """
    tree = ast.parse(module.text)
    of_module = _marks(*(node.value for node in tree.body if isinstance(node, ast.Assign)))
    of_helpers = _marks(*(each for node in tree.body for each in _decorators(node)))
    found: list[tuple[int, str]] = []
    for node in tree.body:
        is_test = isinstance(node, ast.ClassDef) or getattr(node, "name", "").startswith("test_")
        marks = of_module | (_marks(*_decorators(node)) if is_test else of_helpers)
        if not marks & ALONE:
            found += _waits(node, is_real=REAL_TIME in marks)
    return [f"{module.path}:{line}: {what}" for line, what in found]


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _marks(*expressions: ast.expr) -> frozenset[str]:
    """Names that stand behind `pytest.mark`."""
    return frozenset(
        node.attr
        for expression in expressions
        for node in ast.walk(expression)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
    )


def _waits(node: ast.AST, *, is_real: bool, is_polling: bool = False) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call):
        what = _wait(node, is_real=is_real, is_polling=is_polling)
        if what:
            yield node.lineno, what
    for child in ast.iter_child_nodes(node):
        is_in_while = is_polling or isinstance(node, ast.While)
        yield from _waits(child, is_real=is_real, is_polling=is_in_while)


def _wait(call: ast.Call, *, is_real: bool, is_polling: bool) -> str:
    called = ast.unparse(call.func)
    if called == "time.sleep":
        return "time.sleep: wait for what should happen"
    if called in {"asyncio.run", "asyncio.Runner"} and not is_real and not call.keywords:
        return f"{called}: tests.virtual_loop.run_virtual takes no real time"
    if not is_real:
        return ""
    if called == "asyncio.sleep" and not is_polling and _number(call.args[0]) != 0:
        return "asyncio.sleep on real time: wait for what should happen, in a while loop"
    for keyword in call.keywords:
        if keyword.arg == "timeout_ms" and 0 < (_number(keyword.value) or 0) < TIMEOUT_MS_MIN:
            return "timeout_ms below a second on real time: a busy machine takes longer"
    return ""


def _number(expression: ast.expr) -> float | None:
    match expression:
        case ast.Constant(value=int() | float() as number):
            return number
    return None


def test_no_pure_test_waits_for_real_milliseconds() -> None:
    tests = [one for one in modules_in("tests") if one.path.rpartition("/")[2].startswith("test_")]
    found = [complaint for module in tests for complaint in complaints(module)]
    assert not found, "\n".join(["", *found])


MARKED = "pytestmark = pytest.mark.real_time\n"


@pytest.mark.parametrize(
    "text",
    [
        "def test():\n    time.sleep(0.1)",
        "async def test():\n    time.sleep(0.1)",
        "def test():\n    while not done:\n        time.sleep(0.1)",
        "def test():\n    asyncio.run(main())",
        "def stage():\n    return asyncio.Runner()",
        MARKED + "async def test():\n    await asyncio.sleep(0.01)",
        MARKED + "async def test():\n    await asyncio.sleep(WAIT_S)",
        MARKED + "async def test():\n    await c.getmany(timeout_ms=5)",
        "@pytest.mark.real_time\nasync def test():\n    await asyncio.sleep(1)",
        "pytestmark = [pytest.mark.real_time]\nasync def test():\n    await call(timeout_ms=500)",
        "@pytest.mark.process\ndef test_a():\n    time.sleep(1)\ndef test_b():\n    time.sleep(1)",
    ],
)
def test_rule_finds_the_counterexample(text: str) -> None:
    assert len(complaints(Module("tests/client/test_x.py", text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "async def test():\n    await asyncio.sleep(0.01)\n    await c.getmany(timeout_ms=5)",
        MARKED + "async def test():\n    while not done:\n        await asyncio.sleep(0.01)",
        MARKED + "async def test():\n    await asyncio.sleep(0)\n    await c.getmany(timeout_ms=0)",
        MARKED + "async def test():\n    await call(request, timeout_ms=5_000)",
        "pytestmark = pytest.mark.process\ndef test():\n    time.sleep(1)",
        "@pytest.mark.chaos\ndef test():\n    time.sleep(1)\n    asyncio.run(main())",
        'PROGRAM = "import time; time.sleep(600)"',
    ],
)
def test_rule_lets_what_is_right_pass(text: str) -> None:
    assert complaints(Module("tests/client/test_x.py", text)) == []
