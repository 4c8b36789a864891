"""The Spark data source "tidelog": Kafka's schema, and which reader Spark gets for what.

Imports the readers where they are asked for, so that what is missing on this machine is told by
`environment`, and not by whatever import fails first.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidelog.spark.environment import check_packages

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(_HEADER)),
    ]
)
"""Kafka's columns; `headers` is there only with includeHeaders."""


class TidelogDataSource(DataSource):
    """`spark.read.format("tidelog")`; options and schema are those of Kafka's connector."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`, and for `USING` in SQL."""
        return "tidelog"

    def schema(self) -> StructType:
        """Kafka's schema, for any read. Raises OptionError for an option that is wrong."""
        check_packages()
        from tidelog.spark.options import READ, Options

        options = Options(self.options, known=READ, purpose="a read")
        options.bootstrap()
        options.selection()
        include_headers = options.boolean("includeHeaders", default=False)
        return StructType([f for f in SCHEMA if f.name != "headers" or include_headers])

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch reader of the columns of `schema`: any of Kafka's, in any order."""
        check_packages()
        from tidelog.spark.batch_reader import BatchReader, FilteringReader
        from tidelog.spark.planner import parse_options

        options = parse_options(self.options)
        columns = columns_of(schema)
        if options.filter_pushdown:
            return FilteringReader(options, columns=columns)
        return BatchReader(options, columns=columns)


def columns_of(schema: StructType) -> list[str]:
    """The columns of a user's schema; raises ValueError for one that is none of Kafka's."""
    known = {field.name: field.dataType for field in SCHEMA}
    for field in schema:
        if known.get(field.name) != field.dataType:
            raise ValueError(
                f"column {field.name} {field.dataType.simpleString()} is none of "
                f"{SCHEMA.simpleString()}"
            )
    return schema.names
