"""Plan of one run on sockets: its scenario, seed, load and surroundings, and the command for it.

Decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidelog.chaos.scenarios.catalogue import SCENARIOS
from tidelog.chaos.story.scenario import GRPC_CLIENT, KAFKA_CLIENT, Scenario
from tidelog.chaos.topology import CLIENTS, COMBINED, MEMBERS, Topology
from tidelog.raft.config import ENGINES

STORY_S_MAX, FULL_STORY_S_MAX = 300.0, 6 * 3600.0
"""A story takes no longer than this and the load it was asked to last."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run: its scenario, seed and options."""

    scenario_id: str
    seed: int
    load_s: float
    """Least duration of the load."""
    is_full: bool = False
    """The catalogue's rounds, not the reduced ones."""
    is_combined: bool = False
    """Three nodes that are brokers and controllers."""
    engine: str = ENGINES[0]
    """The controllers' implementation of Raft."""
    client: str = GRPC_CLIENT
    """Whose clients produce, read and are members; the scenario has it among its own."""
    mutant: str | None = None
    """Name of a function, `module:name`, that breaks a rule in the process of every node."""

    @property
    def scenario(self) -> Scenario:
        """From the catalogue."""
        return SCENARIOS[self.scenario_id]

    @property
    def story_s_max(self) -> float:
        """Each wait of a story has its own bound; this is of all together."""
        return self.load_s + (FULL_STORY_S_MAX if self.is_full else STORY_S_MAX)

    @property
    def command(self) -> str:
        """The command that runs it again."""
        options = [f"--seed {self.seed}", f"--duration {self.load_s:g}"]
        options += ["--full"] * self.is_full + ["--combined"] * self.is_combined
        options += [f"--engine {self.engine}"] * (self.engine != ENGINES[0])
        options += [f"--client {self.client}"] * (self.client != GRPC_CLIENT)
        return " ".join(["tidelog chaos run", self.scenario_id, *options])

    @property
    def topology(self) -> Topology:
        """The nodes and their links."""
        topology = COMBINED if self.is_combined else Topology()
        needs = self.scenario.needs
        members = () if needs.group is None else (MEMBERS,)
        groups = (CLIENTS, *members, *needs.reader_groups)
        has_kafka = self.client == KAFKA_CLIENT or needs.has_kafka_listeners
        return replace(topology, client_groups=groups, has_kafka=has_kafka)
