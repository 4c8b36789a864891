"""A connection of Kafka's protocol: requests begin and are answered in order, within limits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from tests.broker.kafka.kafka_frames import (
    FETCH,
    METADATA,
    PRODUCE,
    VERSIONS,
    Peer,
    frame,
    rules,
)

from tidelog.broker.kafka.connection import IN_FLIGHT_MAX, UNSENT_BYTES_MAX
from tidelog.broker.kafka.request_budget import RequestBudget
from tidelog.broker.kafka.request_header import Refusal

MIB = 1 << 20


def test_a_request_is_what_was_sent_and_its_answer_carries_its_correlation_id() -> None:
    peer = Peer()
    peer.send(frame(METADATA, 7, b"topics", client_id="ant"))
    (request,) = peer.begun
    assert request.header == (METADATA, 0, 7, "ant")
    assert bytes(request.body) == b"topics"
    peer.answer(request, b"one", b"", b"two")
    assert peer.answers == [(7, b"onetwo")]
    assert peer.connection.is_reading
    assert not peer.connection.is_busy


def test_headers_of_each_form_are_read_and_answered_in_theirs() -> None:
    peer = Peer()
    peer.send(frame(7, 1, b"a", client_id=None))
    peer.answer(peer.begun[0], b"x")
    peer.send(frame(METADATA, 2, b"b", client_id=None))
    peer.answer(peer.begun[1], b"y")
    peer.send(frame(METADATA, 3, b"c", version=12, client_id="é"))
    peer.answer(peer.begun[2], b"z")
    peer.send(frame(VERSIONS, -4, b"d", version=4))
    peer.answer(peer.begun[3], b"v")
    assert [one.header.client_id for one in peer.begun] == [None, None, "é", "me"]
    assert [bytes(one.body) for one in peer.begun] == [b""] * 4, "answered, they hold no bytes"
    assert peer.answers == [(1, b"x"), (2, b"y"), (3, b"\0z"), (-4, b"v")]


def test_the_body_is_whole_until_the_answer() -> None:
    peer = Peer()
    body = bytes(range(256)) * 1024
    peer.send(frame(PRODUCE, 1, body) + frame(PRODUCE, 2, b"small"), piece=1000)
    assert [bytes(one.body) for one in peer.begun] == [body, b"small"]


def test_a_waiting_fetch_holds_those_behind_it() -> None:
    peer = Peer()
    peer.send(frame(FETCH, 1) + frame(METADATA, 2) + frame(FETCH, 3))
    assert peer.correlation_ids == [1]
    peer.answer(peer.begun[0], b"records")
    assert peer.correlation_ids == [1, 2]
    peer.answer(peer.begun[1])
    assert peer.correlation_ids == [1, 2, 3]
    assert peer.answers == [(1, b"records"), (2, b"")]


def test_produce_requests_are_at_work_together_and_answered_in_their_order() -> None:
    peer = Peer()
    sent = [frame(PRODUCE, number) for number in range(4)]
    peer.send(b"".join(sent) + frame(METADATA, 4) + frame(PRODUCE, 5))
    assert peer.correlation_ids == [0, 1, 2, 3]
    for index in (2, 0, 3):
        peer.answer(peer.begun[index], b"%d" % index)
    assert peer.answers == [(0, b"0")]
    assert peer.correlation_ids == [0, 1, 2, 3], "the metadata request waits for all of them"
    peer.answer(peer.begun[1], b"1")
    assert peer.answers == [(0, b"0"), (1, b"1"), (2, b"2"), (3, b"3")]
    assert peer.correlation_ids == [0, 1, 2, 3, 4], "and holds the produce request behind it"


def test_a_request_without_answer_leaves_no_byte() -> None:
    peer = Peer()
    peer.send(frame(PRODUCE, 1) + frame(PRODUCE, 2) + frame(PRODUCE, 3))
    peer.answer(peer.begun[2], b"three")
    peer.answer_nothing(peer.begun[1])
    assert peer.answers == []
    peer.answer(peer.begun[0], b"one")
    assert peer.answers == [(1, b"one"), (3, b"three")]


def test_no_more_is_read_while_so_many_requests_are_unanswered() -> None:
    peer = Peer()
    peer.send(b"".join(frame(PRODUCE, number) for number in range(IN_FLIGHT_MAX + 40)))
    assert peer.correlation_ids == list(range(IN_FLIGHT_MAX))
    assert not peer.connection.is_reading
    peer.answer(peer.begun[3])
    assert len(peer.begun) == IN_FLIGHT_MAX, "its answer cannot be sent yet"
    peer.answer(peer.begun[0])
    assert peer.correlation_ids == list(range(IN_FLIGHT_MAX + 1))
    for request in peer.begun:
        peer.answer(request)
    peer.read()
    assert peer.correlation_ids == list(range(IN_FLIGHT_MAX + 40))
    assert peer.unread == b""
    assert peer.connection.is_reading


def test_no_more_is_read_or_begun_while_an_answer_is_unsent() -> None:
    peer = Peer()
    peer.send(frame(FETCH, 1) + frame(FETCH, 2))
    peer.answer(peer.begun[0], bytes(UNSENT_BYTES_MAX))
    peer.send(frame(FETCH, 3))
    assert peer.correlation_ids == [1]
    assert not peer.connection.is_reading
    assert peer.unread == frame(FETCH, 3)
    peer.read(UNSENT_BYTES_MAX // 2)
    assert peer.correlation_ids == [1, 2]
    assert peer.connection.is_reading


def test_a_full_broker_reads_no_more_of_those_it_works_for_but_of_all_others() -> None:
    is_full = True
    of = replace(rules(), is_full=lambda: is_full)
    first, second = Peer(of), Peer(of)
    first.send(frame(PRODUCE, 1) + frame(PRODUCE, 2))
    second.send(frame(PRODUCE, 3))
    assert (first.correlation_ids, second.correlation_ids) == ([1], [3])
    assert not first.connection.is_reading
    is_full = False
    first.answer(first.begun[0])
    assert first.correlation_ids == [1, 2]


def test_requests_that_find_no_room_wait_in_turn_and_small_ones_for_none_of_them() -> None:
    budget = RequestBudget(4 * MIB, MIB)
    of = rules(budget=budget)
    first, second, third, small = Peer(of), Peer(of), Peer(of), Peer(of)
    whole = bytes(MIB - 3000)
    first.send(frame(PRODUCE, 1, whole))
    second.send(frame(PRODUCE, 2, whole))
    third.send(frame(PRODUCE, 3, whole))
    small.send(frame(PRODUCE, 4, b"small"))
    assert [one.correlation_ids for one in (first, second, third, small)] == [[1], [], [], [4]]
    assert budget.held_bytes < 2 * MIB, "half of what is left by others is an address's"
    assert not second.connection.is_reading
    assert budget.is_short
    first.answer(first.begun[0])
    assert (second.rooms, third.rooms) == (1, 1)
    second.resume()
    third.resume()
    assert bytes(second.begun[0].body) == whole
    second.answer(second.begun[0])
    third.resume()
    assert third.correlation_ids == [3]
    third.begun[0].release()
    small.answer(small.begun[0])
    assert budget.held_bytes == 0
    assert not budget.is_short


def test_the_end_of_a_connection_gives_back_its_room_and_its_place() -> None:
    budget = RequestBudget(4 * MIB, MIB)
    of = rules(budget=budget)
    holder, waiter, next_, last = Peer(of), Peer(of), Peer(of), Peer(of)
    worker = Peer(of)
    worker.send(frame(PRODUCE, 1, bytes(MIB - 2000)))
    holder.send(frame(PRODUCE, 1, bytes(MIB - 2000))[: MIB // 2])
    assert holder.connection.is_filling
    for peer in (waiter, next_, last):
        peer.send(frame(PRODUCE, 1, bytes(MIB - 2000)))
    assert (waiter.rooms, next_.rooms, last.rooms) == (0, 0, 0)
    waiter.connection.end()
    holder.connection.end()
    next_.connection.end()
    worker.answer(worker.begun[0])
    last.resume()
    last.answer(last.begun[0])
    assert (waiter.rooms, next_.begun) == (0, [])
    assert budget.held_bytes == 0
    assert not budget.is_short


def test_bytes_that_are_no_request_close_after_the_answers_to_those_before() -> None:
    budget = RequestBudget(MIB)
    peer = Peer(rules(budget=budget))
    peer.send(frame(FETCH, 1) + frame(METADATA, 2) + frame(99, 3) + frame(METADATA, 4))
    assert peer.correlation_ids == [1]
    assert not peer.connection.is_reading
    assert peer.connection.refusal is not None
    assert peer.connection.refusal.refusal is Refusal.API
    assert "api key 99, version 0" in peer.connection.refusal.message
    peer.answer(peer.begun[0], b"a")
    assert not peer.connection.is_finished
    peer.answer(peer.begun[1], b"b")
    assert not peer.connection.is_finished
    assert peer.answers == [(1, b"a"), (2, b"b")]
    assert peer.connection.is_finished
    assert peer.correlation_ids == [1, 2]
    assert budget.held_bytes == 0


def test_a_request_that_closes_is_not_answered_nor_any_behind_it() -> None:
    budget = RequestBudget(MIB)
    peer = Peer(rules(budget=budget))
    peer.send(b"".join(frame(PRODUCE, number) for number in range(5)) + frame(METADATA, 9))
    peer.answer(peer.begun[3], b"never sent")
    peer.connection.close_after(peer.begun[2])
    peer.answer(peer.begun[4], b"late")
    peer.answer(peer.begun[1], b"one")
    assert not peer.connection.is_finished
    peer.answer(peer.begun[0], b"zero")
    assert peer.answers == [(0, b"zero"), (1, b"one")]
    assert peer.connection.is_finished
    assert len(peer.begun) == 5
    assert budget.held_bytes == 0


def test_when_each_answer_was_sent_is_told() -> None:
    peer = Peer()
    sent: list[int] = []
    peer.send(frame(PRODUCE, 1) + frame(PRODUCE, 2) + frame(PRODUCE, 3))
    for number in (3, 2, 1):
        request = peer.begun[number - 1]
        peer.connection.answer(request, [bytes(100)], partial(sent.append, number))
    peer.read(107)
    assert sent == []
    peer.read(1)
    assert sent == [1]
    peer.read(150)
    assert sent == [1, 2]
    peer.connection.end()
    assert sent == [1, 2, 3], "or never will be"


def test_what_has_arrived_is_carried_out_after_the_end_but_for_fetches() -> None:
    peer = Peer()
    peer.send(frame(FETCH, 1) + frame(PRODUCE, 2) + frame(PRODUCE, 3) + frame(METADATA, 4))
    peer.begun += peer.connection.end()
    assert peer.correlation_ids == [1, 2, 3]
    assert [one.has_ended for one in peer.begun] == [True, False, False]
    peer.answer(peer.begun[0], b"late")
    peer.answer(peer.begun[2], b"x")
    peer.answer(peer.begun[1], b"y")
    assert peer.correlation_ids == [1, 2, 3, 4]
    peer.answer(peer.begun[3], b"z")
    assert peer.answers == []
    assert peer.connection.is_finished


def test_a_finished_connection_reads_no_more_and_answers_what_came() -> None:
    peer = Peer()
    peer.send(frame(METADATA, 1) + frame(METADATA, 2))
    peer.connection.finish()
    assert not peer.connection.is_reading
    peer.answer(peer.begun[0])
    peer.answer(peer.begun[1])
    assert [number for number, _ in peer.answers] == [1, 2]
    assert peer.connection.is_finished


@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_counts_once(times: int) -> None:
    peer = Peer()
    peer.send(frame(PRODUCE, 1) + frame(PRODUCE, 2))
    for _ in range(times):
        peer.answer(peer.begun[0], b"x")
    assert peer.answers == [(1, b"x")]


def test_a_frame_that_is_begun_is_received_to_its_end_whatever_holds_the_next_one() -> None:
    peer = Peer()
    whole = frame(PRODUCE, 2, bytes(MIB // 2))
    peer.send(frame(FETCH, 1) + whole[: MIB // 4])
    assert peer.connection.is_filling
    peer.answer(peer.begun[0], bytes(UNSENT_BYTES_MAX))
    assert peer.connection.is_reading, "it keeps its room from others"
    peer.send(whole[MIB // 4 :] + frame(PRODUCE, 3))
    assert not peer.connection.is_filling
    assert not peer.connection.is_reading
    peer.read()
    assert peer.correlation_ids == [1, 2, 3]
