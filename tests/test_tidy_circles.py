"""Imports go one way: no circle of files, and none of rooms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.test_tidy import PRODUCT, Module

NAMES = frozenset(module.name for module in PRODUCT)


def arrows_of(module: Module) -> set[str]:
    """The product's own modules that it imports, wherever in the file."""
    found = {name if name in NAMES else name.rpartition(".")[0] for name in module.imports}
    return {name for name in found if name in NAMES and name != module.name}


def room_of(name: str) -> str:
    """The folder below its package that a module lies in; its own name where there is none."""
    return ".".join(name.split(".")[:3])


def circles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of names that reach each other, each in order (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for other in sorted(arrows.get(name, ())):
            if other not in order:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(arrows):
        if name not in order:
            visit(name)
    return sorted(found)


def test_imports_have_no_circle() -> None:
    arrows = {module.name: arrows_of(module) for module in PRODUCT}
    assert circles(arrows) == []


def test_rooms_have_no_circle() -> None:
    """A room is a folder below a package; a file that lies in none is a room of its own."""
    arrows: dict[str, set[str]] = {}
    for module in PRODUCT:
        if not module.is_first_page:
            names = {room_of(name) for name in arrows_of(module)}
            arrows.setdefault(room_of(module.name), set()).update(names - {room_of(module.name)})
    assert circles(arrows) == []


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
