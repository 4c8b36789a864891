"""The installed PySyncObj: check of its version, and its settings. Decides nothing."""

from __future__ import annotations

import hashlib
import sys
from importlib import resources

import pysyncobj
import pysyncobj.syncobj as library
from pysyncobj.journal import Journal

from tidelog.core.errors import InvariantError
from tidelog.raft.config import RaftConfig

KNOWN_VERSION = "0.3.17"
KNOWN_SHA256 = "e8bdf06797085d734df86e24ab4802fe87893dff77268565ec036f7ad4a1cfe4"


def check_library() -> None:
    """Raise `InvariantError` unless the installed PySyncObj is the reviewed one."""
    source = resources.files(pysyncobj).joinpath("syncobj.py").read_bytes()
    found = library.VERSION, hashlib.sha256(source).hexdigest()
    if found != (KNOWN_VERSION, KNOWN_SHA256):
        raise InvariantError(
            f"PySyncObj {found[0]} (sha256 {found[1]} of syncobj.py) is not the reviewed "
            f"{KNOWN_VERSION}: install pysyncobj=={KNOWN_VERSION}"
        )


def library_config(config: RaftConfig, journal: Journal) -> library.SyncObjConf:
    """Translate our settings to the library's; the engine bounds appends itself."""
    return library.SyncObjConf(
        autoTick=False,
        journalFile=journal,
        raftMinTimeout=config.election_timeout_min_ms / 1000,
        raftMaxTimeout=config.election_timeout_max_ms / 1000,
        appendEntriesPeriod=config.heartbeat_interval_ms / 1000,
        leaderFallbackTimeout=config.election_timeout_max_ms / 1000,
        connectionTimeout=config.election_timeout_max_ms / 1000,
        appendEntriesBatchSizeBytes=sys.maxsize,  # the library would send a larger entry pickled
        useFork=False,
    )
