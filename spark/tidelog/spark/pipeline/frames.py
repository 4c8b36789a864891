"""The Spark processing of a run's records: parse, separate good from bad, drop repeats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import DateType, StringType, StructField, StructType

from tidelog.client.records import TopicPartition
from tidelog.spark.pipeline.plan import PipelineError, Span

PLACE = ["_topic", "_partition", "_offset"]
"""Columns of a record's place. Each good record has them, with `_timestamp` and `_date`."""
_DERIVED = {"_date": DateType()}
_MALFORMED, _COPIES = "_malformed", "_copies"
NO_VALUE = "the record has no value"
NOT_UTF8 = "the value is not UTF-8"
NOT_JSON = "the value is not JSON"
NOT_OF_SCHEMA = "the value does not fit the schema"
MISSING = "a required field is missing: "


class Counted(NamedTuple):
    """Records read, repeats included; distinct good records, and distinct bad ones by reason."""

    read: int
    good: int
    bad: Mapping[str, int]


def schema_of(text: str) -> StructType:
    """Parse fields as DDL ("id long NOT NULL, amount double"). Errors: `PipelineError`."""
    try:
        schema = cast("StructType", StructType.fromDDL(text))
    except Exception as error:  # noqa: BLE001  # Spark's parser has no error of its own to name
        raise PipelineError(f"the schema cannot be read: {error}") from None
    if reserved := [name for name in schema.names if name.startswith("_")]:
        raise PipelineError(f"the schema has {reserved[0]}: names with an underscore are the job's")
    return schema


def check_partitioning(columns: list[str], schema: StructType) -> None:
    """Raise `PipelineError` for a column that no good record has."""
    known = [*schema.names, "_topic", "_partition", *_DERIVED]
    for name in columns:
        if name not in known:
            raise PipelineError(f"no column {name} to partition by: there are {', '.join(known)}")


def read(
    spark: SparkSession,
    spans: Mapping[TopicPartition, Span],
    options: Mapping[str, str],
) -> DataFrame:
    """The records of the spans, not all of which are empty, as the source returns them."""
    wanted = {tp: span for tp, span in spans.items() if span.width}
    starts = _by_topic({tp: span.start for tp, span in wanted.items()})
    ends = _by_topic({tp: span.end for tp, span in wanted.items()})
    assign = {topic: [int(partition) for partition in each] for topic, each in starts.items()}
    return (
        spark.read.format("tidelog")
        .options(**options)
        .option("assign", json.dumps(assign))
        .option("startingOffsets", json.dumps(starts))
        .option("endingOffsets", json.dumps(ends))
        .load()
    )


def classify(records: DataFrame, schema: StructType) -> DataFrame:
    """Each record once, with its parsed `fields`, or the `_reason` why it cannot be parsed."""
    text = f.col("value").cast("string")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _MALFORMED}
    parsed_as = StructType([*_make_nullable(schema), StructField(_MALFORMED, StringType())])
    others = [name for name in records.columns if name not in ("topic", "partition", "offset")]
    return (
        records.groupBy("topic", "partition", "offset")
        .agg(f.count("*").alias(_COPIES), f.first(f.struct(*others)).alias("_others"))
        .select("topic", "partition", "offset", _COPIES, "_others.*")
        .withColumn("fields", f.from_json(text, parsed_as, options))
        .withColumn("_reason", _reason(text, schema))
        .withColumn("_date", f.to_date("timestamp"))
        .withColumnsRenamed({name: f"_{name}" for name in ("topic", "partition", "offset")})
        .withColumnRenamed("timestamp", "_timestamp")
    )


def count(classified: DataFrame) -> Counted:
    """Count all records, and the good and bad ones among them."""
    found = classified.groupBy("_reason").agg(f.count("*"), f.sum(_COPIES)).collect()
    each = {reason: records for reason, records, _ in found}
    good_ones = each.pop(None, 0)
    return Counted(sum(copies for *_, copies in found), good_ones, each)


def good(classified: DataFrame, schema: StructType) -> DataFrame:
    """Good records: a column per field of the schema, then the record's place and time."""
    fields = [f.col(f"fields.`{name}`").alias(name) for name in schema.names]
    return classified.where(f.col("_reason").isNull()).select(
        *fields, *PLACE, "_timestamp", "_date"
    )


def bad(classified: DataFrame) -> DataFrame:
    """Bad records: the reason, the record unchanged, its place and its time."""
    found = classified.where(f.col("_reason").isNotNull())
    return found.select(f.col("_reason").alias("reason"), "key", "value", *PLACE, "_timestamp")


def _make_nullable(schema: StructType) -> list[StructField]:
    return [StructField(field.name, field.dataType) for field in schema]


def _reason(text: Column, schema: StructType) -> Column:
    """The first reason that applies; null: the record is good."""
    reason = (
        f.when(f.col("value").isNull(), NO_VALUE)
        .when(~f.is_valid_utf8(text), NOT_UTF8)
        .when(f.try_parse_json(text).isNull(), NOT_JSON)
        .when(f.col("fields").isNull() | f.col(f"fields.{_MALFORMED}").isNotNull(), NOT_OF_SCHEMA)
    )
    for field in schema:
        if not field.nullable:
            is_missing = f.col(f"fields.`{field.name}`").isNull()
            reason = reason.when(is_missing, MISSING + field.name)
    return reason


def _by_topic(values: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for tp, value in values.items():
        found.setdefault(tp.topic, {})[str(tp.partition)] = value
    return found
