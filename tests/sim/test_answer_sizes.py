"""Answers of every served API: their sizes are known before, and unread ones have one bound."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from tests.sim import kafka_groups
from tests.sim.kafka_groups import World, commit, committed
from tests.sim.kafka_wire import WireClient

from tidelog.kafka.apis import APIS, request_class
from tidelog.kafka.message import Message
from tidelog.kafka.messages.api_versions_request import ApiVersionsRequest
from tidelog.kafka.messages.api_versions_response import ApiVersionsResponse
from tidelog.net.answer_budget import Answer, AnswerBudget
from tidelog.net.unread_responses import UnreadLimits
from tidelog.node.config import NodeConfig
from tidelog.simulation.engine import byte_streams

pytestmark = pytest.mark.sim

ELEMENTS = 12
"""Elements of each list of a request."""
UNREAD_S = 3
STRANGERS = 3
"""Connections for each API."""
ANSWER_BYTES_MAX = 3 << 19
SOFTWARE = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
NAMES = {"group_id": "g", "key": "g", "groups": "g", "group_ids": "g", "groups_names": "g"}
"""What exists, where that is no topic."""


def filled(kind: Any, name: str, number: int) -> Any:
    """A value of a field's type, with all lists filled; things that exist come first."""
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        items = [filled(item, name, n) for n in range(ELEMENTS)]
        return [n if one is msgspec.UNSET else one for n, one in enumerate(items)]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return struct_of(kind, number)
    options = [one for one in get_args(kind) if one is not type(None)]
    if options:
        return filled(options[0], name, number)
    if kind is str:
        return f"x{number}" if number else NAMES.get(name, "t")
    if (kind is int and "partition" in name) or name == "index":
        return number
    return 2 if name == "resource_type" else msgspec.UNSET


def struct_of(kind: type[msgspec.Struct], number: int) -> Any:
    hints = get_type_hints(kind)
    fields = {
        one.name: value
        for one in msgspec.structs.fields(kind)
        if (value := filled(hints[one.name], one.name, number)) is not msgspec.UNSET
    }
    return kind(**fields)


def quick(request: Any) -> Message:
    """Have it wait for nothing."""
    for name in ("timeout_ms", "max_wait_ms", "rebalance_timeout_ms", "session_timeout_ms"):
        if hasattr(request, name):
            setattr(request, name, 6_000 if "session" in name else 100)
    if hasattr(request, "acks"):
        request.acks = -1
    for name in ("member_id", "group_instance_id", "transactional_id", "instance_id"):
        if hasattr(request, name):
            setattr(request, name, "" if name == "member_id" else None)
    found: Message = request
    return found


async def served(client: WireClient) -> list[tuple[int, int]]:
    """Key and last version of each API that a node lists."""
    answer = await client.call(SOFTWARE, 4, ApiVersionsResponse)
    return [(one.api_key, one.max_version) for one in answer.api_keys]


async def prepare(world: World) -> None:
    """A group with offsets and with a member, so that there is something to tell."""
    texts = commit(dict.fromkeys(range(3), 1), metadata="x" * 4_000)
    assert await committed(world.client, texts, 9) == [0] * 3


def small(config: NodeConfig) -> NodeConfig:
    """Room for a megabyte of answers."""
    config = kafka_groups.configured(config)
    unread = UnreadLimits(timeout_ms=UNREAD_S * 1000, answer_bytes_max=ANSWER_BYTES_MAX)
    return replace(config, replica=replace(config.replica, unread=unread))


def test_the_size_of_every_answer_is_known_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settled: list[tuple[int, int]] = []
    settle = Answer.settle

    def noted(self: Answer, size_bytes: int) -> None:
        settled.append((self.size_bytes, size_bytes))
        settle(self, size_bytes)

    monkeypatch.setattr(Answer, "settle", noted)

    async def story(world: World) -> None:
        await prepare(world)
        told = {}
        for key, version in await served(world.client):
            del settled[:]
            client = await world.connect()
            asked = client.begin(quick(struct_of(request_class(key), 0)), version, 1)
            await asyncio.wait({asked, client.end}, return_when=asyncio.FIRST_COMPLETED)
            assert not client.end.done(), f"{APIS[key].name} closed the connection"
            told[APIS[key].name] = len(asked.result()), list(settled)
            client.leave()
        low = {
            name: figures
            for name, (_, figures) in told.items()
            for reserved, size in figures
            if size > reserved
        }
        assert not low

    kafka_groups.play(story)


class Peaks:
    """The most that answers have held in any node."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held_bytes = 0
        self.waits = 0
        take, settle = Answer.take, Answer.settle

        def taken(answer: Answer, pool: Any) -> None:
            take(answer, pool)
            self.note(answer._budget)

        def settled(answer: Answer, size_bytes: int) -> None:
            settle(answer, size_bytes)
            self.note(answer._budget)

        monkeypatch.setattr(Answer, "take", taken)
        monkeypatch.setattr(Answer, "settle", settled)

    def note(self, budget: AnswerBudget) -> None:
        self.held_bytes = max(self.held_bytes, budget.held_bytes)
        self.waits = max(self.waits, budget.waits)


def test_unread_answers_of_all_apis_have_one_bound_and_others_are_answered_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(byte_streams, "WINDOW_BYTES", 1 << 10)
    peaks = Peaks(monkeypatch)

    async def story(world: World) -> None:
        await prepare(world)
        apis = await served(world.client)
        beside: Any = SimpleNamespace(client=world.cluster.new_client("beside"))
        address = f"node-{world.coordinator_id}:9092"
        for number, (key, version) in enumerate(apis * STRANGERS):
            request = quick(struct_of(request_class(key), 0))
            stranger = await world.connect()
            stranger.read_nothing()
            for correlation_id in range(1, 3):
                stranger.begin(request, version, correlation_id)
            if number % len(apis) == 0:
                client = await WireClient.connect(beside, address)
                assert await served(client) == apis
                client.leave()
        await asyncio.sleep(10 * UNREAD_S)
        assert peaks.waits, "there was more to tell than there is room for"
        assert peaks.held_bytes <= ANSWER_BYTES_MAX
        node = world.cluster.machines[world.coordinator_id].node
        assert node is not None
        assert node.kafka is not None
        assert node.stats()["unread_answer_bytes"] == 0, "all were hung up on"

    kafka_groups.play(story, small)
