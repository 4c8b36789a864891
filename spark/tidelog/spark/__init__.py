"""Tidelog topics in Spark: `spark.read.format("tidelog")`.

The package and its `environment` import without PySpark, and report which package is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.spark.environment import check_packages

if TYPE_CHECKING:
    from tidelog.spark.source import TidelogDataSource

__all__ = ["TidelogDataSource"]


def __getattr__(name: str) -> type[TidelogDataSource]:
    """Import the data source on first use. Errors: SetupError when a package is missing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check_packages()
    from tidelog.spark.source import TidelogDataSource

    return TidelogDataSource
