"""Found by Spark through its name: makes `format("tidelog")` known without a register call."""

from tidelog.spark.source import TidelogDataSource as DefaultSource

__all__ = ["DefaultSource"]
