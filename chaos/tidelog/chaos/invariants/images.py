"""Invariants of metadata images: equal at one offset, never older, and lawful.

I14 (who may be in which set), I15 (epochs and offsets never fall), and equal images at equal
offsets, of all controllers and brokers.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.chaos.invariants.invariant import Report
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage

OFFSETS_KEPT_MAX = 10_000
"""Newest offsets whose images are compared."""

View = tuple[int, int, str]
"""Node, which of its processes, and whose image of it."""


class ImageChecks:
    """Checks of every image that any node had."""

    def __init__(self, report: Report) -> None:
        self.newest: MetadataImage = EMPTY_IMAGE
        """The newest committed image any controller has had."""
        self._report = report
        self._last: dict[View, MetadataImage] = {}
        self._by_offset: dict[int, MetadataImage] = {}

    def look(self, view: View, image: MetadataImage, *, is_committed: bool) -> bool:
        """A node has this image; whether it is the newest of all, and news."""
        last = self._last.get(view)
        if last is image:
            return False
        self._last[view] = image
        if last is not None and image.offset < last.offset:
            self._report("I15", f"{view} went from metadata offset {last.offset} to {image.offset}")
        if image.offset:
            self._compare(view, image)
        if not is_committed or image.offset <= self.newest.offset:
            return False
        before, self.newest = self.newest, image
        for invariant, what in violations(before, image):
            self._report(invariant, f"metadata offset {image.offset}: {what}")
        return True

    def _compare(self, view: View, image: MetadataImage) -> None:
        known = self._by_offset.setdefault(image.offset, image)
        if known is not image and known != image:
            self._report("I16", f"{view} has another image at {image.offset}")
        if len(self._by_offset) > OFFSETS_KEPT_MAX:
            del self._by_offset[next(iter(self._by_offset))]


def violations(before: MetadataImage, image: MetadataImage) -> Iterator[tuple[str, str]]:
    """Yield the violations in an image that follows another."""
    if image.controller_epoch < before.controller_epoch:
        yield "I15", f"controller epoch {image.controller_epoch} after {before.controller_epoch}"
    for broker_id, broker in image.brokers.items():
        known = before.brokers.get(broker_id)
        if known is not None and broker.broker_epoch < known.broker_epoch:
            yield "I15", f"broker epoch {broker.broker_epoch} of {broker_id} after {known}"
    for topic in image.topics.values():
        earlier = before.topic_by_id(topic.topic_id)
        if earlier is topic and image.brokers is before.brokers:
            continue
        for partition in topic.partitions:
            name = f"{topic.name}-{partition.partition}"
            for what in find_contradictions(partition):
                yield "I14", f"{name}: {what}: {partition}"
            if earlier is None or partition.partition >= len(earlier.partitions):
                continue
            was = earlier.partitions[partition.partition]
            if was is not partition:
                yield from _change_violations(name, was, partition)
                if image.offset == before.offset + 1:
                    alive = {one for one in image.brokers if before.is_alive(one)}
                    alive.update(image.live_brokers())
                    yield from _fenced_violations(name, was, partition, alive)


def _fenced_violations(
    name: str, known: PartitionImage, partition: PartitionImage, alive: set[int]
) -> Iterator[tuple[str, str]]:
    """A broker that is fenced may still be in an ISR, and lead: it never comes there.

    `alive` before or after a single batch, which may let it come and fence it then.
    """
    come = set(partition.isr) - set(known.isr)
    if partition.leader_id is not None and partition.leader_id != known.leader_id:
        come.add(partition.leader_id)
    fenced = sorted(come - alive)
    if fenced:
        yield "I14", f"{name}: fenced brokers {fenced} came into the ISR, or lead: {partition}"


def _change_violations(
    name: str, known: PartitionImage, partition: PartitionImage
) -> Iterator[tuple[str, str]]:
    if partition.leader_epoch < known.leader_epoch:
        yield "I15", f"{name}: leader epoch {partition.leader_epoch} after {known.leader_epoch}"
    is_newer = partition.partition_epoch > known.partition_epoch
    if not is_newer and partition != known:
        yield "I15", f"{name}: partition epoch did not grow from {known} to {partition}"
    has_new_leader = partition.leader_id not in (None, known.leader_id)
    if has_new_leader and partition.leader_epoch <= known.leader_epoch:
        yield "I15", f"{name}: leader epoch did not grow from {known} to {partition}"


def find_contradictions(partition: PartitionImage) -> Iterator[str]:
    """Yield the contradictions within a partition's state."""
    replicas, isr, elr = set(partition.replicas), set(partition.isr), set(partition.elr)
    if partition.leader_id is not None and partition.leader_id not in isr:
        yield "the leader is not in the ISR"
    if not isr | elr <= replicas:
        yield "ISR or ELR holds a broker that has no replica"
    if isr & elr:
        yield "ISR and ELR share a broker"
