"""Checks of transactional produce requests that need no log: who writes, and by which id. Pure.

    a request with a transactional id     has acks -1, and batches of one producer in one epoch
    a batch in it                         is transactional, no control batch, has id, epoch and
                                          sequence, and is alone in its partition's records

Batches whose bytes are damaged pass here, and are refused by `validate_batches`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.partition.produce import Produce, ProduceData
from tidelog.broker.partition_adder import Producer, check_transactional_id
from tidelog.broker.replica.leader import ACKS_ALL
from tidelog.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidRequiredAcksError,
)
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, Buffer, parse_header


def check_request(request: Produce) -> None:
    """Check a request with a transactional id as a whole; iterates over its partitions.

    Raises `InvalidRequestError`, `InvalidRequiredAcksError`, `InvalidRecordError`: append nothing.
    """
    check_transactional_id(request.transactional_id)
    if request.acks != ACKS_ALL:
        raise InvalidRequiredAcksError(
            f"acks is {request.acks}: transactional batches need -1 (all), or a committed "
            "transaction could lose them"
        )
    producers = _producers(request.partitions)
    if len(producers) > 1:
        raise InvalidRecordError(
            f"batches of {len(producers)} producers under one transactional id, such as "
            f"{tuple(producers[0])} and {tuple(producers[1])}: send those of each epoch in "
            "requests of their own"
        )


def producer_of(records: Buffer) -> Producer:
    """Producer of a partition's records in a request with a transactional id.

    Raises `InvalidRecordError`, `CorruptMessageError`: append nothing.
    """
    header = parse_header(records)
    if header.attributes & CONTROL_FLAG:
        raise InvalidRecordError("control batches are the coordinators' alone: send EndTransaction")
    if not header.attributes & TRANSACTIONAL_FLAG:
        raise InvalidRecordError(
            "the request has a transactional id and the batch is not transactional: set the bit in "
            "its attributes, or send it without the id"
        )
    if min(header.producer_id, header.producer_epoch, header.base_sequence) < 0:
        raise InvalidRecordError(
            f"a transactional batch has producer id {header.producer_id}, epoch "
            f"{header.producer_epoch} and base sequence {header.base_sequence}: get the first two "
            "by InitTransactionalProducer, and number the records from 0 in each partition"
        )
    if len(records) > header.size_in_bytes:
        raise InvalidRecordError("transactional batches are answered one by one: send each alone")
    return Producer(header.producer_id, header.producer_epoch)


def _producers(partitions: Iterable[ProduceData]) -> list[Producer]:
    found: dict[Producer, None] = {}
    for data in partitions:
        try:
            header = parse_header(data.records)
        except CorruptMessageError:
            continue
        found[Producer(header.producer_id, header.producer_epoch)] = None
    return list(found)
