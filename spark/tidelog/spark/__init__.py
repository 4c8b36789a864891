"""Tidelog topics in Spark: `spark.read.format("tidelog")`."""

from tidelog.spark.source import TidelogDataSource

__all__ = ["TidelogDataSource"]
