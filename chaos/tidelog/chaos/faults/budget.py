"""Budget of damage: faults take only as much as cannot lose an acknowledged record.

A run has one budget for all its partitions, so a lost record is always the product's fault. What is
promised (README, decisions 0005, 0009, 0013), and what follows for each partition:

- A record acknowledged with acks=all was on every in-sync replica, at least `min.insync.replicas`
  of them, in the page cache. A killed, stopped or paused process, a link, a clock, a full or slow
  disk take nothing of that: such faults need no budget.
- A power cut takes what a replica had not synced, an emptied disk and a torn tail take more. The
  replica says so when it starts (another boot id) and is out of ISR and ELR until it has caught up:
  only then does it hold everything again. So it is *impaired* until it is in the ISR by a
  registration newer than the damage, that of its present process. As long as at most
  `min.insync.replicas` - 1 replicas are impaired at a time, one of those that had to acknowledge
  holds every record, and only complete replicas are elected.
- With flush.messages=1 what was acknowledged is on stable storage: everyone may lose power.
- A flipped bit below the recovery point is damage, whatever the topic flushes: the replica is
  impaired until the byte was fetched again, or is gone, and it is in the ISR. Indexes and producer
  snapshots are made again from the log: no harm, no budget.
- After a failed sync the kernel may have dropped pages that still look well until the power goes:
  the replica is impaired until it is in the ISR again, and no later start can know. Such a machine
  never loses power after that.
- Where `unclean.leader.election.enable` is set, loss is allowed, and counted.
- A node on which a fault stays may never be in sync again: its replicas count as impaired for good,
  and nothing more is taken of them.
- A fault that is still at work counts from its beginning: a cut that is yet to come (`crash_at`),
  damage of a storm of stories until that is over.
- A storm of stories (`take`) waits in addition until every replica is in the ISR and its victim has
  healed: a cluster of processes does not say what was damaged before the storm, and an empty disk
  takes a controller's journal, too.

While no controller runs nobody can say who is in sync, and nothing is taken. `BudgetView` is what
the budget must know: a port shows some of it on every cluster (`port_budget`), a simulated cluster
all (`simulation.cluster.budget_view`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.faults.fault import require
from tidelog.log.file_names import LOG
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage

ANY_REGISTRATION = -1


class Claims:
    """Nodes that a fault has for itself: no other fault with the same claims strikes them.

    A storm of stories claims whole nodes, the random suite the disks of nodes.
    """

    def __init__(self) -> None:
        self.node_ids: set[int] = set()
        """Never iterated."""

    def is_free(self, node_id: int) -> bool:
        """True if no fault has it."""
        return node_id not in self.node_ids

    @contextmanager
    def holding(self, node_id: int | None) -> Iterator[None]:
        """Claim a node for the block, however that ends; None: the fault needs no node alone."""
        if node_id is None:
            yield
            return
        require(self.is_free(node_id), f"another fault has node {node_id}")
        self.node_ids.add(node_id)
        try:
            yield
        finally:
            self.node_ids.discard(node_id)


class Promises(Protocol):
    """Configuration of a topic that decides what may be taken of its replicas."""

    @property
    def min_insync_replicas(self) -> int:
        """`min.insync.replicas`."""

    @property
    def is_flushed(self) -> bool:
        """True with flush.messages=1."""

    @property
    def is_lossy(self) -> bool:
        """True with unclean.leader.election.enable."""


class BudgetView(Protocol):
    """The cluster, as far as the budget must know it."""

    @property
    def image(self) -> MetadataImage:
        """The newest committed image that a running controller has."""

    @property
    def has_controller(self) -> bool:
        """True if the image is up to date: somebody decides who is in sync."""

    def promises(self, topic: str) -> Promises:
        """The configuration of a topic of the image."""

    def runs_as(self, node_id: int, broker_epoch: int) -> bool:
        """False if its running process is known to have another broker epoch, or none."""

    def is_wrong(self, flip: Flip) -> bool:
        """True if the flipped byte still lies there."""

    def count_event(self, what: str) -> None:
        """Count it, for the coverage of a suite."""


class Replica(NamedTuple):
    """A replica, by its node and partition."""

    node_id: int
    topic: str
    partition: int


@dataclass(slots=True)
class Impairment:
    """Impairment of a replica of one incarnation of a topic."""

    topic_id: bytes
    offset: int
    """Metadata offset at which it began: an older image knows nothing of it."""
    newer_than: int = ANY_REGISTRATION
    """It heals with a registration newer than this."""
    flips: list[Flip] = field(default_factory=list)
    is_cut: bool = False
    """By a power cut, or one that is planned."""


def impaired_max(min_insync_replicas: int) -> int:
    """Replicas of a partition that may lack records at a time: one more holds every record."""
    return min_insync_replicas - 1


class Budget:
    """Impaired replicas. Faults ask before they take anything, and note what they took."""

    def __init__(self, view: BudgetView) -> None:
        self._view = view
        self._impaired: dict[Replica, Impairment] = {}
        self._open: set[int] = set()  # nodes a fault is still at work on; never iterated
        self._tainted: set[int] = set()  # nodes with a failed sync; never iterated
        self._exempt: set[int] = set()  # nodes on which a fault stays; never iterated

    # What faults ask

    def may_lose_power(self, node_id: int) -> bool:
        """True if this node's power may go now, or soon."""
        self.look()
        if node_id in self._tainted | self._exempt or not self._view.has_controller:
            return False
        return all(
            self._view.promises(topic.name).is_flushed or self._has_room(node_id, topic.name, state)
            for topic, state in self._hosted(node_id)
        )

    def may_damage(self, node_id: int, topic: str, partition: int) -> bool:
        """True if stored bytes of this replica may change behind its back."""
        self.look()
        state = self._view.image.partition(topic, partition)
        if state is None or node_id not in state.replicas or not self._view.has_controller:
            return False
        if node_id in self._exempt:
            return False
        return self._has_room(node_id, topic, state)

    def take(self, replica: Replica) -> bool:
        """Let a storm of stories damage it, if that may be now; `close` when that is over."""
        if not self.may_damage(*replica) or not self._are_all_whole(replica):
            return False
        self._open.add(replica.node_id)
        impairment = self._impair(*replica)
        impairment.newer_than = self._registration(replica.node_id)
        return True

    # Notes of faults

    def close(self, replica: Replica, *flips: Flip, needs_start: bool) -> None:
        """Record that the taken replica is damaged, by these flips.

        Without `needs_start` no new registration is due.
        """
        self._open.discard(replica.node_id)
        impairment = self._impaired.get(replica)
        if impairment is None:
            return  # Its topic was deleted.
        impairment.flips.extend(flips)
        if not needs_start:
            impairment.newer_than = ANY_REGISTRATION

    def plan_cut(self, node_id: int) -> None:
        """Its power may go at any time from now on."""
        self._open.add(node_id)
        self._impair_unflushed(node_id, newer_than=ANY_REGISTRATION)

    def cancel_cut(self, node_id: int) -> None:
        """It did not go, and will not."""
        self._open.discard(node_id)

    def note_cut(self, node_id: int) -> None:
        """Its power went."""
        self._open.discard(node_id)
        self._view.count_event("lossy_crashes")
        self._impair_unflushed(node_id, newer_than=self._registration(node_id))

    def note_flip(self, topic: str, partition: int, flip: Flip) -> None:
        """A bit was flipped."""
        self._impair(flip.node_id, topic, partition).flips.append(flip)

    def note_damage(self, node_id: int, topic: str, partition: int) -> None:
        """A file of it is gone, or worse than flipped: it heals as it comes into the ISR again."""
        self._impair(node_id, topic, partition)

    def note_failed_sync(self, node_id: int, topic: str, partition: int) -> None:
        """Nobody knows what of its page cache is on its disk."""
        self._tainted.add(node_id)
        self.note_damage(node_id, topic, partition)

    def note_exempt(self, node_id: int) -> None:
        """A fault stays on it: other replicas must have all records."""
        self._exempt.add(node_id)

    # How it heals

    def look(self) -> None:
        """Let go of what has healed."""
        if not self._impaired or not self._view.has_controller:
            return
        image = self._view.image
        for replica, impairment in list(self._impaired.items()):
            if _is_gone(replica, impairment, image):
                del self._impaired[replica]
            elif self._is_back(replica, impairment, image):
                impairment.is_cut = False
                if not any(map(self._view.is_wrong, impairment.flips)):
                    if impairment.flips:
                        self._view.count_event("damaged_replicas_healed")
                    del self._impaired[replica]

    def outstanding(self) -> Iterator[str]:
        """Yield what will heal by itself and has not yet, for people: a scrub reads logs only.

        Other files are read at a start; until then the replica stays impaired, and does well.
        """
        self.look()
        for (node_id, topic, partition), impairment in self._impaired.items():
            in_logs = [one for one in impairment.flips if one.path.endswith(LOG)]
            if impairment.is_cut or any(map(self._view.is_wrong, in_logs)):
                yield f"{topic}-{partition} on node {node_id} has not healed: {impairment}"

    def _is_back(self, replica: Replica, impairment: Impairment, image: MetadataImage) -> bool:
        """True if the replica is in sync since what it lost; unread damage may be left."""
        node_id, topic, partition = replica
        state, broker = image.partition(topic, partition), image.brokers.get(node_id)
        if node_id in self._open or state is None or broker is None or node_id not in state.isr:
            return False
        if broker.broker_epoch <= impairment.newer_than:
            return False
        # the registration of this very process, or a late one of the process that lost power
        return self._view.runs_as(node_id, broker.broker_epoch)

    # Counting

    def _has_room(self, node_id: int, topic: str, state: PartitionImage) -> bool:
        promises = self._view.promises(topic)
        others = sum(
            one in self._exempt or (one, topic, state.partition) in self._impaired
            for one in state.replicas
            if one != node_id
        )
        # A topic with fewer replicas needs all of them.
        least = min(promises.min_insync_replicas, len(state.replicas))
        return promises.is_lossy or others < impaired_max(least)

    def _are_all_whole(self, replica: Replica) -> bool:
        state = self._view.image.partition(replica.topic, replica.partition)
        is_in_sync = state is not None and set(state.isr) == set(state.replicas)
        return is_in_sync and replica not in self._impaired

    def _impair_unflushed(self, node_id: int, *, newer_than: int) -> None:
        for topic, state in self._hosted(node_id):
            if not self._view.promises(topic.name).is_flushed:
                impairment = self._impair(node_id, topic.name, state.partition)
                impairment.is_cut = True
                impairment.newer_than = max(impairment.newer_than, newer_than)

    def _impair(self, node_id: int, topic: str, partition: int) -> Impairment:
        image, key = self._view.image, Replica(node_id, topic, partition)
        topic_id = image.topics[topic].topic_id
        known = self._impaired.get(key)
        if known is None or known.topic_id != topic_id:
            known = self._impaired[key] = Impairment(topic_id, image.offset)
        return known

    def _registration(self, node_id: int) -> int:
        broker = self._view.image.brokers.get(node_id)
        return ANY_REGISTRATION if broker is None else broker.broker_epoch

    def _hosted(self, node_id: int) -> Iterator[tuple[TopicImage, PartitionImage]]:
        partitions = self._view.image.partitions()
        return ((topic, state) for topic, state in partitions if node_id in state.replicas)


def _is_gone(replica: Replica, impairment: Impairment, image: MetadataImage) -> bool:
    topic = image.topics.get(replica.topic)
    is_older = image.offset < impairment.offset
    return not is_older and (topic is None or topic.topic_id != impairment.topic_id)
