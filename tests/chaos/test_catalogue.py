"""The catalogue: scenarios are found where they are written, and the docs list them."""

from __future__ import annotations

from types import ModuleType

import pytest

import scenario_tables
from tidelog.chaos.scenarios.catalogue import SCENARIOS, id_of, scenarios_in
from tidelog.chaos.story.scenario import SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun


@scenario("new", Needs(runs_on=SOCKETS_ONLY))
async def new_thing(run: ScenarioRun) -> None:
    """A claim
    of two lines."""


@scenario("new")
async def newer_thing(run: ScenarioRun) -> None:
    """Another claim."""


def module_of(**attributes: object) -> ModuleType:
    module = ModuleType("stories")
    vars(module).update(attributes)
    return module


def test_a_decorated_function_is_a_scenario_of_its_name() -> None:
    (found,) = scenarios_in([module_of(new_thing=new_thing, other=3)]).values()

    assert (found.scenario_id, found.name) == ("new", "new-thing")
    assert found.claim == "A claim of two lines."


def test_a_scenario_that_another_module_imports_is_one_scenario() -> None:
    modules = [module_of(new_thing=new_thing), module_of(imported=new_thing)]

    assert len(scenarios_in(modules)) == 1


def test_an_id_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two scenarios have the id new"):
        scenarios_in([module_of(new_thing=new_thing, newer_thing=newer_thing)])


def test_every_scenario_has_a_claim_and_a_name_of_its_own() -> None:
    assert all(one.claim for one in SCENARIOS.values())
    assert len({one.name for one in SCENARIOS.values()}) == len(SCENARIOS)
    assert all(id_of(one.name) == key for key, one in SCENARIOS.items())


def test_the_docs_list_the_scenarios() -> None:
    for path, table in scenario_tables.PAGES.items():
        page = path.read_text(encoding="utf-8")
        assert scenario_tables.page_with(table(), page) == page, f"run make docs: {path.name}"


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the lines"):
        scenario_tables.page_with("", "# A page\n")
