"""Members of a story's group on sockets: their setup, their book, and what a task cannot suffer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from tidelog.chaos.scenarios.catalogue import SCENARIOS
from tidelog.chaos.sockets.group_members import CallsFile, TaskMember
from tidelog.chaos.sockets.member import FileBook
from tidelog.chaos.sockets.member_setup import MemberSetup
from tidelog.chaos.sockets.run_plan import RunPlan
from tidelog.chaos.sockets.work_plan import settings_of, work_of
from tidelog.chaos.story.scenario_run import UnsupportedFaultError
from tidelog.chaos.topology import MEMBERS
from tidelog.chaos.workloads.group_book import GroupBook
from tidelog.chaos.workloads.plans import GROUP_SESSION_MS, SHARED, MemberPlan
from tidelog.history.history import Assignment, Commit, History, Poll

pytestmark = pytest.mark.asyncio

WHERE = ("g", "t", 0, 0)


class FakePort:
    """A workload's port that keeps the history."""

    def __init__(self) -> None:
        self.history = History()
        self.begun: list[Commit] = []
        self.now_s = 50.0

    def end_poll(self, poll: Poll) -> None:
        self.history.add(poll)

    def add_group_call(self, call: Any) -> None:
        self.history.add(call)

    def begin_commit(self, commit: Commit) -> None:
        self.begun.append(commit)

    def end_commit(self, commit: Commit) -> None:
        self.history.add(commit)

    def note(self, who: str, what: str) -> None:
        """Nobody reads it."""


def a_book() -> tuple[FakePort, GroupBook]:
    port, numbers = FakePort(), iter(range(100, 1_000))
    return port, GroupBook(cast("Any", port), lambda: next(numbers))


def a_change(change: str, number: int) -> Assignment:
    what: Any = change
    return Assignment("member-1", number, "g", "id", 3, "t", 0, 7, float(number), what)


def a_commit(number: int, **fields: Any) -> Commit:
    values = {"ended_s": None, "outcome": "unknown", **fields}
    return Commit("member-1", number, *WHERE, 5, float(number), member="id", epoch=3, **values)


async def test_a_member_s_setup_survives_its_file() -> None:
    routes: Any = {("127.0.0.1:1", "broker"): "127.0.0.1:2"}
    setup = MemberSetup(MemberPlan("member-1", letting_go_s=1.5), ("127.0.0.1:1",), routes)

    assert MemberSetup.from_json(setup.to_json()) == setup


async def test_the_calls_of_a_process_get_numbers_of_the_whole_history(tmp_path: Path) -> None:
    port, book = a_book()
    written = FileBook(tmp_path / "calls")
    calls = CallsFile(tmp_path / "calls", book.of("member-1"))
    written.add(a_change("assigned", written.next_number()))
    written.begin(a_commit(written.next_number()))
    calls.read()
    assert book.held_by("member-1") == [7]
    written.end(a_commit(2, outcome="ok", ended_s=9.0))
    written.begin(a_commit(written.next_number()))
    with (tmp_path / "calls").open("a") as file:
        file.write('{"type":"assign')  # killed while it wrote
    written.close()
    calls.read()
    book.write_pending()

    assert [one.number for one in port.begun] == [101, 102]
    ended = [(one.number, one.outcome, one.ended_s) for one in port.history.commits]
    assert ended == [(101, "ok", 9.0), (102, "unknown", None)]
    assert book.last_calls_s == {"member-1": 3.0}


async def test_one_that_was_killed_holds_nothing() -> None:
    port, book = a_book()
    book.add(a_change("assigned", 1))
    book.end_member("member-1")

    assert book.held_by("member-1") == []
    assert [(one.change, one.at_s) for one in port.history.assignments] == [
        ("assigned", 1.0),
        ("lost", 50.0),
    ]
    book.end_member("member-1")
    assert len(book.assignments) == 2


class EndlessMember:
    """A member that runs until it is over, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.is_over = False
        self.error = error

    async def run(self) -> None:
        if self.error is not None:
            raise self.error
        while not self.is_over:  # noqa: ASYNC110  # as the real one
            await asyncio.sleep(0.1)


class ClosedTransport:
    is_closed = False

    async def close(self) -> None:
        self.is_closed = True


async def test_a_task_leaves_in_order_and_is_no_process() -> None:
    transport = ClosedTransport()
    member = TaskMember(cast("Any", EndlessMember()), transport.close)
    for fault in (member.pause, member.kill):
        with pytest.raises(UnsupportedFaultError, match="has_processes"):
            await fault()
    await member.resume()
    await member.stop()

    assert member.end is None
    assert transport.is_closed


async def test_a_task_that_ends_by_itself_says_why() -> None:
    member = TaskMember(cast("Any", EndlessMember(ValueError("odd"))))
    await asyncio.sleep(0.1)

    assert member.end == "ValueError('odd')"


async def test_members_have_links_topics_and_settings_of_their_own() -> None:
    scenario = SCENARIOS["F46"]
    work = work_of(scenario)

    assert MEMBERS in RunPlan("F46", 1, load_s=1.0).topology.client_groups
    assert MEMBERS not in RunPlan("F01", 1, load_s=1.0).topology.client_groups
    assert [one.partitions for one in work.topics] == [1, 8]
    assert work.producers[-1].topic == SHARED
    assert settings_of(scenario)["group.consumer.session.timeout.ms"] == GROUP_SESSION_MS
    assert settings_of(SCENARIOS["F01"]) == {}
