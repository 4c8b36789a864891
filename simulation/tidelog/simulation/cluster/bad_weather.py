"""Fault: every link of the simulated network loses, delays and repeats messages for a while.

Only a simulated network has weather: Toxiproxy neither loses nor repeats what TCP delivers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.simulation.engine.network import SimNetwork, Weather


@dataclass(slots=True)
class BadWeather:
    """See the module and `Fault`. Later weather takes the place of earlier."""

    kind: ClassVar[str] = "weather"
    network: SimNetwork
    weather: Weather

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        run.cluster.count(self.kind, str(self.weather))
        self.network.weather = self.weather

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`; weather that came later stays."""
        if self.network.weather is self.weather:
            self.network.weather = None
        run.cluster.over(self.kind, str(self.weather))
