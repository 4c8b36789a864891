"""A run of one scenario on real processes: load, the story, a calm, and the result.

It owns the story of a run; never what strikes or what is judged. Whatever happens ends with a
record: a run that fails itself is inconclusive.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from tidelog.chaos.kafka_clients.logs import log_to
from tidelog.chaos.kafka_clients.makers import KafkaClients
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.sockets.clients import SocketClients
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.cluster_port import RunClients, SocketClusterPort
from tidelog.chaos.sockets.evidence import Evidence
from tidelog.chaos.sockets.run_plan import RunPlan
from tidelog.chaos.sockets.sampler import Sampler
from tidelog.chaos.sockets.settling import find_unsettled
from tidelog.chaos.sockets.story_limits import (
    BROKEN_S_MAX,
    LOOK_EVERY_S,
    report_failures,
    run_within,
)
from tidelog.chaos.sockets.verdict import FAILED
from tidelog.chaos.sockets.work_plan import settings_of, work_of
from tidelog.chaos.story.scenario import KAFKA_CLIENT
from tidelog.chaos.story.scenario_run import ScenarioRun, StoryOver
from tidelog.chaos.workloads.workload import Workload
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import TidelogError
from tidelog.history.history_file import HistoryWriter
from tidelog.raft.config import ENGINE_KEY

CALM_S_MAX = 60.0
"""I29: what must have come to rest by then: sessions, elections, retries, a client's patience."""
AFTERMATH_S = 1.0
"""Clients go on for so long after the last fault."""


async def run_scenario(plan: RunPlan, *, folder: Path, on_note: Callable[[str], None]) -> RunRecord:
    """The whole run. `folder`, which is there, gets its history, and logs unless all was well.

    `on_note` is called with each event as it happens. Errors: only what cancels it; any other is an
    anomaly of the record.
    """
    scenario, work = plan.scenario, work_of(plan.scenario)
    sizes = dict.fromkeys(plan.topology.broker_ids, scenario.needs.disk_bytes or 0)
    cluster = SocketCluster(
        folder=folder / "nodes",
        topology=plan.topology,
        settings={ENGINE_KEY: plan.engine, **settings_of(scenario)},
        mutant=plan.mutant,
        disk_bytes=sizes if scenario.needs.disk_bytes else {},
    )
    random = SeededRandom(plan.seed)
    with closing(HistoryWriter(folder / "history.jsonl", lossy_topics=work.lossy_topics)) as writer:
        clients = SocketClients(cluster, work, random.fork("clients"), on_note, writer)
        clients.are_aiokafkas = plan.client == KAFKA_CLIENT
        evidence = Evidence(cluster, clients, is_damage_expected=scenario.needs.is_damaging)
        try:
            async with cluster:
                aiokafka_log = cluster.folder / "aiokafka.log"
                with log_to(aiokafka_log), report_failures(partial(evidence.report, FAILED)):
                    await _Run(plan, clients, evidence, random).run()
                    await evidence.judge_files()
                if evidence.anomalies:
                    _keep_logs(cluster, folder)
        except TidelogError as error:
            evidence.report(FAILED, f"{type(error).__name__}: {error}")
    return evidence.record(plan)


class _Run:
    def __init__(
        self, plan: RunPlan, clients: SocketClients, evidence: Evidence, random: SeededRandom
    ) -> None:
        self._plan = plan
        self._cluster = clients.cluster
        self._clients = clients
        self._evidence = evidence
        foreign = KafkaClients(clients) if plan.client == KAFKA_CLIENT else None
        self._workload = Workload(clients, random.fork("workload"), foreign)
        self._sampler = Sampler(clients.cluster)
        self._sampler.on_round.append(evidence.look)
        self._port = SocketClusterPort(
            clients.cluster,
            self._sampler,
            clients=RunClients(
                clients.work.topic.name, self._workload, clients.history, clients.answers
            ),
            random=random.fork("story"),
            note=clients.note,
            report=evidence.report,
            load_s=plan.load_s,
            is_full=plan.is_full,
        )
        self._scenario_run = ScenarioRun(self._port)

    async def run(self) -> None:
        """From the nodes' start to their end in order."""
        await self._cluster.until_ready()
        is_calm = False
        try:
            async with self._sampler:
                await self._workload.begin()
                if await self._comes_to_rest("topics"):
                    await self._load_and_strike()
                    is_calm = await self._calm_down()
        finally:
            self._hand_over(is_calm=is_calm)
            if self._workload.group is not None:
                await self._workload.group.abandon()
            if self._workload.transactions is not None:
                await self._workload.transactions.abandon()
        await self._stop()

    def _hand_over(self, *, is_calm: bool) -> None:
        """Hand over the evidence, also of a run that broke off."""
        self._workload.write_pending()
        evidence = self._evidence
        evidence.judge_history(is_read=self._workload.is_read)
        evidence.bands += self._port.bands(0.0)
        evidence.rests = self._workload.rests
        if is_calm:
            self._scenario_run.conclude(self._clients.history, evidence.counts)
        evidence.facts.update(self._scenario_run.facts)

    async def _stop(self) -> None:
        for node_id, words in self._cluster.ended_by_themselves().items():
            if not self._plan.scenario.needs.is_damaging:
                self._evidence.report("died", f"node {node_id} ended by itself: {words}")
        for words in [] if self._workload.group is None else self._workload.group.failures:
            self._evidence.report("died", f"a member ended by itself: {words}")
        transactions = self._workload.transactions
        for words in [] if transactions is None else transactions.failures:
            self._evidence.report("died", f"a writer ended by itself: {words}")
        await self._clients.close()
        topology = self._cluster.topology
        for ids in (topology.broker_ids, topology.controller_ids):
            await asyncio.gather(*map(self._cluster.stop, ids))

    async def _load_and_strike(self) -> None:
        evidence, plan = self._evidence, self._plan
        evidence.load_begins()
        ends_s = self._cluster.now_s + plan.load_s
        if not plan.scenario.needs.has_churn:
            self._workload.is_churn_over = True
        churning = asyncio.create_task(self._workload.churn(), name="churn")
        if not await run_within(
            self._run_story(), within_s=plan.story_s_max, is_broken=lambda: evidence.is_violated
        ):
            evidence.report(FAILED, "the story was broken off")
        await self._port.heal()
        self._workload.is_held = False
        self._clients.note("run", "all is healed")
        left_s = 0.0 if evidence.is_violated else ends_s - self._cluster.now_s
        await asyncio.sleep(max(AFTERMATH_S, left_s))
        evidence.load_ends()
        self._workload.is_churn_over = True
        await churning

    async def _run_story(self) -> None:
        try:
            await self._plan.scenario.story(self._scenario_run)
        except StoryOver:
            pass
        except LookupError as error:
            self._evidence.report(FAILED, f"the story: {error}")

    async def _calm_down(self) -> bool:
        """True if it came to that. Everything is read in any case."""
        stopping = asyncio.create_task(self._workload.stop_sending(), name="stop-sending")
        if not await self._comes_to_rest("I29"):
            stopping.cancel()
            if stopping.done() and (error := stopping.exception()) is not None:
                self._evidence.report(FAILED, f"the workload ended by itself: {error!r}")
            await self._read_all()
            return False
        await stopping
        await self._workload.close()
        return await self._read_all()

    async def _read_all(self) -> bool:
        """True if that came to its end."""
        try:
            await self._workload.read_all()
        except (TimeoutError, TidelogError) as error:
            self._evidence.report("I29", f"final reads: {error!r}")
            return False
        return True

    async def _comes_to_rest(self, invariant: str) -> bool:
        """Wait for it; a report when it takes too long."""
        began_s = self._cluster.now_s
        while left := list(self._left(invariant)):
            within_s = BROKEN_S_MAX if self._evidence.is_violated else CALM_S_MAX
            if self._cluster.now_s - began_s > within_s:
                self._evidence.report(invariant, f"{within_s:g} s later: {'; '.join(left)}")
                return False
            await asyncio.sleep(LOOK_EVERY_S)
            await self._port.look()
        return True

    def _left(self, invariant: str) -> Iterator[str]:
        """Yield what is not at rest."""
        unfinished = list(self._workload.find_unfinished()) if invariant == "I29" else []
        yield from unfinished
        if self._port.topic not in self._port.image.topics:
            yield f"{self._port.topic} is not known"
        topology = self._cluster.topology
        yield from find_unsettled(
            self._evidence.round,
            broker_ids=topology.broker_ids,
            controller_ids=topology.controller_ids,
            is_idle=invariant == "I29" and not unfinished,
        )


def _keep_logs(cluster: SocketCluster, folder: Path) -> None:
    """Keep the output of nodes and proxies, for people."""
    for path in cluster.folder.glob("*.log"):
        shutil.copy(path, folder / path.name)
