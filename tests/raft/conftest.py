"""A node on virtual time. Voters keep silent: what they log is not what they are judged by."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog
from tests.raft.one_voter import OneVoter
from tests.raft.raft_node import CONFIG, Node, Run
from tests.raft.raft_stage import ENGINES

from tidelog.raft.config import RaftConfig
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace


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


# Rules of a single voter are both engines' rules.

RULES_OF_BOTH = frozenset(
    {"test_voter", "test_leader_state", "test_rejoining", "test_foreign_logs", "test_leaps"}
)
OF_OUR_OWN = frozenset(
    {
        # PySyncObj sends all that a follower lacks, once, and again after a pause (its own tests).
        "test_a_follower_that_lacks_entries_gets_them_at_once",
        "test_appends_under_way_are_bounded_and_go_on_with_each_answer",
        "test_until_the_logs_are_known_to_agree_one_append_is_under_way",
        "test_a_follower_that_is_sent_a_snapshot_is_sent_no_entries",
        # It counts the log as durable, as the port allows: nothing of a step is told before.
        "test_a_sole_voter_counts_its_own_copy_only_once_it_is_synced",
    }
)


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneVoter, "engine_name", getattr(request, "param", "tidelog"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_of_both = metafunc.module.__name__ in RULES_OF_BOTH
    if is_of_both and metafunc.function.__name__ not in OF_OUR_OWN:
        metafunc.parametrize("_engine", ENGINES, indirect=True)
