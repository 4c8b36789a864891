"""Owner of a data folder: `meta.properties`, checked before anything in it is touched.

Written once by the format step; a node refuses a folder of another node, cluster or version.
"""

from __future__ import annotations

from tidelog.core.env import Disk, make_directory_durably, write_atomically
from tidelog.core.errors import TidelogError
from tidelog.node.config import NodeConfig

FILE_NAME = "meta.properties"
VERSION = "2"
"""Version of the folder's files and records; 1 had no listeners and other error codes."""
PROPERTIES_BYTES_MAX = 64 * 1024
# The first is left by a format that was interrupted before its rename, the second by
# `lock_directory`.
_IGNORED = frozenset({f"{FILE_NAME}.tmp", ".lock"})


class DataDirectoryError(TidelogError):
    """A data folder this node must not use; the message contains advice."""


def properties_of(config: NodeConfig) -> dict[str, str]:
    """Properties in the folder of this node."""
    return {"version": VERSION, "cluster.id": config.cluster_id, "node.id": str(config.node_id)}


async def format_or_check(disk: Disk, config: NodeConfig) -> None:
    """Format an empty or missing folder for this node; check any other.

    Raises `DataDirectoryError` for a foreign or half-written folder, which stays untouched.
    """
    path = f"{config.data_dir}/{FILE_NAME}"
    names = [name for name in disk.list(config.data_dir) if name not in _IGNORED]
    if not names:
        await make_directory_durably(disk, config.data_dir)
        await write_atomically(disk, path, _encode(properties_of(config)))
        return
    if FILE_NAME not in names:
        raise DataDirectoryError(
            f"{config.data_dir} contains {names[0]!r} but no {FILE_NAME}: it is not a Tidelog data"
            " folder or its format was cut short; move it away or choose another log.dirs"
        )
    _check(path, _read(disk, path), properties_of(config))


def _check(path: str, found: dict[str, str], expected: dict[str, str]) -> None:
    version = found.get("version")
    if version != VERSION:
        raise DataDirectoryError(
            f"{path} says version={version}, and this Tidelog reads version {VERSION} only: move"
            " the folder away to start empty, or run the Tidelog that wrote it"
        )
    for key, value in expected.items():
        if found.get(key) != value:
            raise DataDirectoryError(
                f"{path} says {key}={found.get(key)}, this node's configuration {key}={value}:"
                " correct the configuration, or move the folder away to start empty"
            )


def _read(disk: Disk, path: str) -> dict[str, str]:
    file = disk.open(path)
    try:
        text = file.read_at(0, PROPERTIES_BYTES_MAX).decode("utf-8", "replace")
    finally:
        file.close()
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _encode(properties: dict[str, str]) -> bytes:
    return "".join(f"{key}={value}\n" for key, value in properties.items()).encode()
