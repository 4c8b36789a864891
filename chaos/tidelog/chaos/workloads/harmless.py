"""Which requests cannot change anything, whatever a cluster makes of them. Pure.

What is malformed by chance may be well formed: a flipped bit makes another topic's name. Nobody
who sends such may be surprised that it works, so it is recognized here, for each RPC, before it is
sent. Neither is an identity malformed that is only stolen: a true broker epoch, or a true voter's
term, is believed, see docs/chaos/hostile-clients.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidelog.chaos.workloads.malformed_batches import is_sound
from tidelog.chaos.workloads.malformed_fields import Known

EPOCHS_END = 2**40
"""No epoch, offset or term of a real cluster comes to it."""
PARTITIONS_MAX = 10_000
_TERMS_END = 2**62
_AWAY, _MEMBER_EPOCHS_END = -2, 2**20
_WAIT_MS_MAX = 200
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_NAME_LENGTH_MAX = 249

Harmless = Callable[[Any, Known], bool]  # any: each takes its own request


def is_harmless(path: str, request: Any, known: Known) -> bool:  # as above
    """True if the request, to this RPC, leaves a cluster where `known` is so as it is."""
    return HARMLESS[path](request, known)


def _always(request: Any, known: Known) -> bool:  # as above
    del request, known
    return True


def _finds_no_coordinator(request: Any, known: Known) -> bool:  # as above
    del known
    # The first call ever creates a topic.
    return not request.group_ids and not request.transactional_ids


def _is_no_members(request: Any, known: Known) -> bool:  # as above
    """True for a heartbeat that none of the known groups takes."""
    is_refused = request.member_epoch < _AWAY or request.member_epoch >= _MEMBER_EPOCHS_END
    is_stranger = request.member_id not in known.members and request.member_epoch != 0
    return request.group_id not in known.groups or is_refused or is_stranger


def _is_no_members_stream(request: Any, known: Known) -> bool:  # as above
    """True for the same on a stream, which would take the place of a member's own."""
    is_own = request.group_id in known.groups and request.member_id in known.members
    return not is_own and _is_no_members(request, known)


def _commits_nothing(request: Any, known: Known) -> bool:  # as above
    is_stranger = bool(request.member_id) and request.member_id not in known.members
    return (
        request.group_id not in known.groups
        or is_stranger
        or all(
            topic.topic not in known.names or all(one.offset < 0 for one in topic.partitions)
            for topic in request.topics
        )
    )


def _is_no_transaction(request: Any, known: Known) -> bool:  # as above
    """True for a transactional id that begins like none of the known groups."""
    return not _begins_like_a_group(request.transactional_id, known)


def _are_no_transactions(request: Any, known: Known) -> bool:  # as above
    return request.group not in known.groups and not any(
        _begins_like_a_group(one.transactional_id, known) for one in request.members
    )


def _begins_like_a_group(transactional_id: str, known: Known) -> bool:
    return transactional_id.partition("/")[0] in known.groups


def _aborts_nothing(request: Any, known: Known) -> bool:  # as above
    is_outside = not 0 <= request.start_offset < EPOCHS_END
    return request.topic not in known.names or is_outside


def _deletes_no_offset(request: Any, known: Known) -> bool:  # as above
    return request.group_id not in known.groups or not any(
        topic.topic in known.names for topic in request.topics
    )


def _deletes_no_group(request: Any, known: Known) -> bool:  # as above
    return not set(request.group_ids) & set(known.groups)


def _is_produce_refused(request: Any, known: Known) -> bool:  # as above
    return all(
        one.topic not in known.names
        or not 0 <= one.partition < known.partitions
        or len(one.topic_id) not in (0, 16)
        or not is_sound(one.records)
        for one in request.partitions
    )


def _is_no_follower(request: Any, known: Known) -> bool:  # as above
    del known
    is_follower = request.HasField("replica_id") and _is_plausible(request.replica_epoch)
    return not is_follower and request.max_wait_ms <= _WAIT_MS_MAX


def _deletes_nothing(request: Any, known: Known) -> bool:  # as above
    return all(
        one.topic not in known.names or one.offset < -1 or one.offset >= EPOCHS_END
        for one in request.partitions
    )


def _creates_nothing(request: Any, known: Known) -> bool:  # as above
    del known
    return request.validate_only or all(
        not _is_name(one.name) or one.partitions < 0 or one.partitions > PARTITIONS_MAX
        for one in request.topics
    )


def _adds_nothing(request: Any, known: Known) -> bool:  # as above
    return request.validate_only or all(one.name not in known.names for one in request.topics)


def _alters_nothing(request: Any, known: Known) -> bool:  # as above
    return request.validate_only or all(
        one.type == 0 and one.name not in known.names for one in request.resources
    )


def _names_nothing(request: Any, known: Known) -> bool:  # as above
    return not set(request.names) & set(known.names)


def _elects_nobody(request: Any, known: Known) -> bool:  # as above
    return bool(request.topics) and all(
        one.name not in known.names or _are_all_outside(one.partitions, known)
        for one in request.topics
    )


def _are_all_outside(partitions: Iterable[int], known: Known) -> bool:
    numbers = list(partitions)
    return bool(numbers) and all(not 0 <= number < known.partitions for number in numbers)


def _creates_no_topic_by_the_way(request: Any, known: Known) -> bool:  # as above
    return not request.allow_auto_topic_creation or not any(
        _is_name(name) and name not in known.names for name in request.topics
    )


def _is_of_no_broker(request: Any, known: Known) -> bool:  # as above
    del known
    return not _is_plausible(request.broker_epoch)


def _is_of_another_cluster(request: Any, known: Known) -> bool:  # as above
    return bool(request.cluster_id != known.cluster_id)


def _reports_nobody(request: Any, known: Known) -> bool:  # as above
    del known
    return not _is_plausible(request.broker_epoch) and not _is_plausible(request.reporter_epoch)


def _holds_nothing(request: Any, known: Known) -> bool:  # as above
    del known
    return bool(request.hold_ms < 0)


def _is_no_word_of_a_voter(request: Any, known: Known) -> bool:  # as above
    """True if the sender is no voter, or the message ends its stream: no hello came before it."""
    is_voter = request.sender_id in known.controller_ids
    is_refused = not request.HasField("hello") and not 0 <= request.term < _TERMS_END
    return not is_voter or is_refused


def _is_plausible(epoch: int) -> bool:
    return 0 < epoch < EPOCHS_END


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _NAME_LENGTH_MAX and set(name) <= _NAME_CHARACTERS


_ADMIN_CHANGES: Mapping[str, Harmless] = {
    "CreateTopics": _creates_nothing,
    "DeleteTopics": _names_nothing,
    "AlterConfigs": _alters_nothing,
    "ElectLeaders": _elects_nobody,
    "CreatePartitions": _adds_nothing,
}
HARMLESS: Mapping[str, Harmless] = {
    "/tidelog.v1.Broker/Produce": _is_produce_refused,
    "/tidelog.v1.Broker/ProduceStream": _is_produce_refused,
    "/tidelog.v1.Broker/Fetch": _is_no_follower,
    "/tidelog.v1.Broker/FetchStream": _is_no_follower,
    "/tidelog.v1.Broker/ListOffsets": _always,
    "/tidelog.v1.Broker/DeleteRecords": _deletes_nothing,
    "/tidelog.v1.Broker/OffsetForLeaderEpoch": _always,
    "/tidelog.v1.Broker/DescribeLogDirs": _always,
    "/tidelog.v1.Broker/DescribeProducers": _always,
    "/tidelog.v1.Broker/Metadata": _creates_no_topic_by_the_way,
    # It takes an id, whatever it says: those are never counted.
    "/tidelog.v1.Broker/InitProducerId": _always,
    "/tidelog.v1.Broker/WriteTransactionMarkers": _is_of_another_cluster,
    "/tidelog.v1.Broker/AbortHangingTransaction": _aborts_nothing,
    # Groups that are not known are nobody's: they may come and go.
    "/tidelog.v1.Coordinator/FindCoordinator": _finds_no_coordinator,
    "/tidelog.v1.Coordinator/ConsumerGroupHeartbeat": _is_no_members,
    "/tidelog.v1.Coordinator/GroupStream": _is_no_members_stream,
    "/tidelog.v1.Coordinator/OffsetCommit": _commits_nothing,
    "/tidelog.v1.Coordinator/TransactionalOffsetCommit": _commits_nothing,
    "/tidelog.v1.Coordinator/OffsetFetch": _always,
    "/tidelog.v1.Coordinator/OffsetDelete": _deletes_no_offset,
    "/tidelog.v1.Coordinator/ListGroups": _always,
    "/tidelog.v1.Coordinator/DescribeGroups": _always,
    "/tidelog.v1.Coordinator/DeleteGroups": _deletes_no_group,
    "/tidelog.v1.TransactionCoordinator/InitTransactionalProducer": _is_no_transaction,
    "/tidelog.v1.TransactionCoordinator/AddPartitionsToTransactions": _is_of_another_cluster,
    "/tidelog.v1.TransactionCoordinator/EndTransaction": _is_no_transaction,
    "/tidelog.v1.TransactionCoordinator/EndTransactions": _are_no_transactions,
    "/tidelog.v1.TransactionCoordinator/AbortTransaction": _is_no_transaction,
    "/tidelog.v1.TransactionCoordinator/ListTransactions": _always,
    "/tidelog.v1.TransactionCoordinator/DescribeTransactions": _always,
    "/tidelog.v1.Admin/DescribeTopics": _always,
    "/tidelog.v1.Admin/DescribeCluster": _always,
    "/tidelog.v1.Admin/DescribeConfigs": _always,
    "/tidelog.v1.Node/Status": _always,
    "/tidelog.v1.Node/PrepareStop": _holds_nothing,
    "/tidelog.v1.Node/ListEvents": _always,
    "/tidelog.v1.Controller/RegisterBroker": _is_of_another_cluster,
    "/tidelog.v1.Controller/BrokerHeartbeat": _is_of_no_broker,
    "/tidelog.v1.Controller/AlterPartition": _is_of_no_broker,
    "/tidelog.v1.Controller/AllocateProducerIds": _is_of_no_broker,
    "/tidelog.v1.Controller/ReportReplicaState": _is_of_no_broker,
    "/tidelog.v1.Controller/ReportUnreachableBroker": _reports_nobody,
    # A broker that hangs up is dialled before it is fenced.
    "/tidelog.v1.Controller/FollowMetadata": _always,
    "/tidelog.v1.Controller/DescribeQuorum": _always,
    "/tidelog.v1.RaftPeer/Exchange": _is_no_word_of_a_voter,
    "/grpc.health.v1.Health/Check": _always,
    "/grpc.health.v1.Health/List": _always,
    "/grpc.health.v1.Health/Watch": _always,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": _always,
    **{f"/tidelog.v1.Admin/{name}": one for name, one in _ADMIN_CHANGES.items()},
}
