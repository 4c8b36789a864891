# pyright: strict
"""The whole client without `await`: every class and method of `tidelog.client.sync`.

    python docs/examples/whole_sync_client.py [127.0.0.1:9192]

For scripts, notebooks and threads. The classes take the options of the asyncio ones, which
`whole_client.py` goes through; here are the calls.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from uuid import uuid4

from tidelog.client import (
    BulkMetadata,
    EventFilter,
    GroupMetadata,
    NewTopic,
    Record,
    RecordMetadata,
    TopicPartition,
    TransactionMember,
    require_all,
)
from tidelog.client.sync import Admin, CallerError, Consumer, LoopThread, Producer


def number_to_bytes(_topic: str, number: int) -> bytes:
    """A value, as decimal digits."""
    return b"%d" % number


def number_of_bytes(_topic: str, data: bytes | None) -> int:
    """The value again; a null counts as 0."""
    return int(data or b"0")


def make_topics(admin: Admin, name: str) -> None:
    """Topics: made, listed, described, configured."""
    admin.create_topic(name, partitions=1, replication_factor=3)
    require_all(admin.create_topics([NewTopic(f"{name}-2", partitions=1, replication_factor=3)]))
    admin.create_partitions(name, 2)
    assert {name, f"{name}-2"} <= set(admin.list_topics())
    admin.alter_configs(name, {"retention.ms": "86400000"})
    assert admin.describe_configs(name)["retention.ms"].value == "86400000"
    assert list(admin.describe_topics([name])) == [name]
    topic = admin.describe_topic(name)
    print(f"{topic.name}: leaders {[one.leader for one in topic.partitions]}")


def look_at_the_cluster(admin: Admin, name: str) -> None:
    """Brokers, controllers, and what happened to a topic."""
    for broker in admin.describe_cluster().brokers:
        print(f"node {broker.broker_id}: {admin.describe_node(broker.address).version}")
    print(f"node {admin.describe_quorum().leader_id} leads the controllers")
    print(f"{len(admin.list_events(EventFilter(topic=name)).events)} events of the topic")
    print(f"folders of brokers {sorted(admin.describe_log_dirs())}")
    print(f"producers of {list(admin.describe_producers([(name, 0)]))}")


def written_for_a_job(bootstrap: str, topic: str) -> TransactionMember:
    """Leave a transaction open for the job's end."""
    with Producer(bootstrap, transactional_id=f"{topic}/0") as producer:
        producer.begin_transaction()
        producer.send(topic, b"of a job", partition=0)
        member = producer.hand_over_transaction()
    assert member is not None  # something was sent
    return member


def write_in_transactions(bootstrap: str, topic: str) -> None:
    """Records that become visible together; see `whole_transactions.py`."""
    nobody = GroupMetadata(f"{topic}-group", "", -1, None)
    with Admin(bootstrap) as admin, Producer(bootstrap, transactional_id=topic) as producer:
        admin.create_topic(topic, partitions=1, replication_factor=3)
        with producer.transaction():
            producer.send(topic, b"together", partition=0)
        producer.begin_transaction()
        producer.send_offsets_to_transaction({(topic, 0): 1}, nobody)
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send(topic, b"void", partition=0)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"void", partition=0)
        print(f"{len(admin.list_transactions())} transactional ids")
        print(f"described {list(admin.describe_transactions([topic]))}")
        admin.abort_transaction(topic)
        admin.end_transactions(topic, [written_for_a_job(bootstrap, topic)], timeout_ms=30_000)
        for found in admin.find_hanging_transactions(topics=[topic]):
            admin.abort_hanging_transaction((found.topic, found.partition), start_offset=found[4])
        admin.delete_topic(topic)


def write(bootstrap: str, topic: str) -> None:
    """`send` waits for one record; `send_many` and `submit` are the fast ones."""
    with Producer(bootstrap, value_serializer=number_to_bytes) as producer:
        assert producer.partitions_for(topic) == [0, 1]
        stored: RecordMetadata = producer.send(topic, value=1, partition=0)
        assert stored.offset == 0
        later: Future[RecordMetadata] = producer.submit(topic, value=2, key=b"k", partition=0)
        done: BulkMetadata = producer.send_many(topic, range(3, 50), partition=0)
        much_later: Future[BulkMetadata] = producer.submit_many(topic, [50], partition=1)
        producer.flush()
        assert later.result().offset == 1
        assert done.acknowledged + much_later.result().acknowledged == 48


def read(bootstrap: str, topic: str) -> None:
    """Lists, batches and single records of the same consumer."""
    with Consumer(bootstrap, value_deserializer=number_of_bytes) as consumer:
        partitions = [TopicPartition(topic, one) for one in consumer.partitions_for(topic)]
        consumer.subscribe([topic])
        assert consumer.assignment() == set(partitions)
        consumer.assign(partitions)
        read_lists(consumer)
        move_about(consumer, partitions)
        consumer.assign(partitions[:1])
        consumer.seek_to_beginning()
        batches = consumer.getbatches(timeout_ms=5_000)
        print(f"{len(batches)} batches, {sum(len(one) for one in batches)} records")
        consumer.seek(partitions[0], 10)
        for record in consumer:
            print(f"the value at offset {record.offset} is {record.value}")
            break


def read_lists(consumer: Consumer[bytes | None, int]) -> None:
    """Lists of records, until there are no more."""
    records: list[Record[bytes | None, int]] = []
    while any(consumer.lag().values()):
        records += consumer.getmany(timeout_ms=1_000)
    assert sum(record.value for record in records) == sum(range(51))


def move_about(consumer: Consumer[bytes | None, int], partitions: Sequence[TopicPartition]) -> None:
    """Read and change the consumer's positions."""
    ends = consumer.end_offsets(partitions)
    assert consumer.position(partitions[0]) == ends[partitions[0]]
    assert set(consumer.beginning_offsets(partitions).values()) == {0}
    consumer.seek_to_end()
    now = datetime.now(UTC)
    assert consumer.offsets_for_times({partitions[0]: now})[partitions[0]].offset == -1
    consumer.seek_to_time({partitions[0]: now})
    consumer.tail(partitions, 1)
    consumer.pause(*partitions)
    assert consumer.paused() == set(partitions)
    consumer.resume(*partitions)


def share(bootstrap: str, topic: str) -> None:
    """Members of a group share the partitions; what they are done with is committed."""
    with Consumer(bootstrap, group_id=topic, value_deserializer=number_of_bytes) as consumer:
        consumer.subscribe([topic])
        read = 0
        while read < 50:
            read += len(consumer.getmany(timeout_ms=1_000))
            consumer.extend_poll(1_000)
        consumer.commit_soon()
        consumer.commit({(topic, 1): 1})
        assert consumer.committed([(topic, 1)])[TopicPartition(topic, 1)] is not None
        consumer.seek_to_committed((topic, 1))
        print(f"epoch {consumer.group_metadata().epoch}")
        assert consumer.membership_error() is None
        consumer.unsubscribe()


def look_at_groups(admin: Admin, topic: str) -> None:
    """Groups: listed, described, moved, deleted."""
    assert topic in {one.group_id for one in admin.list_groups()}
    print(require_all(admin.describe_groups([topic]))[topic].state)
    offsets = admin.list_group_offsets(topic)
    assert sum(one.offset for one in offsets.values()) == 50
    assert set(admin.alter_group_offsets(topic, dict.fromkeys(offsets, 0)).values()) == {None}
    assert set(admin.delete_group_offsets(topic, [(topic, 0)]).values()) == {None}
    assert admin.delete_groups([topic]) == {topic: None}


def clear_up(admin: Admin, topic: str) -> None:
    """Offsets, elections, and deleting: some records, then all of it."""
    partition = TopicPartition(topic, 0)
    assert require_all(admin.list_offsets([partition], at="latest"))[partition].offset == 49
    assert admin.delete_records({partition: -1}) == {partition: 49}
    print(f"{len(admin.elect_leaders([topic]))} partitions asked about their leader")
    admin.delete_topic(f"{topic}-2")
    assert set(admin.delete_topics([topic]).values()) == {None}
    for broker in admin.describe_cluster().brokers:  # as a tool does that stops the whole cluster
        admin.prepare_stop(broker.address, hold_ms=1)


def close_by_hand(bootstrap: str) -> None:
    """`with` closes; without it, close whatever was made."""
    producer, consumer, admin = Producer(bootstrap), Consumer(bootstrap), Admin(bootstrap)
    producer.start()  # as `with`
    producer.stop()
    consumer.start()
    consumer.stop()
    admin.start()
    admin.stop()
    producer.close(timeout_ms=1_000)
    consumer.close()
    admin.close()


async def numbers() -> Sequence[int]:
    """Asyncio code of the program's own."""
    await asyncio.sleep(0)
    return [1, 2, 3]


async def wait_for_itself(loop_thread: LoopThread) -> None:
    """Wait on the loop's own thread: refused, since the wait would never end."""
    waiting = numbers()
    try:
        loop_thread.run(waiting)
    except CallerError as error:
        print(f"refused: {error}")


def run_asyncio_code() -> None:
    """The thread these classes run in is there for other coroutines, too."""
    with LoopThread() as loop_thread:
        assert loop_thread.run(numbers(), timeout_ms=1_000) == [1, 2, 3]
        loop_thread.run(wait_for_itself(loop_thread))


def main(bootstrap: str) -> None:
    """Run every example."""
    topic = f"numbers-{uuid4().hex[:8]}"
    with Admin(bootstrap) as admin:
        make_topics(admin, topic)
        look_at_the_cluster(admin, topic)
        write(bootstrap, topic)
        read(bootstrap, topic)
        share(bootstrap, topic)
        look_at_groups(admin, topic)
        clear_up(admin, topic)
    write_in_transactions(bootstrap, f"{topic}-transactions")
    close_by_hand(bootstrap)
    run_asyncio_code()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192")
