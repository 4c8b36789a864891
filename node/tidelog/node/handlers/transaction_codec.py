"""Requests and answers of `tidelog.v1.TransactionCoordinator`, to and from its types. Pure.

What a request may hold at most is checked before anything is made of it.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from tidelog.broker.transactions.end_transactions import MEMBERS_MAX, Member
from tidelog.broker.transactions.transaction import (
    PREPARED,
    Producer,
    State,
    Topic,
    Transaction,
    TransactionPartition,
)
from tidelog.core.errors import InvalidRequestError
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.metadata.topics import TOPIC_ID_BYTES
from tidelog.node.handlers.group_codec import TOPIC_CHARACTERS_MAX
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    DescribeTransactionsResponse,
    EndTransactionsRequest,
    InitTransactionalProducerRequest,
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionTopic,
)

ADDITIONS_MAX = 1_000
"""Transactions of one AddPartitionsToTransactions."""
ADDED_MAX = 50_000
"""Partitions of one AddPartitionsToTransactions."""
IDS_MAX = 10_000
"""Transactional ids, or producer ids, that a request asks for."""
LISTED_STATES = {
    state.name: state for state in State if state not in (State.Dead, State.PrepareEpochFence)
}


def expected_producer(request: InitTransactionalProducerRequest) -> Producer | None:
    """Decode the caller's own id and epoch. Raises `InvalidRequestError` for one of the two."""
    has_id, has_epoch = request.HasField("producer_id"), request.HasField("producer_epoch")
    if has_id != has_epoch:
        raise InvalidRequestError("name both producer_id and producer_epoch, or neither")
    return Producer(request.producer_id, request.producer_epoch) if has_id else None


def check_additions(request: AddPartitionsToTransactionsRequest) -> None:
    """Raise `InvalidRequestError` for too many additions, or two of one transactional id."""
    if len(request.transactions) > ADDITIONS_MAX:
        raise InvalidRequestError(
            f"{len(request.transactions)} transactions: send at most {ADDITIONS_MAX} in a request"
        )
    count = sum(
        max(1, len(topic.partitions)) for one in request.transactions for topic in one.topics
    )
    if count > ADDED_MAX:
        raise InvalidRequestError(f"{count} partitions: send at most {ADDED_MAX} in a request")
    if len({one.transactional_id for one in request.transactions}) < len(request.transactions):
        raise InvalidRequestError("a transactional id is in the request twice: name it once")


def added_partitions(topics: Sequence[TransactionTopic]) -> list[TransactionPartition]:
    """Decode partitions to add. Raises `InvalidRequestError`."""
    return [
        TransactionPartition(Topic(topic.topic_id, topic.topic), number)
        for topic in topics
        if _is_named(topic)
        for number in topic.partitions
    ]


def _is_named(topic: TransactionTopic) -> bool:
    """Return True. Raises `InvalidRequestError` for what can be no partition of a transaction."""
    if not 0 < len(topic.topic) <= TOPIC_CHARACTERS_MAX:
        raise InvalidRequestError(
            f"a topic's name of {len(topic.topic)} characters: names have 1 to "
            f"{TOPIC_CHARACTERS_MAX}"
        )
    if len(topic.topic_id) != TOPIC_ID_BYTES:
        raise InvalidRequestError(
            f"a topic id of {len(topic.topic_id)} bytes: a transaction's topics have "
            f"{TOPIC_ID_BYTES}"
        )
    if topic.topic == TRANSACTIONS_TOPIC:
        raise InvalidRequestError(
            f"{TRANSACTIONS_TOPIC} is in no transaction: choose another topic"
        )
    if min(topic.partitions, default=0) < 0:
        raise InvalidRequestError(f"partition {min(topic.partitions)}: numbers begin with 0")
    return True


def decode_members(request: EndTransactionsRequest) -> list[Member]:
    """Decode the transactions to commit. Raises `InvalidRequestError` for too many."""
    if len(request.members) > MEMBERS_MAX:
        raise InvalidRequestError(
            f"{len(request.members)} members: at most {MEMBERS_MAX} end in one call"
        )
    return [
        Member(one.transactional_id, Producer(one.producer_id, one.producer_epoch))
        for one in request.members
    ]


def list_filter(request: ListTransactionsRequest) -> Callable[[Transaction], bool]:
    """Decode which ids a page has. Raises `InvalidRequestError`."""
    unknown = next((name for name in request.states if name not in LISTED_STATES), None)
    if unknown is not None:
        raise InvalidRequestError(
            f"there is no state {unknown[:40]!r}: name some of {', '.join(LISTED_STATES)}"
        )
    if len(request.producer_ids) > IDS_MAX:
        raise InvalidRequestError(
            f"{len(request.producer_ids)} producer ids: at most {IDS_MAX}, send several"
        )
    states = {LISTED_STATES[name] for name in request.states}
    ids, after = set(request.producer_ids), request.after_transactional_id

    def is_wanted(one: Transaction) -> bool:
        return (
            one.transactional_id > after
            and (not states or one.state in states)
            and (not ids or one.producer.id in ids)
        )

    return is_wanted


def check_transactional_ids(transactional_ids: Sequence[str]) -> None:
    """Raise `InvalidRequestError` for a request that names too many ids."""
    if len(transactional_ids) > IDS_MAX:
        raise InvalidRequestError(
            f"{len(transactional_ids)} transactional ids: at most {IDS_MAX}, send several requests"
        )


def encode_listed(one: Transaction, now_ms: int) -> ListTransactionsResponse.Transaction:
    """Encode an id of a page."""
    return ListTransactionsResponse.Transaction(
        transactional_id=one.transactional_id,
        producer_id=one.producer.id,
        producer_epoch=one.producer.epoch,
        state=one.state.name,
        age_ms=_age_ms(one, now_ms),
    )


def encode_described(
    described: DescribeTransactionsResponse.Transaction,
    one: Transaction,
    partitions: Iterable[TransactionPartition],
    *,
    coordinator_epoch: int,
    now_ms: int,
) -> None:
    """Fill a description; `partitions` are in order."""
    described.producer_id, described.producer_epoch = one.producer
    described.state = one.state.name
    described.transaction_timeout_ms = one.timeout_ms
    described.coordinator_epoch = coordinator_epoch
    if (start_ms := _start_ms(one)) is not None:
        described.start_ms = start_ms
    described.age_ms = _age_ms(one, now_ms)
    for topic, of_topic in groupby(partitions, key=lambda each: each.topic):
        numbers = [each.number for each in of_topic]
        described.topics.add(topic=topic.name, topic_id=topic.id, partitions=numbers)


def _start_ms(one: Transaction) -> int | None:
    """Return the begin of the transaction that is open, or is being ended."""
    return one.start_ms if one.state is State.Ongoing or one.state in PREPARED else None


def _age_ms(one: Transaction, now_ms: int) -> int:
    start_ms = _start_ms(one)
    return 0 if start_ms is None else max(0, now_ms - start_ms)
