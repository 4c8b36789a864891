"""Errors of transactions: a class per wire code.

Import them from `tidelog.core.errors`, which has all of the tree.
"""

from __future__ import annotations

from tidelog.core.error_base import KafkaError
from tidelog.v1 import common_pb2

__all__ = [
    "ConcurrentTransactionsError",
    "InvalidProducerIdMappingError",
    "InvalidTransactionTimeoutError",
    "InvalidTxnStateError",
    "ProducerFencedError",
    "TransactionCoordinatorFencedError",
    "TransactionalIdNotFoundError",
]


class InvalidTxnStateError(KafkaError):
    """The transaction was ended otherwise, or has not begun. Nothing was changed."""

    code = common_pb2.INVALID_TXN_STATE


class InvalidProducerIdMappingError(KafkaError):
    """The transactional id has another producer id, or was removed as unused: initialise again."""

    code = common_pb2.INVALID_PRODUCER_ID_MAPPING


class InvalidTransactionTimeoutError(KafkaError):
    """A transaction timeout that is not above 0, or above transaction.max.timeout.ms."""

    code = common_pb2.INVALID_TRANSACTION_TIMEOUT


class ConcurrentTransactionsError(KafkaError):
    """The producer's transaction before is being ended. Nothing was changed."""

    code = common_pb2.CONCURRENT_TRANSACTIONS
    is_retriable = True


class TransactionCoordinatorFencedError(KafkaError):
    """A newer coordinator of the producer's transactions has written: the caller is none now."""

    code = common_pb2.TRANSACTION_COORDINATOR_FENCED


class ProducerFencedError(KafkaError):
    """A newer producer of the id was initialised, or the coordinator ended the transaction."""

    code = common_pb2.PRODUCER_FENCED


class TransactionalIdNotFoundError(KafkaError):
    """Its coordinator knows no transactional id of this name."""

    code = common_pb2.TRANSACTIONAL_ID_NOT_FOUND
