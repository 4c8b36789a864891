"""Topics as Arrow tables, in and out, for pandas, Polars, DuckDB and other readers of Arrow.

    table = read_table("flights", bootstrap="127.0.0.1:9192")
    write_table(table.select(["key", "value"]), "copies", bootstrap="127.0.0.1:9192")

No operation works row by row. Calls block, and may be made from any thread; each has an event loop
and a connection of its own. In an asyncio program use `TableWriter`, and `RangeReader` with
`decode_range`.
"""

from tidelog.client.arrow.columns import HEADER_TYPE, SCHEMA, decode_batches, decode_range
from tidelog.client.arrow.table_ranges import Place
from tidelog.client.arrow.table_writer import TableWriter
from tidelog.client.arrow.tables import iter_batches, read_table, write_table
from tidelog.client.arrow.write_result import PartitionWriteResult, WriteResult

__all__ = [
    "HEADER_TYPE",
    "SCHEMA",
    "PartitionWriteResult",
    "Place",
    "TableWriter",
    "WriteResult",
    "decode_batches",
    "decode_range",
    "iter_batches",
    "read_table",
    "write_table",
]
