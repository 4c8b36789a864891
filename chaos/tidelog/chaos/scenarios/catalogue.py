"""Catalogue of the scenarios by id: every `Scenario` that a module of this package holds."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType

from tidelog.chaos import scenarios
from tidelog.chaos.story.scenario import Scenario


def scenarios_in(modules: Iterable[ModuleType]) -> dict[str, Scenario]:
    """The scenarios that these modules hold, sorted by id. Errors: `ValueError`, an id twice."""
    found: dict[str, Scenario] = {}
    for module in modules:
        for one in vars(module).values():
            if isinstance(one, Scenario) and found.setdefault(one.scenario_id, one) is not one:
                raise ValueError(f"two scenarios have the id {one.scenario_id}")
    return dict(sorted(found.items()))


def _stories() -> Iterable[ModuleType]:
    for found in pkgutil.iter_modules(scenarios.__path__, f"{scenarios.__name__}."):
        if found.name != __name__:
            yield import_module(found.name)


SCENARIOS = scenarios_in(_stories())


def runnable_on(platform: str) -> dict[str, Scenario]:
    """Scenarios that run there (`SIM` or `SOCKETS`), by id."""
    return {key: one for key, one in SCENARIOS.items() if platform in one.needs.runs_on}


def id_of(word: str) -> str:
    """The id of a scenario by its id or name. Errors: `KeyError`."""
    if word in SCENARIOS:
        return word
    return {one.name: key for key, one in SCENARIOS.items()}[word]
