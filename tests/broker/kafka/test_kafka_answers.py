"""Answers as buffers: none is joined or copied, and what was sent is counted to the byte."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from tests.broker.kafka.kafka_frames import answers_in

from tidelog.broker.kafka.answer_queue import OUTGOING_MAX, AnswerQueue


def nothing() -> None: ...


def test_the_buffers_of_a_handler_are_sent_as_they_are() -> None:
    queue = AnswerQueue()
    records = bytearray(1000)
    size = queue.add(1, [b"head", records], answer_header=0, on_sent=nothing)
    assert size == queue.unsent_bytes == 1012
    _, head, body = queue.outgoing()
    assert head.obj == b"head"
    assert body.obj is records


def test_more_buffers_than_one_write_takes_are_sent_in_order() -> None:
    queue = AnswerQueue()
    count = 2 * OUTGOING_MAX + 7
    queue.add(1, [b"%d " % number for number in range(count)], answer_header=1, on_sent=nothing)
    sent = b""
    while buffers := queue.outgoing():
        assert len(buffers) <= OUTGOING_MAX
        sent += b"".join(buffers)
        queue.note_sent(sum(map(len, buffers)))
    ((_, body),) = answers_in(sent)
    assert body == b"\0" + b"".join(b"%d " % number for number in range(count))
    assert queue.unsent_bytes == 0


@given(
    answers=st.lists(st.lists(st.binary(max_size=20), max_size=4), max_size=6),
    takes=st.lists(st.integers(1, 30), min_size=1),
)
def test_any_parts_that_are_sent_make_the_same_bytes(
    answers: list[list[bytes]], takes: list[int]
) -> None:
    queue = AnswerQueue()
    ended: list[int] = []
    sizes = [
        queue.add(number, buffers, answer_header=0, on_sent=partial(ended.append, number))
        for number, buffers in enumerate(answers)
    ]
    sent = b""
    while buffers := queue.outgoing():
        for take in takes:
            part = b"".join(queue.outgoing())[:take]
            queue.note_sent(len(part))
            sent += part
            whole = [
                number for number in range(len(sizes)) if sum(sizes[: number + 1]) <= len(sent)
            ]
            assert ended == whole
        del buffers
    assert answers_in(sent) == [(number, b"".join(one)) for number, one in enumerate(answers)]


def test_a_closed_queue_keeps_nothing() -> None:
    queue = AnswerQueue()
    ended: list[str] = []
    queue.add(1, [b"x"], answer_header=0, on_sent=lambda: ended.append("before"))
    queue.close()
    queue.add(2, [b"y"], answer_header=0, on_sent=lambda: ended.append("after"))
    assert ended == ["before", "after"]
    assert (queue.unsent_bytes, queue.outgoing()) == (0, [])
