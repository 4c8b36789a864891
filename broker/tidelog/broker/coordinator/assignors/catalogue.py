"""Assignors by the names that a broker's configuration lists, a user's class among them.

Not pure: naming a user's class imports its module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from tidelog.broker.coordinator.assignors.interface import Assignor
from tidelog.broker.coordinator.assignors.range import RangeAssignor
from tidelog.broker.coordinator.assignors.round_robin import RoundRobinAssignor
from tidelog.broker.coordinator.assignors.uniform import UniformAssignor
from tidelog.broker.coordinator.assignors.validated import ValidatedAssignor

BUILT_IN: Mapping[str, Callable[[], Assignor]] = {
    UniformAssignor.name: UniformAssignor,
    RangeAssignor.name: RangeAssignor,
    RoundRobinAssignor.name: RoundRobinAssignor,
}


def assignors_of(names: Sequence[str]) -> dict[str, Assignor]:
    """Assignors by the name that members ask for, in the order given; the first is the default.

    A name is that of a built-in assignor or "module:Class", which its class's `name` stands for.
    Raise ValueError for a name that cannot be resolved, and for two assignors of one name.
    """
    found: dict[str, Assignor] = {}
    for name in names:
        assignor = BUILT_IN[name]() if name in BUILT_IN else _user_assignor(name)
        if assignor.name in found:
            raise ValueError(f"two assignors are named {assignor.name!r}; give each another name")
        found[assignor.name] = assignor
    return found


def _user_assignor(source: str) -> Assignor:
    module, colon, class_name = source.partition(":")
    if not (module and colon and class_name):
        raise _unresolved(source, "it is neither")
    try:
        assignor = getattr(import_module(module), class_name)()
    except Exception as error:
        raise _unresolved(source, repr(error)) from error
    if not callable(getattr(assignor, "assign", None)):
        raise _unresolved(source, "it has no method assign(group)")
    if not isinstance(getattr(assignor, "name", None), str) or not assignor.name:
        raise _unresolved(source, "it has no `name`, a text by which members ask for it")
    return ValidatedAssignor(assignor, source)


def _unresolved(source: str, why: str) -> ValueError:
    known = ", ".join(BUILT_IN)
    return ValueError(
        f"assignor {source!r} cannot be resolved: {why}; "
        f"known are {known}, and your own class as module:Class"
    )
