"""The invariants over samples of running nodes, each judged as far as samples show it.

A sample is one node at one moment (`NodeSample.at_s`); two nodes' are up to a few hundred
milliseconds apart, and what happened in between was not seen. A check reports only what no order
of events explains.

I1   replica files at the end: `replica_files`
I2   a leader ends no lower than what an older sample of the same or an older epoch had committed
I3   the process that a leader counted as in sync, or as eligible, holds what was committed then
I4   with I2 and I3: the ISR as that leader knows it, and for every leader
I5   a leader's maximal ISR covers the ISR committed earlier in its epoch
I6   `replica_files` with the history; history: lost-write, unseen
I7   history: inconsistent-offsets, vanished
I8   a leader's log never gets shorter within its epoch; batches: `replica_files`
I9   epochs and starts grow along every cache, and are the same in all; logs: `replica_files`
I10  one leader of a partition and epoch, by replicas and by images; who wrote a record is not kept
I11  a process's high watermark never falls, is within its log, and below every in-sync end (I3);
     for clients: history: nonmonotonic-poll
I12  no rise within one partition epoch whose ISR is too small; the ISR at the moment of an append
     and of its acknowledgement lies between samples
I13  not from samples: only a served record could show it; history: vanished, G1a
I14  every newest image
I15  images, epochs and terms of one process, broker epochs of one node
I16  equal images at equal metadata offsets
I17  one active controller a term
I18, I19 not from samples: journals and votes are the Raft simulation's
I26  `replica_files`
I27  no log is damaged unless the scenario damages one; every CRC: `replica_files`
I28  history: G1a
I29  `settling.find_unsettled`, until the run's bound
I30  memory, tasks, open files and queues of every sample
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tidelog.chaos.invariants.images import ImageChecks
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.sizes import Limits
from tidelog.chaos.sockets.sample_checks import what_changed, what_is
from tidelog.chaos.sockets.sample_checks_nodes import NodeChecks
from tidelog.chaos.sockets.sample_checks_partitions import PartitionChecks
from tidelog.chaos.story.samples import NodeSample
from tidelog.metadata.image import MetadataImage

REPORTS_MAX = 1000
"""Reports kept of one run."""


class Watch:
    """Calls `report` once for each violation, with the invariant and the facts."""

    def __init__(
        self, *, report: Report, limits: Limits | None = None, is_damage_expected: bool = False
    ) -> None:
        """`is_damage_expected`: the scenario damages files or disks."""
        self._to = report
        self._reported: set[tuple[str, str]] = set()
        self._images = ImageChecks(self._report)
        self._partitions = PartitionChecks(self._report)
        self._nodes = NodeChecks(
            self._report, limits=limits or Limits(), is_damage_expected=is_damage_expected
        )
        self._last: dict[int, NodeSample] = {}

    @property
    def newest(self) -> MetadataImage:
        """The newest committed image of any sample."""
        return self._images.newest

    @property
    def compared(self) -> Counter[str]:
        """Judgements of each invariant; `samples` counts samples."""
        return self._partitions.compared + Counter(samples=self._nodes.compared)

    @property
    def high_watermarks(self) -> dict[tuple[str, int], int]:
        """High watermarks for `replica_files`."""
        return self._partitions.high_watermarks

    def look(self, samples: Mapping[int, NodeSample | None]) -> None:
        """A round of samples; None: the node did not answer. Nothing in it is older than before."""
        there = [sample for sample in samples.values() if sample is not None]
        for sample in sorted(there, key=lambda sample: sample.at_s):
            self._look(sample)

    def _look(self, sample: NodeSample) -> None:
        last = self._last.get(sample.node_id)
        if last is not None and last.pid == sample.pid and sample.at_s <= last.at_s:
            return
        self._last[sample.node_id] = sample
        if self._images.look((sample.node_id, sample.pid, "node"), sample.image, is_committed=True):
            self._partitions.on_image(sample.image, at_s=sample.at_s)
        self._nodes.on_sample(sample)
        for invariant, what in what_is(sample):
            self._report(invariant, what)
        if last is not None and last.pid == sample.pid:
            for invariant, what in what_changed(last, sample):
                self._report(invariant, what)
        self._partitions.on_sample(sample)

    def _report(self, invariant: str, what: str) -> None:
        if (invariant, what) in self._reported or len(self._reported) >= REPORTS_MAX:
            return
        self._reported.add((invariant, what))
        self._to(invariant, what)
