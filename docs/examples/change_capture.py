# pyright: strict
"""Change capture: a table, a compacted topic of its rows, and a replica of the table.

    python docs/examples/change_capture.py [127.0.0.1:9192]

Triggers write each change of the table into an outbox, in the transaction of the change: no change
without its note, no note without its change. A relay sends the notes in their order, the row's id
as key and the row as value, a null for a deleted row, and strikes them out when they are
acknowledged. If it crashes in between, it sends them again; the replica ends at the same rows,
since it takes them in order. The topic is compacted: it keeps the newest value of each key, so a
new replica reads about as much as the table holds.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from uuid import uuid4

from tidelog.client import Admin, Consumer, Producer

TABLE = "CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, berth INTEGER);"
OUTBOX = """
CREATE TABLE outbox (number INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER, value TEXT);
CREATE TRIGGER boats_insert AFTER INSERT ON boats BEGIN
  INSERT INTO outbox (id, value) VALUES (new.id, json_array(new.name, new.berth));
END;
CREATE TRIGGER boats_update AFTER UPDATE ON boats BEGIN
  INSERT INTO outbox (id, value) SELECT old.id, NULL WHERE old.id <> new.id;
  INSERT INTO outbox (id, value) VALUES (new.id, json_array(new.name, new.berth));
END;
CREATE TRIGGER boats_delete AFTER DELETE ON boats BEGIN
  INSERT INTO outbox (id, value) VALUES (old.id, NULL);
END;
"""
POSITION = "CREATE TABLE position (topic TEXT PRIMARY KEY, next INTEGER);"


async def relay(
    source: sqlite3.Connection, bootstrap: str, topic: str, *, crashes: bool = False
) -> int:
    """Send what the outbox holds, in order; return how much that was."""
    notes = source.execute("SELECT number, id, value FROM outbox ORDER BY number").fetchall()
    async with Producer(bootstrap) as producer:  # acks="all", and idempotent
        for _, row_id, value in notes:
            data = None if value is None else str(value).encode()
            await producer.send(topic, data, str(row_id).encode())
    if not crashes and notes:
        with source:
            source.execute("DELETE FROM outbox WHERE number <= ?", (notes[-1][0],))
    return len(notes)


async def follow(replica: sqlite3.Connection, bootstrap: str, topic: str) -> None:
    """Bring the replica to the topic's end: rows and position in one transaction."""
    async with Consumer(bootstrap) as consumer:
        consumer.assign([(topic, 0)])
        for (offset,) in replica.execute("SELECT next FROM position WHERE topic = ?", (topic,)):
            consumer.seek((topic, 0), offset)
        while any((await consumer.lag()).values()):
            records = await consumer.getmany(timeout_ms=1_000)
            with replica:
                for record in records:
                    row_id = int(record.key or b"0")
                    if record.value is None:
                        replica.execute("DELETE FROM boats WHERE id = ?", (row_id,))
                    else:
                        row = (row_id, *json.loads(record.value))
                        replica.execute("REPLACE INTO boats VALUES (?, ?, ?)", row)
                if records:
                    position = (topic, records[-1].offset + 1)
                    replica.execute("REPLACE INTO position VALUES (?, ?)", position)


def rows(database: sqlite3.Connection) -> list[tuple[int, str, int]]:
    """The table."""
    return database.execute("SELECT * FROM boats ORDER BY id").fetchall()


async def capture(bootstrap: str, topic: str) -> None:
    """Change the source, and see the replica become equal."""
    with (
        closing(sqlite3.connect(":memory:")) as source,
        closing(sqlite3.connect(":memory:")) as replica,
    ):
        source.executescript(TABLE + OUTBOX)
        replica.executescript(TABLE + POSITION)
        with source:
            source.execute("INSERT INTO boats VALUES (1, 'Anna', 7), (2, 'Bente', 8)")
            source.execute("UPDATE boats SET berth = 9 WHERE id = 2")
        sent = await relay(source, bootstrap, topic, crashes=True)
        await follow(replica, bootstrap, topic)
        print(f"{sent} changes sent; the replica: {rows(replica)}")
        with source:
            source.execute("DELETE FROM boats WHERE id = 1")
            source.execute("INSERT INTO boats VALUES (3, 'Cilly', 7)")
        sent = await relay(source, bootstrap, topic)
        await follow(replica, bootstrap, topic)
        print(f"{sent} changes sent after a crash; the replica: {rows(replica)}")
        assert rows(replica) == rows(source) == [(2, "Bente", 9), (3, "Cilly", 7)]
        assert await relay(source, bootstrap, topic) == 0


async def main(bootstrap: str) -> None:
    """Make the topic, capture changes, and delete it again."""
    topic = f"boats-{uuid4().hex[:8]}"
    async with Admin(bootstrap) as admin:
        # A partition keeps the order of all changes; with several, only that of each row's.
        await admin.create_topic(topic, partitions=1, configs={"cleanup.policy": "compact"})
        try:
            await capture(bootstrap, topic)
        finally:
            await admin.delete_topic(topic)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
