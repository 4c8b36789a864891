"""Mutants of what foreign clients do and Kafka takes: habits, first records, batches in part."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidelog.broker.coordinator.offsets import CommittedOffsets
from tidelog.broker.partition.appender import Appender
from tidelog.broker.partition.opening_appends import OpeningAppends
from tidelog.broker.partition.produce import ProduceResult
from tidelog.core.errors import InvalidRecordError, InvalidRequestError, InvalidTimestampError
from tidelog.kafka.messages.produce_response import PartitionProduceResponse
from tidelog.log import validation
from tidelog.log.record_check import RecordRules, check_records
from tidelog.node.kafka_apis import produce
from tidelog.node.kafka_apis.list_offsets import ListOffsetsHandler
from tidelog.records.batch import BatchHeader
from tidelog.simulation.mutants.mutant import replaces
from tidelog.v1 import common_pb2

_check_producer = validation._check_producer

_list_offsets = ListOffsetsHandler.__call__
_commit = CommittedOffsets.commit
_produced = produce._partition
_ANY_MS = 2**63 - 1


@replaces(validation, "_derived")
def max_timestamps_believed(
    header: BatchHeader, batch: memoryview, _newest_ms: int
) -> validation.ProducedBatch:
    """A batch's newest timestamp is what its header says: retention deletes records early."""
    return header, batch


@replaces(validation, "check_records")
def times_ahead_believed(header: BatchHeader, batch: memoryview, rules: RecordRules) -> int:
    """Records may be as far ahead as they are if their batch's header says that none is."""
    if header.max_timestamp > rules.newest_ms:
        raise InvalidTimestampError("the header's newest timestamp is too far ahead")
    return check_records(header, batch, rules._replace(newest_ms=_ANY_MS))


@replaces(validation, "_check_producer")
def sequences_without_id_refused(header: BatchHeader, **named: Any) -> None:
    """A sequence is refused of a producer that has no id, as default producers send it."""
    if header.producer_id < 0 <= header.base_sequence:
        raise InvalidRecordError("a sequence requires a producer id")
    _check_producer(header, **named)


@replaces(Appender, "_append_once_open")
def first_batches_refused(_self: Appender, _slot: Any, error: Any = None) -> Any:
    """A batch for a partition that is being opened is refused at once."""
    raise error or InvalidRequestError("nobody waits")


@replaces(OpeningAppends, "is_free")
def first_batches_overtaken(_self: OpeningAppends, _where: Any) -> bool:
    """Batches of a partition that is open by now overtake those that wait for its opening."""
    return True


@replaces(ListOffsetsHandler, "__call__")
async def replicas_refused(self: ListOffsetsHandler, request: Any, call: Any) -> Any:
    """A look-up of offsets that names a replica is no follower's of this cluster: refused."""
    response = await _list_offsets(self, request, call)
    if request.replica_id >= 0:
        for topic in response.topics:
            for one in topic.partitions:
                one.error_code = common_pb2.CLUSTER_AUTHORIZATION_FAILED
    return response


@replaces(CommittedOffsets, "commit")
def epochs_ahead_refused(
    self: CommittedOffsets, group_id: str, offsets: Any, topics: Any, *given: Any, **named: Any
) -> Any:
    """A commit is refused that names a leader epoch which no leader of the partition has had."""
    offsets = list(offsets)
    decision = _commit(self, group_id, offsets, topics, *given, **named)
    for place, result in enumerate(decision.results):
        if result.error is None and _is_ahead(result, topics):
            error = InvalidRequestError("no leader has had this epoch")
            decision.results[place] = result._replace(error=error)
    return decision


@replaces(produce, "_partition")
def nobody_blamed(asked: Any, result: ProduceResult) -> PartitionProduceResponse:
    """A refused batch is answered without the records that are to blame (KIP-467)."""
    return _produced(asked, replace(result, record_errors=()))


def _is_ahead(result: Any, topics: Any) -> bool:
    partition = result.partition
    newest = topics.leader_epoch(partition.topic_id, partition.partition)
    return bool(result.committed.leader_epoch > newest)
