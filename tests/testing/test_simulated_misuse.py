"""Mistakes in the use of simulated tests: each an error that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.testing import SimulatedTestError, Simulation, simulate, simulated
from tidelog.testing.sim.storm import HARSH, kinds_of


async def nothing(sim: Simulation) -> None:
    del sim


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seeds": 0}, "seeds=0: at least one seed, each a number from 0 on"),
        ({"seeds": -1}, "seeds=-1: at least one seed"),
        ({"seeds": []}, "at least one seed"),
        ({"seeds": [1, -1]}, "each a number from 0 on"),
        ({"seeds": ["1"]}, "each a number from 0 on"),
        ({"seeds": "many"}, "each a number from 0 on"),
        ({"seeds": 2.5}, "seeds=2.5: at least one seed"),
        ({"faults": "kil"}, "faults: there is no 'kil'; there are the sets none, standard, harsh"),
        ({"faults": ("kill", "fire")}, "there is no 'fire'"),
        ({"brokers": 0}, "brokers=0"),
        ({"controllers": 17}, "controllers=17"),
        ({"configs": {"no.such.key": 1}}, "no.such.key"),
        ({"configs": {"broker.session.timeout.ms": "soon"}}, "broker.session.timeout.ms"),
        ({"virtual_s": 0}, "virtual_s=0: it must be above 0"),
        ({"virtual_s": float("nan")}, "virtual_s=nan: it must be above 0"),
        ({"steps": -5}, "steps=-5: it must be above 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SimulatedTestError) as simulated_refused:
        simulated(**options)(nothing)
    with pytest.raises(SimulatedTestError) as simulate_refused:
        simulate(nothing, **options)
    assert words in str(simulated_refused.value)
    assert str(simulate_refused.value) == str(simulated_refused.value)


def test_all_kinds_are_named_where_one_is_unknown() -> None:
    with pytest.raises(SimulatedTestError) as refused:
        kinds_of("fire")
    assert all(kind in str(refused.value) for kind in HARSH)
    assert kinds_of("none") == ()
    assert kinds_of("kill") == ("kill",)


def test_what_is_no_async_function_of_a_simulation_is_refused() -> None:
    def plain(sim: Simulation) -> None:
        del sim

    async def without() -> None:
        pass

    with pytest.raises(SimulatedTestError, match="plain is no `async def`: a simulated test runs"):
        simulated(plain)  # type: ignore[arg-type]
    with pytest.raises(SimulatedTestError, match="without has no parameter `sim`, its cluster"):
        simulated()(without)
