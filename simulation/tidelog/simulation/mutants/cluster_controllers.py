"""Mutants of the controllers' decisions, and of what a broker makes of their images."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tidelog.broker.partition.log_directory import LogDirectory
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.core.errors import KafkaError
from tidelog.metadata import attempts, brokers, damage, delta, election, replication
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.controller import Controller
from tidelog.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.plans import Slice
from tidelog.metadata.topic_rules import TopicRules
from tidelog.net.own_cluster import OwnCluster
from tidelog.node import start_record
from tidelog.node.image_publisher import ImagePublisher
from tidelog.simulation.mutants.mutant import replaces
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import (
    NOTHING,
    AlterPartitionRequest,
    RegisterBrokerRequest,
    StartLoss,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord

_eligible = election._find_eligible
_find = PartitionMap.find
_choose_unclean_leader = election._choose_unclean_leader
_fence = brokers._fence
MANY = 1 << 20
"""Partitions, more than a cluster has."""


@replaces(OwnCluster, "check")
def foreign_calls_served(_self: OwnCluster, _message: object, *, who: str) -> None:
    """Nobody compares the cluster that a node's request or answer names (decision 0024)."""
    del who


# Elections


@replaces(election, "_find_eligible")
def eligible_replicas_forgotten(_partition: PartitionImage, **_: Any) -> tuple[int, ...]:
    """A replica that leaves an ISR below min.insync.replicas is no longer eligible (KIP-966)."""
    return ()


@replaces(election, "_find_eligible")
def lossy_replicas_eligible(
    partition: PartitionImage, *, isr: tuple[int, ...], without: Sequence[int]
) -> tuple[int, ...]:
    """A replica whose start lost records stays eligible (KIP-966)."""
    stay = tuple(one for one in partition.damaged if one in without)
    return _eligible(partition, isr=isr, without=stay)


@replaces(election, "_is_lossy")
def lossy_start_not_forgotten(_loss: StartLoss, _rules: TopicRules) -> bool:
    """A replica whose start lost records stays among those who hold all (KIP-966)."""
    return False


@replaces(start_record, "_unreported")
def unreported_loss_forgotten(_found: dict[str, str] | None) -> StartLoss:
    """A loss that a process had no time to report is not reported by the next."""
    return NOTHING


@replaces(election, "_choose_unclean_leader")
def unclean_election_on(partition: PartitionImage, **rest: Any) -> int | None:
    """Anyone leads when nobody in sync is left, whatever the topic says."""
    return _choose_unclean_leader(partition, **{**rest, "is_unclean": True})


@replaces(election, "_choose_unclean_leader")
def last_leader_before_eligible(partition: PartitionImage, **rest: Any) -> int | None:
    """The last leader leads again though others are eligible and it lost something."""
    return _choose_unclean_leader(partition, **{**rest, "elr": ()})


@replaces(damage, "_take_out")
def damage_not_acted_on(
    _broker_id: int, _topic: TopicImage, _partition: PartitionImage, _image: MetadataImage
) -> list[MetadataRecord]:
    """A damaged replica stays where it is."""
    return []


@replaces(Controller, "has_unsettled")
def rest_of_a_fencing_forgotten(_self: Controller, _image: MetadataImage, _now_ms: int) -> bool:
    """Partitions for which a fencing's batch had no room stay as they are (decision 0074)."""
    return False


@replaces(brokers, "_fence")
def fenced_in_one_batch(
    to_fence: Any, leaving: Any, image: Any, context: ControllerContext, **rest: Any
) -> tuple[list[MetadataRecord], bool]:
    """A fencing is one batch however many partitions it changes (decision 0074)."""
    return _fence(to_fence, leaving, image, replace(context, part=Slice(MANY)), **rest)


# Late attempts


@replaces(attempts, "check_attempt")
def late_attempt_taken(_attempt: int, _newest: int) -> None:
    """An attempt is followed though a later one of its broker was decided on."""


@replaces(attempts, "check_controller_epoch")
def attempt_of_another_controller_epoch_taken(_asked: int, _own: int) -> None:
    """A controller follows an attempt that was meant for another one."""


@replaces(brokers, "is_late_registration")
def late_registration_taken(_request: RegisterBrokerRequest, _registered: int) -> bool:
    """A registration of a process that is gone replaces its successor's."""
    return False


# Incarnations and epochs


@replaces(MetadataImage, "has_live")
def any_incarnation_joins(self: MetadataImage, broker_id: int, _broker_epoch: int) -> bool:
    """A restarted replica comes into the ISR on its earlier self's account (KIP-903)."""
    return self.is_alive(broker_id)


@replaces(replication, "current_registration")
def earlier_incarnation_decides(
    image: MetadataImage, broker_id: int, _broker_epoch: int
) -> BrokerImage:
    """A leader's earlier process changes the ISR (KIP-631)."""
    return image.brokers[broker_id]


@replaces(replication, "_check_sender")
def deposed_leader_decides(
    _broker_id: int, _asked: AlterPartitionRequest.Partition, _partition: PartitionImage
) -> None:
    """A leader that was paused, and deposed meanwhile, changes the ISR."""


@replaces(replication, "check_partition_epoch")
def isr_decided_on_older_isr(_asked: int, _partition: PartitionImage) -> None:
    """A leader changes an ISR that it does not know (KIP-497)."""


@replaces(delta, "is_void")
def decided_on_stale_image(image: MetadataImage, batch: MetadataBatch) -> bool:
    """A batch applies though its controller did not know what was committed before."""
    return batch.controller_epoch < image.controller_epoch


@replaces(brokers, "_is_up_to_date")
def unfenced_before_it_knows(_request: object, broker: BrokerImage) -> bool:
    """A broker is unfenced before it has applied its own registration (KIP-631)."""
    return broker.is_fenced


# Images and topics


@replaces(ImagePublisher, "on_image")
def stale_image_accepted(self: ImagePublisher, image: MetadataImage) -> None:
    """A broker acts on images older than its own registration (decision 0002)."""
    self._newest = image
    if self._broker_epoch is not None:
        self._replica_manager.on_image(image)


@replaces(PartitionMap, "find")
def old_topic_id_accepted(
    self: PartitionMap, topic: str, partition: int, _topic_id: bytes = b""
) -> Any:
    """A request for a topic that was deleted is served from the one that has its name now."""
    return _find(self, topic, partition)


@replaces(LogDirectory, "open_log")
async def old_folder_taken_over(
    self: LogDirectory, topic: str, partition: int, *, topic_id: bytes, config: Any
) -> Any:
    """A topic that is created again begins with what the deleted one left."""
    try:
        return await self._open(topic, partition, topic_id=topic_id, config=config)
    except KafkaError as error:
        if error.code != common_pb2.INCONSISTENT_TOPIC_ID:
            raise
    owner = self._topic_id(f"{topic}-{partition}") or topic_id
    return await self._open(topic, partition, topic_id=owner, config=config)
