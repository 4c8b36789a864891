"""Whatever bytes come, in whatever pieces: the same requests, or one refusal; memory is bounded."""

from __future__ import annotations

import random
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.kafka.kafka_frames import (
    FETCH,
    METADATA,
    PRODUCE,
    Peer,
    frame,
    framed,
    head,
    rules,
)

from tidelog.broker.kafka.frame_reader import READ_BYTES
from tidelog.broker.kafka.request_budget import (
    PIECE_BYTES_MAX,
    PIECE_BYTES_MIN,
    REQUEST_COST_BYTES,
    RequestBudget,
)
from tidelog.broker.kafka.request_header import TAGS_MAX, Refusal

LIMIT = 1 << 20
SIZES = st.sampled_from([0, 1, 100, READ_BYTES - 20, READ_BYTES - 12, READ_BYTES, 3 * READ_BYTES])


@given(
    bodies=st.lists(SIZES, max_size=8),
    pieces=st.lists(st.integers(1, 2 * READ_BYTES), min_size=1, max_size=20),
)
def test_any_split_of_the_bytes_gives_the_same_requests(
    bodies: list[int], pieces: list[int]
) -> None:
    peer = Peer()
    contents = [bytes([number]) * size for number, size in enumerate(bodies)]
    data = b"".join(frame(PRODUCE, number, body) for number, body in enumerate(contents))
    while data:
        for piece in pieces:
            peer.send(data[:piece])
            data = data[piece:]
    assert [bytes(one.body) for one in peer.begun] == contents
    assert peer.correlation_ids == list(range(len(contents)))
    assert peer.unread == b""


def refusal_of(data: bytes) -> Refusal | None:
    """The refusal, with nothing begun, read or kept."""
    budget = RequestBudget(4 * LIMIT)
    peer = Peer(rules(frame_bytes_max=LIMIT, budget=budget))
    peer.send(data)
    if peer.connection.refusal is None:
        return None
    assert peer.begun == []
    assert peer.connection.is_finished
    assert not peer.connection.is_reading
    assert budget.held_bytes == 0
    return peer.connection.refusal.refusal


@pytest.mark.parametrize("size", [-1, -(1 << 31), LIMIT + 1, (1 << 31) - 1])
def test_a_size_that_no_frame_has_is_refused_before_anything_is_kept(size: int) -> None:
    assert refusal_of(pack(">i", size)) is Refusal.SIZE
    assert refusal_of(pack(">i", size) + bytes(100)) is Refusal.SIZE


def test_a_frame_of_the_greatest_size_is_a_request() -> None:
    peer = Peer(rules(frame_bytes_max=LIMIT))
    whole = frame(PRODUCE, 1, bytes(LIMIT))
    peer.send(frame(PRODUCE, 1, bytes(2 * LIMIT - len(whole) + 4)))
    assert peer.begun[0].size == LIMIT


def test_who_only_says_a_size_occupies_nothing() -> None:
    budget = RequestBudget(40 * LIMIT, LIMIT)
    of = rules(frame_bytes_max=LIMIT, budget=budget)
    peers = [Peer(of, f"{number}") for number in range(100)]
    for peer in peers:
        peer.send(pack(">i", LIMIT) + bytes(READ_BYTES - 5))
    assert budget.held_bytes == 0
    for peer in peers:
        peer.send(b"\0")
    ahead = 20 * PIECE_BYTES_MAX + 80 * 2 * PIECE_BYTES_MIN
    assert budget.held_bytes <= ahead + 100 * REQUEST_COST_BYTES, "less ahead in half of the room"
    assert all(peer.connection.is_filling for peer in peers)
    for peer in peers:
        peer.connection.end()
    assert budget.held_bytes == 0


def test_empty_requests_are_counted_too() -> None:
    budget = RequestBudget(80 * REQUEST_COST_BYTES)
    peers = [Peer(rules(frame_bytes_max=LIMIT, budget=budget), f"{n}") for n in range(300)]
    for peer in peers:
        peer.send(frame(7, 1))
    assert 60 <= sum(len(peer.begun) for peer in peers) < 80


def test_a_request_as_large_as_all_room_is_taken_when_it_is_the_eldest() -> None:
    budget = RequestBudget(LIMIT, LIMIT)
    of = rules(frame_bytes_max=LIMIT, budget=budget)
    first, second = Peer(of), Peer(of)
    whole = frame(PRODUCE, 1, bytes(LIMIT - 12))
    first.send(whole)
    second.send(whole)
    assert [one.size for one in first.begun] == [LIMIT]
    assert second.begun == []
    first.answer(first.begun[0])
    second.resume()
    assert second.begun[0].size == LIMIT


@pytest.mark.parametrize(
    ("first", "refusal"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refusal.HTTP2),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", Refusal.TLS),
        *(
            (word + b" / HTTP/1.1\r\n\r\n", Refusal.HTTP)
            for word in (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"CONNECT")
        ),
    ],
)
def test_clients_of_other_protocols_are_recognised_by_their_first_bytes(
    first: bytes, refusal: Refusal
) -> None:
    assert refusal_of(first) is refusal
    peer = Peer()
    peer.send(frame(METADATA, 1) + first)
    assert peer.connection.refusal is not None
    assert peer.connection.refusal.refusal is Refusal.SIZE, "later bytes are a size alone"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x03\x00\x00\x00\x00\x00",
        head(METADATA, 0, 1, None, form=1)[:-1],
        pack(">hhih", METADATA, 0, 1, -2),
        pack(">hhih", METADATA, 0, 1, 5) + b"four",
        head(METADATA, 0, 1, b"\xff\xfe", form=1),
        head(METADATA, 12, 1, None, form=1),
        head(METADATA, 12, 1, None, form=1) + b"\xff\xff\xff\xff\xff",
        head(METADATA, 12, 1, None, form=1) + b"\xff\xff\xff\xff\x0f" + bytes(100),
        head(METADATA, 12, 1, None, form=1) + bytes([TAGS_MAX + 1]) + bytes(2 * TAGS_MAX + 2),
        head(METADATA, 12, 1, None, form=1) + b"\x01\x00\x7f",
    ],
)
def test_a_header_that_cannot_be_read_is_refused(content: bytes) -> None:
    assert refusal_of(framed(content)) is Refusal.HEADER


def test_tagged_fields_of_a_header_are_skipped() -> None:
    peer = Peer()
    fields = bytes([TAGS_MAX]) + b"".join(bytes([tag, 2]) + b"xx" for tag in range(TAGS_MAX))
    peer.send(framed(head(METADATA, 12, 1, "me", form=1) + fields + b"body"))
    assert bytes(peer.begun[0].body) == b"body"


@given(st.binary(max_size=64))
def test_any_bytes_are_requests_or_refused(data: bytes) -> None:
    refusal_of(data)


@given(st.binary(max_size=40).filter(lambda content: len(content) > 0))
def test_any_content_of_a_frame_is_a_request_or_refused(content: bytes) -> None:
    assert refusal_of(framed(content)) in {None, Refusal.HEADER, Refusal.API}


@settings(max_examples=25)
@given(st.integers(0, 1 << 32))
def test_any_story_of_requests_keeps_their_order_and_gives_all_room_back(seed: int) -> None:
    random_ = random.Random(seed)
    budget = RequestBudget(6 * READ_BYTES, 2 * READ_BYTES)
    of = rules(frame_bytes_max=2 * READ_BYTES, budget=budget)
    peers = [Peer(of, address) for address in ("a", "a", "b")]
    keys = {peer: [random_.choice([PRODUCE, FETCH, METADATA]) for _ in range(20)] for peer in peers}
    for peer in peers:
        sizes = [random_.choice([0, 10, READ_BYTES, 2 * READ_BYTES - 40]) for _ in keys[peer]]
        requests = zip(keys[peer], sizes, strict=True)
        peer.unread = b"".join(
            frame(key, number, bytes(size)) for number, (key, size) in enumerate(requests)
        )
    for _ in range(4_000):
        peer = random_.choice(peers)
        _step(peer, random_)
        assert 0 <= budget.held_bytes <= 6 * READ_BYTES
        if all(len(one.answers) == len(keys[one]) for one in peers):
            break
    for peer in peers:
        assert [number for number, _ in peer.answers] == list(range(len(keys[peer])))
        assert [one.header.api_key for one in peer.begun] == keys[peer]
    assert budget.held_bytes == 0


def _step(peer: Peer, random_: random.Random) -> None:
    match random_.randrange(4):
        case 0:
            peer.send(b"", piece=random_.randrange(1, 2 * READ_BYTES))
        case 1:
            peer.read(random_.randrange(1, 100))
        case 2:
            peer.resume()
        case _:
            _answer_any(peer, random_)


def _answer_any(peer: Peer, random_: random.Random) -> None:
    if open_ := [one for one in peer.begun if not one.has_ended]:
        peer.answer(random_.choice(open_), b"x" * random_.randrange(0, 50))
