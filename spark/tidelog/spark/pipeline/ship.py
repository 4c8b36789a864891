"""The package as a zip for Spark's executors, which need not have it installed."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark_tidelog
import tidelog

_MOMENT = (1980, 1, 1, 0, 0, 0)
"""One for all entries: the same code is the same zip."""


def write_package(path: Path) -> Path:
    """Zip all modules of `tidelog` and `pyspark_tidelog` to `path`; returns it.

    Third-party packages (pyarrow, numpy, grpcio and the rest) must be on the executors.
    """
    files = dict(_modules())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        # `tidelog` is a namespace package: zipimport finds those by the entries of their folders.
        folders = {f"{parent}/" for name in files for parent in Path(name).parents} - {"./"}
        for folder in sorted(folders):
            archive.writestr(zipfile.ZipInfo(folder, _MOMENT), b"")
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _MOMENT), files[name].read_bytes())
    return path


def _modules() -> Iterator[tuple[str, Path]]:
    for package in (tidelog, pyspark_tidelog):
        for root in package.__path__:
            for file in Path(root).rglob("*.py"):
                yield f"{package.__name__}/{file.relative_to(root).as_posix()}", file
