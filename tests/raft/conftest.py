"""A node on virtual time. Voters keep silent: what they log is not what they are judged by."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog
from raft_node import CONFIG, Node, Run

from tidelog.chaos.sim_stage.scheduler import Scheduler, SchedulerLimits
from tidelog.chaos.sim_stage.trace import Trace
from tidelog.raft.config import RaftConfig


@pytest.fixture(autouse=True)
def _silent_nodes() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler(trace=Trace(), limits=SchedulerLimits(steps=100_000, virtual_s=60))
    yield scheduler
    scheduler.close()


@pytest.fixture
def config() -> RaftConfig:
    return CONFIG


@pytest.fixture
def node(scheduler: Scheduler, config: RaftConfig) -> Node:
    return Node(scheduler, config=config)


@pytest.fixture
def run(scheduler: Scheduler, node: Node) -> Run:
    return lambda main: scheduler.run(node.loop, main)
