"""The rooms for what strangers can make a node hold: their sum, as docs/GUARANTEES.md says it."""

from __future__ import annotations

from pathlib import Path

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.kafka.request_budget import RequestBudget
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.net.unfinished_requests import UnfinishedLimits
from tidelog.net.unread_responses import UnreadLimits

MIB = 1 << 20
GUARANTEES = Path(__file__).resolve().parents[2] / "docs" / "GUARANTEES.md"
ROOMS = {
    "queued.max.request.bytes": KafkaConfig().queued_bytes_max,
    "unfinished.max.request.bytes": UnfinishedLimits().bytes_max,
    "produce requests at work": ReplicaConfig().produce_in_flight_bytes_max,
    "unread.max.response.bytes": UnreadLimits().bytes_max,
    "unread.max.answer.bytes": UnreadLimits().answer_bytes_max,
    "group.members.max.bytes": GroupConfig().group_members_max_bytes,
}


def test_all_rooms_together_are_256_mib_and_each_is_said_with_its_size() -> None:
    assert sum(ROOMS.values()) == 256 * MIB
    text = GUARANTEES.read_text()
    assert "256 MiB" in text
    for name, size in ROOMS.items():
        row = next(line for line in text.splitlines() if name in line and "| ---" not in line)
        assert f"{size // MIB} MiB" in row, name


def test_requests_of_kafkas_protocol_fit_their_room_with_the_eldest_frame() -> None:
    config = KafkaConfig()
    budget = RequestBudget(config.queued_bytes_max, config.request_bytes_max)
    assert budget.bytes_max == config.queued_bytes_max
