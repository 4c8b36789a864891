"""Fault: a machine loses power in the midst of a write; the node is down until healed.

A killed process loses nothing, so the power is made of three: the process is killed, the last batch
of its replica loses its end, and the record of the last start (`start.properties`) is gone. The
node starts as one that may have lost everything, and is out of ISR and ELR until it has caught up
(decision 0013). A torn batch alone would look like a write nobody was answered. What it had
acknowledged may be gone from it: the `Budget` says whether that may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.chaos.faults.fault import FaultError
from tidelog.chaos.faults.nodes import NodeFault
from tidelog.chaos.faults.stored_batches import Span, spans
from tidelog.chaos.story.cluster_port import ClusterPort
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.core.chance import SeededRandom
from tidelog.log.file_names import LOG
from tidelog.node.start_record import FILE_NAME


@dataclass(slots=True)
class TornTail(NodeFault):
    """See the module. `seed` decides where the last batch ends.

    Healed, the node cuts its log to the longest valid prefix and fetches the rest.
    """

    kind: str = field(default="torn_tail", kw_only=True)
    seed: int = 0

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; `FaultError`: its replica holds no batch."""
        cluster = run.cluster
        self.count(cluster)
        await cluster.kill(self.node_id)
        path, last = self._last_batch(cluster)
        keep = SeededRandom(self.seed).randrange(last.start + 1, last.end)
        await cluster.truncate(self.node_id, path, keep)
        folder = path.rpartition("/")[0].rpartition("/")[0]
        await cluster.vanish(self.node_id, f"{folder}/{FILE_NAME}")

    def _last_batch(self, cluster: ClusterPort) -> tuple[str, Span]:
        for path in reversed(cluster.files(self.node_id, LOG)):
            found = spans(cluster.content(self.node_id, path))
            if found:
                return path, found[-1]
        raise FaultError(f"node {self.node_id} holds no batch of {cluster.topic}-0")
