"""One run of one scenario on real processes: load, the story, a calm, and the verdict.

It owns the story of a run and what is left of it; never what strikes or what is judged. Whatever
happens ends with a record: a run that fails itself is inconclusive.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tidelog.chaos.checks.delivery import complaints, counts
from tidelog.chaos.history import History
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.scenarios.catalogue import SCENARIOS, Scenario
from tidelog.chaos.scenarios.scene import Scene, StoryOver
from tidelog.chaos.sim_stage.clock import SimRandom
from tidelog.chaos.socket_stage.cluster import SocketCluster
from tidelog.chaos.socket_stage.ground import SocketGround
from tidelog.chaos.socket_stage.protocol import Protocol
from tidelog.chaos.socket_stage.replica_files import compare_files
from tidelog.chaos.socket_stage.setting import SocketSetting
from tidelog.chaos.socket_stage.settling import unsettled
from tidelog.chaos.socket_stage.verdict import FAILED
from tidelog.chaos.workloads.workload import Workload
from tidelog.log.errors import TidelogError

STORY_S_MAX = 300.0
"""A story waits for nothing so long, but for the load to last."""
CALM_S_MAX = 60.0
"""I29: what must have come to rest by then: sessions, elections, retries, a client's patience."""
AFTERMATH_S = 1.0
"""Clients go on for so long after the last fault."""
LOOK_EVERY_S = 0.2
