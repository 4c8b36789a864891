"""The Spark data source "tidelog": Kafka's schema, and the choice of reader and writer.

Imports readers and writers on first use, so that `environment` reports a missing requirement
before an import fails.
"""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
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
"""Kafka's columns; `headers` is present only with includeHeaders."""


class TidelogDataSource(DataSource):
    """`spark.read.format("tidelog")`; options and schema are those of Kafka's connector."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`, and for `USING` in SQL."""
        return "tidelog"

    def schema(self) -> StructType:
        """Kafka's schema, for any read. Raises OptionError for options that no read takes."""
        check_packages()
        from tidelog.spark.read_check import check_read

        options = check_read(self.options)
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

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's
        """A streaming reader of the columns of `schema`: any of Kafka's, in any order.

        Wrong options make a reader whose every call raises OptionError: PySpark hides the error of
        a reader that cannot be made.
        """
        check_packages()
        from tidelog.spark.option_values import OptionError
        from tidelog.spark.stream_options import StreamOptions
        from tidelog.spark.stream_reader import RefusedStreamReader, StreamReader

        try:
            options = StreamOptions.parse(self.options)
        except OptionError as error:
            return RefusedStreamReader(error)
        return StreamReader(options, columns=columns_of(schema))

    def writer(
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001  # Spark's
    ) -> DataSourceWriter:
        """A writer of rows of `schema`. Raises OptionError for columns that cannot be written."""
        check_packages()
        from tidelog.spark.sink import BatchWriter
        from tidelog.spark.sink_options import parse_sink_options

        return BatchWriter(parse_sink_options(self.options), schema=schema, overwrite=overwrite)

    def streamWriter(  # noqa: N802  # Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002, FBT001  # Spark's; rows are added in every output mode
    ) -> DataSourceStreamWriter:
        """A writer of rows of `schema` for a streaming query. Raises OptionError as `writer`."""
        check_packages()
        from tidelog.spark.sink import StreamWriter
        from tidelog.spark.sink_options import parse_sink_options

        return StreamWriter(parse_sink_options(self.options), schema=schema)


def columns_of(schema: StructType) -> list[str]:
    """The columns of a user's schema. Raises ValueError for a column that Kafka's schema lacks."""
    known = {field.name: field.dataType for field in SCHEMA}
    for field in schema:
        if known.get(field.name) != field.dataType:
            raise ValueError(
                f"column {field.name} {field.dataType.simpleString()} is none of "
                f"{SCHEMA.simpleString()}"
            )
    return schema.names
