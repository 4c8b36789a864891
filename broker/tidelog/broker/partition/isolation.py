"""Isolation levels of consumers: the end of the records that each may read (KIP-98).

A leader's log knows which transactions are decided, also right after an election: markers and
transactional batches are replicated like all records.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import InvalidRequestError
from tidelog.log.partition_log import PartitionLog
from tidelog.v1.data_pb2 import READ_COMMITTED, READ_UNCOMMITTED


def end_offset_of(partition_log: PartitionLog, isolation_level: int) -> int:
    """Exclusive end of the records that consumers of this level may read.

    Raises `InvalidRequestError` for a level that does not exist: to read more than was meant
    would be worse.
    """
    if isolation_level == READ_COMMITTED:
        return partition_log.last_stable_offset
    if isolation_level == READ_UNCOMMITTED:
        return partition_log.high_watermark
    raise InvalidRequestError(
        f"there is no isolation level {isolation_level}: it is 0 (read_uncommitted) or "
        "1 (read_committed)",
    )
