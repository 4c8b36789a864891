"""A seed of the transactions suite: the cluster suite's storm, with transactional clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidelog.chaos.workloads.workload import Workload
from tidelog.core.chance import SeededRandom
from tidelog.raft.config import ENGINES
from tidelog.simulation.cluster.node_lines import clients_logging_to
from tidelog.simulation.cluster.scenarios import STORM
from tidelog.simulation.cluster.seed_run import play
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.suites.findings import Findings, SeedResult
from tidelog.simulation.transactions.clients import TransactionClients
from tidelog.simulation.transactions.coverage import COVERAGE
from tidelog.simulation.transactions.simulation_config import draw_transactions


def run_seed(
    seed: int,
    *,
    choice: str = STORM,
    engine: str = ENGINES[0],
    has_faults: bool = True,
    timeline_sink: Callable[[str], None] | None = None,
) -> SeedResult:
    """Run a storm under `seed`: see `cluster.seed_run.run_seed`."""
    random = SeededRandom(seed).fork("transactions")
    config = draw_transactions(random.fork("config"), is_storm=has_faults)
    cluster = replace(config.cluster, raft=replace(config.cluster.raft, engine=engine))
    findings = Findings()
    simulation = ClusterSimulation(
        seed=seed, config=cluster, findings=findings, timeline_sink=timeline_sink
    )
    workload = Workload(simulation, random.fork("workload"))
    clients = TransactionClients(simulation, config, random.fork("clients"))
    clients.join(workload)
    with clients_logging_to(simulation.timeline):
        return play(
            simulation,
            workload,
            random,
            choice=choice if has_faults else "",
            coverage=COVERAGE,
            guest=clients,
            lasts_with_guest=True,
        )
