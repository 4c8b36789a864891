"""Room for requests: as bytes come, by address, and small ones beside large ones."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.kafka.kafka_frames import METADATA, PRODUCE, Peer, frame, rules

from tidelog.broker.kafka.frame_reader import READ_BYTES
from tidelog.broker.kafka.request_budget import (
    CONNECTION_PARTS,
    PIECE_BYTES_MAX,
    PIECE_BYTES_MIN,
    REQUEST_COST_BYTES,
    SMALL_BYTES,
    SMALL_PARTS,
    RequestBudget,
    RequestRoom,
)

MIB = 1 << 20
FRAME = 16 * MIB
DEFAULT = 64 * MIB


def ignore() -> None:
    """Hear of no room."""


def begun(budget: RequestBudget, address: str, size: int) -> RequestRoom:
    room = budget.begin(address, size, ignore)
    room.ask()
    return room


def filled(budget: RequestBudget, address: str, size: int) -> RequestRoom:
    """A reservation that has grown as far as it could."""
    room = begun(budget, address, size)
    while room.granted_bytes < size and room.ask():
        pass
    return room


def test_four_slow_frames_hold_what_they_sent_and_stop_nobody() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    of = rules(frame_bytes_max=FRAME, budget=budget)
    for _ in range(4):
        Peer(of, "stranger").send(frame(METADATA, 1, bytes(FRAME - 100))[: 2 * READ_BYTES])
    assert budget.held_bytes == 4 * (PIECE_BYTES_MAX + REQUEST_COST_BYTES)
    for address in ("stranger", "client"):
        client = Peer(of, address)
        client.send(frame(METADATA, 2) + frame(PRODUCE, 3, bytes(MIB)))
        client.answer(client.begun[0])
        assert client.correlation_ids == [2, 3]


def test_reserved_is_at_most_twice_what_came_and_a_piece_where_room_is_scarce() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    others = [filled(budget, f"{number}", 8 * MIB) for number in range(4)]
    held = budget.held_bytes
    assert held > DEFAULT // 3, "more than half of the room that all share"
    assert len(others) == 4
    peer = Peer(rules(frame_bytes_max=FRAME, budget=budget))
    data, sent = frame(METADATA, 1, bytes(3 * MIB)), 0
    while sent < len(data):
        peer.send(data[sent : sent + 10_000])
        sent += 10_000
        ahead = budget.held_bytes - held - min(sent, len(data))
        piece = min(max(sent, PIECE_BYTES_MIN), PIECE_BYTES_MAX) + PIECE_BYTES_MIN
        assert ahead <= piece + REQUEST_COST_BYTES
    assert bytes(peer.begun[0].body) == bytes(3 * MIB)


def test_small_requests_have_room_whatever_large_ones_hold() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    for number in range(40):
        filled(budget, f"{number}", FRAME)
    assert budget.is_short
    small = [begun(budget, f"small {number}", SMALL_BYTES) for number in range(100)]
    assert all(room.granted_bytes for room in small)


def test_large_requests_have_room_whatever_small_ones_hold() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    for number in range(100_000):
        begun(budget, f"{number % 100}", 0)
    assert budget.held_bytes <= DEFAULT - FRAME
    assert filled(budget, "large", FRAME).granted_bytes == FRAME
    assert budget.held_bytes <= DEFAULT


def test_small_requests_of_one_address_leave_room_for_those_of_others() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    rooms = [begun(budget, "stranger", 0) for _ in range(100_000)]
    assert 0 < sum(1 for room in rooms if room.held_bytes) < 100_000
    assert budget.held_bytes <= DEFAULT // 2 + DEFAULT // SMALL_PARTS
    assert begun(budget, "client", SMALL_BYTES).granted_bytes == SMALL_BYTES


def test_an_address_leaves_half_of_the_room_to_others() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    whole = [filled(budget, "stranger", 4 * MIB) for _ in range(20)]
    for room in whole:
        if room.granted_bytes == room.size_bytes:
            room.note_whole()
    held = budget.held_bytes
    assert held < 36 * MIB
    assert filled(budget, "client", 2 * MIB).granted_bytes == 2 * MIB
    assert budget.held_bytes == held + 2 * MIB + REQUEST_COST_BYTES


def test_a_connection_begins_no_other_request_while_it_holds_its_share() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    peer = Peer(rules(frame_bytes_max=FRAME, budget=budget))
    peer.send(b"".join(frame(PRODUCE, number, bytes(4 * MIB)) for number in range(5)))
    assert budget.connection_bytes_max <= DEFAULT // CONNECTION_PARTS
    assert peer.correlation_ids == [0, 1, 2]
    peer.answer(peer.begun[0])
    assert peer.correlation_ids == [0, 1, 2, 3]


def test_frames_that_all_wait_for_each_other_end_the_eldest_first() -> None:
    budget = RequestBudget(DEFAULT, FRAME)
    of = rules(frame_bytes_max=FRAME, budget=budget)
    peers = [Peer(of, f"{number % 3}") for number in range(12)]
    data = frame(PRODUCE, 1, bytes(FRAME - 100))
    for begin in range(0, len(data), MIB):
        for peer in peers:
            peer.send(data[begin : begin + MIB])
    turns = 0
    while not all(peer.begun for peer in peers):
        turns += 1
        assert turns < 100, "somebody always goes on"
        for peer in peers:
            peer.resume()
            if peer.begun and not peer.begun[0].has_ended:
                peer.answer(peer.begun[0])
            assert budget.held_bytes <= DEFAULT
    for peer in peers:
        peer.resume()
        peer.answer(peer.begun[0])
    assert budget.held_bytes == 0


class Story:
    """Reservations that are asked for, grow and end in any order."""

    def __init__(self, budget: RequestBudget, random_: random.Random) -> None:
        self.budget, self.random = budget, random_
        self.rooms: list[RequestRoom] = []
        self.waiting: set[RequestRoom] = set()

    def begin(self) -> None:
        size = self.random.choice([0, 100, SMALL_BYTES, 10_000, MIB // 8, MIB // 4])
        address = self.random.choice("abc")
        room = self.budget.begin(address, size, lambda: self.waiting.discard(room))
        self.rooms.append(room)
        self.ask(room)

    def ask(self, room: RequestRoom) -> None:
        if room.granted_bytes == room.size_bytes and room.held_bytes:
            room.note_whole()
        elif room not in self.waiting and not room.ask():
            self.waiting.add(room)

    def release(self, room: RequestRoom) -> None:
        self.rooms.remove(room)
        self.waiting.discard(room)
        room.release()


@settings(max_examples=30)
@given(st.integers(0, 1 << 32))
def test_any_story_of_reservations_holds_the_bound_and_ends(seed: int) -> None:
    random_ = random.Random(seed)
    budget = RequestBudget(MIB, MIB // 4)
    story = Story(budget, random_)
    for _ in range(300):
        act = random_.random()
        if act < 0.4 or not story.rooms:
            story.begin()
        elif act < 0.6:
            story.release(random_.choice(story.rooms))
        else:
            story.ask(random_.choice(story.rooms))
        assert 0 <= budget.held_bytes <= MIB
    while story.rooms:
        going = [one for one in story.rooms if one not in story.waiting]
        assert going, "somebody always goes on"
        for room in going:
            if room.granted_bytes == room.size_bytes:
                story.release(room)
            else:
                story.ask(room)
    assert budget.held_bytes == 0
    assert not budget.is_short
