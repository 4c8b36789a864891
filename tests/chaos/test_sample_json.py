"""What a node tells of itself arrives as it was."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.cluster_samples import a_replica, a_sample, an_image

from tidelog.chaos.sockets.inspect import LINES_MAX, LogRing
from tidelog.chaos.sockets.sample_json import (
    Question,
    SampleReply,
    parse_question,
    parse_reply,
    question_json,
    reply_json,
)
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.metadata.image import EMPTY_IMAGE

LINE = LogLine(4, 1.5, "truncated", {"records": 3, "isr": [1, 2]})


def test_a_question_survives_its_line() -> None:
    question = Question(pid=1, image_offset=2, lines_seen=3)
    assert parse_question(question_json(question)) == question


def test_a_sample_survives_its_line() -> None:
    replica = replace(a_replica(4), isr=(4, 5), proposed_isr=(4,), epochs=((0, 0), (2, 17)))
    reply = SampleReply(replace(a_sample(4, 0.5), replicas=(replica,), lines=(LINE,)), lines_seen=9)
    text = reply_json(reply, has_image=False)
    assert text.count("\n") == 1
    assert parse_reply(text, EMPTY_IMAGE) == reply


def test_an_image_that_the_asker_has_does_not_travel_again() -> None:
    image = an_image(7)
    reply = SampleReply(replace(a_sample(4, 0.5), image=image), lines_seen=0)
    text = reply_json(reply, has_image=True)
    assert parse_reply(text, image) == reply
    assert len(text) < len(reply_json(reply, has_image=False))


def test_the_ring_tells_what_came_since_and_no_line_twice() -> None:
    ring = LogRing()
    for number in range(3):
        ring.tap(None, "info", {"event": f"line {number}", "number": number})
    seen = ring.seen
    ring.tap(None, "info", {"event": "another"})
    assert [line.event for line in ring.since(seen, node_id=4)] == ["another"]
    assert [line.fields for line in ring.since(2, node_id=4)] == [{"number": 2}, {}]
    assert ring.since(ring.seen, node_id=4) == ()


def test_the_ring_keeps_the_newest() -> None:
    ring = LogRing()
    for number in range(LINES_MAX + 5):
        ring.tap(None, "info", {"event": str(number)})
    kept = ring.since(0, node_id=4)
    assert (len(kept), kept[-1].event) == (LINES_MAX, str(LINES_MAX + 4))


def test_a_tapped_line_goes_on_unchanged() -> None:
    error = OSError("no")
    event = {"event": "failed", "error": error, "isr": (1, 2)}
    ring = LogRing()
    assert ring.tap(None, "info", event) is event
    assert event == {"event": "failed", "error": error, "isr": (1, 2)}
    (line,) = ring.since(0, node_id=4)
    assert (line.node_id, line.fields) == (4, {"error": "no", "isr": [1, 2]})
