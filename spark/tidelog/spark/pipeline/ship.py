"""This package as a zip for Spark's executors, which then need not have it installed."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

import tidelog
from tidelog.spark.source import TidelogDataSource

_MOMENT = (1980, 1, 1, 0, 0, 0)
"""A fixed time for all entries: the same code gives the same zip."""


def ship(spark: SparkSession, folder: Path) -> None:
    """Send this package to the executors of a cluster; `folder` must outlive the session."""
    spark.sparkContext.addPyFile(str(write_package(folder / "tidelog.zip")))
    # Spark runs a source that it discovers without the session's files, but a registered one
    # with them.
    spark.dataSource.register(TidelogDataSource)


def write_package(path: Path) -> Path:
    """Zip all modules of `tidelog` to `path`; return `path`.

    Third-party packages (pyarrow, numpy, grpcio and the rest) must be installed on the executors.
    """
    files = dict(_modules())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        # `tidelog` is a namespace package: zipimport finds it by the entries of its folders.
        folders = {f"{parent}/" for name in files for parent in Path(name).parents} - {"./"}
        for folder in sorted(folders):
            archive.writestr(zipfile.ZipInfo(folder, _MOMENT), b"")
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _MOMENT), files[name].read_bytes())
    return path


def _modules() -> Iterator[tuple[str, Path]]:
    for root in tidelog.__path__:
        for file in Path(root).rglob("*.py"):
            yield f"tidelog/{file.relative_to(root).as_posix()}", file
