"""Evidence of a run: samples, the history, anomalies; judged at its end, and recorded.

Owns what is put together from where; each judgement is made elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.chaos.invariants.sizes import Limits
from tidelog.chaos.report.record import Anomaly, Band, RunRecord
from tidelog.chaos.sockets.clients import SocketClients
from tidelog.chaos.sockets.cluster import SETTINGS, SocketCluster
from tidelog.chaos.sockets.recording import Recorder, load_points, since
from tidelog.chaos.sockets.replica_files import Compared, ReplicaFiles
from tidelog.chaos.sockets.run_plan import RunPlan
from tidelog.chaos.sockets.verdict import FAILED, Tally, tally, verdict_of
from tidelog.chaos.sockets.watch import Watch
from tidelog.chaos.story.samples import NodeSample
from tidelog.core.provenance import checked_out_commit, machine
from tidelog.history.checks.availability import longest_silence_s
from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.delivery import judge
from tidelog.history.history import began_s
from tidelog.history.history_lines import line_of

ANOMALIES_MAX = 200
"""Later anomalies are not kept, except those of the run itself."""
LOSSES = frozenset({"lost-write", "unseen", "vanished"})
LOSS_COUNTS = ("lost", "lost_acks_1", "lost_unclean")
"""Complaints and counts that hold only once everything was read."""


class Evidence:
    """Evidence of one run."""

    def __init__(
        self, cluster: SocketCluster, clients: SocketClients, *, is_damage_expected: bool
    ) -> None:
        self.anomalies: list[Anomaly] = []
        self.bands: list[Band] = []
        self.facts: dict[str, str] = {}
        self.counts: dict[str, int] = judge(clients.history)[1]
        """Counts of the history, once it was judged."""
        self.rests: Sequence[tuple[float, float]] = ()
        """Times in which producers begin nothing."""
        self.round: Mapping[int, NodeSample | None] = {}
        """The newest samples."""
        self._cluster = cluster
        self._clients = clients
        self._watch = Watch(
            report=self.report,
            limits=_limits(has_kafka=cluster.topology.has_kafka),
            is_damage_expected=is_damage_expected,
        )
        self._recorder = Recorder(clients.topics[0].name, 0, cluster.topology.broker_ids)
        self._began_at = datetime.now(UTC)
        self._load_s = (cluster.now_s, cluster.now_s)
        self._complaints: list[Complaint] = []

    # While it runs

    def report(self, kind: str, what: str) -> None:
        """Something must not be so, or was not seen."""
        self._add(Anomaly(kind, what, self._cluster.now_s))

    def look(self, samples: Mapping[int, NodeSample | None]) -> None:
        """A round of samples."""
        self.round = samples
        self._watch.look(samples)
        self._recorder.look(samples, self._cluster.now_s)

    def load_begins(self) -> None:
        """Now."""
        self._load_s = (self._cluster.now_s, self._cluster.now_s)

    def load_ends(self) -> None:
        """Now."""
        self._load_s = (self._load_s[0], self._cluster.now_s)

    @property
    def is_violated(self) -> bool:
        """True if something must not be so."""
        return verdict_of(self.anomalies) == "violation"

    # At its end

    def judge_history(self, *, is_read: bool) -> None:
        """Judge the history once every call has ended; losses count only if all was read."""
        found, counts = judge(self._clients.history)
        if is_read:
            self._complaints, self.counts = found, counts
        else:
            self._complaints = [one for one in found if one.kind not in LOSSES]
            self.counts = {**counts, **dict.fromkeys(LOSS_COUNTS, 0)}
            self.report(FAILED, "not everything was read at the end")
        for complaint in self._complaints:
            lines = tuple(line_of(call) for call in complaint.operations)
            at_s = max(map(began_s, complaint.operations), default=None)
            self._add(Anomaly(complaint.kind, complaint.what, at_s, lines))

    async def judge_files(self) -> None:
        """Judge the replicas' files after every node has stopped."""
        brokers = self._cluster.topology.broker_ids
        files = ReplicaFiles(
            data_dirs={one: self._cluster.data_dir(one) for one in brokers}, report=self.report
        )
        compared = await files.compare(
            self._watch.newest, self._clients.history, high_watermarks=self._watch.high_watermarks
        )
        for name, number in asdict(compared).items():
            self.facts[f"files: {name.replace('_', ' ')}"] = f"{number:,}"
        self._expect_something(compared)

    def _expect_something(self, compared: Compared) -> None:
        """A run that compared nothing, or acknowledged nothing, proves nothing."""
        if not compared.compared_bytes:
            self.report(FAILED, "no two replicas could be compared")
        if not self.tally.acknowledged:
            self.report(FAILED, "nothing was acknowledged with acks=all")
        if not self._watch.compared["samples"]:
            self.report(FAILED, "no node was ever inspected")

    @property
    def tally(self) -> Tally:
        """Counts of the history; complete once it was judged."""
        return tally(self._clients.history, self._complaints, self.counts)

    def record(self, plan: RunPlan) -> RunRecord:
        """Everything, as its report draws it."""
        began_s, ended_s = self._load_s
        sends = self._clients.history.sends
        interval_s, load = load_points(sends, began_s=began_s, ended_s=ended_s)
        record = RunRecord(
            scenario=plan.scenario_id,
            claim=plan.scenario.claim,
            seed=plan.seed,
            verdict=verdict_of(self.anomalies),
            began_at=self._began_at.isoformat(timespec="seconds"),
            commit=checked_out_commit(),
            version=version("tidelog"),
            machine=machine(),
            command=plan.command,
            broker_ids=plan.topology.broker_ids,
            controller_ids=plan.topology.controller_ids,
            partition=f"{self._clients.topics[0].name}-0",
            settings={**self._settings(plan), "clients": plan.client},
            load_s=round(ended_s - began_s, 3),
            interval_s=interval_s,
            counts={**self.counts, **asdict(self.tally)},
            unavailable_s=round(longest_silence_s(sends, load=self._load_s, rests=self.rests), 3),
            bands=self.bands,
            replicas=self._recorder.replicas,
            partitions=self._recorder.partitions,
            load=load,
            anomalies=self.anomalies,
            notes=self._clients.notes,
            facts=self.facts,
        )
        return since(record, began_s)

    def _settings(self, plan: RunPlan) -> dict[str, str]:
        topic, of_scenario = self._clients.topics[0].configs(), plan.scenario.needs.settings
        acks = ", ".join(
            "all" if one.acks < 0 else str(one.acks) for one in self._clients.producers
        )
        return {
            **{key: str(value) for key, value in {**SETTINGS, **of_scenario, **topic}.items()},
            "producers": f"acks {acks}",
        }

    def _add(self, anomaly: Anomaly) -> None:
        if len(self.anomalies) < ANOMALIES_MAX or anomaly.kind == FAILED:
            self.anomalies.append(anomaly)
            self._clients.note("ANOMALY", f"{anomaly.kind}: {anomaly.what}")


def _limits(*, has_kafka: bool) -> Limits:
    """Sizes that a node may have: of connections of Kafka's protocol as many as it takes (F58)."""
    limits, connections = Limits(), KafkaConfig().connections_max if has_kafka else 0
    return replace(limits, open_files=limits.open_files + connections)
