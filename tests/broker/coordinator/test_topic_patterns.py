"""What patterns match of the topics of an image, as topics come and go."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_member import Member, to_value
from tidelog.broker.coordinator.image_topics import ImageTopics
from tidelog.broker.coordinator.patterns import topic_patterns
from tidelog.broker.coordinator.patterns.topic_patterns import (
    MATCHES_MAX,
    MATCHING_STEPS_MAX,
    PATTERNS_MAX,
    TopicPatterns,
)
from tidelog.broker.coordinator.target_assignments import TargetAssignment
from tidelog.core.errors import InvalidRegularExpressionError
from tidelog.core.internal_topics import INTERNAL_TOPICS


def of(*names: str) -> TopicPatterns:
    patterns = TopicPatterns()
    follow(patterns, names)
    return patterns


def follow(patterns: TopicPatterns, names: Iterable[str]) -> None:
    patterns.follow(list(names), source=object())
    finish(patterns)


def finish(patterns: TopicPatterns) -> list[str]:
    """All slices; the patterns that were settled, in order."""
    settled: list[str] = []
    while patterns.is_busy:
        one = patterns.work()
        if one is not None:
            settled.append(one)
    return settled


def matched(patterns: TopicPatterns, pattern: str) -> set[str]:
    patterns.add(pattern)
    finish(patterns)
    patterns.check(pattern)
    return set(patterns.matching(pattern))


def test_topics_that_come_and_go_are_followed() -> None:
    patterns = of("orders.eu", "stock", *INTERNAL_TOPICS)
    assert matched(patterns, ".*") == {"orders.eu", "stock"}
    assert matched(patterns, "orders.*") == {"orders.eu"}
    revision = patterns.revision
    follow(patterns, ["orders.eu", "orders.us", "tides", *INTERNAL_TOPICS])
    assert patterns.matching("orders.*") == {"orders.eu", "orders.us"}
    assert patterns.matching(".*") == {"orders.eu", "orders.us", "tides"}
    assert patterns.revision > revision
    revision = patterns.revision
    follow(patterns, ["orders.us", "tides"])
    assert patterns.matching("orders.*") == {"orders.us"}
    assert patterns.revision > revision


def test_the_same_topics_are_not_matched_again() -> None:
    patterns = of("a")
    patterns.add("a")
    source = object()
    patterns.follow(["a", "aa"], source=source)
    finish(patterns)
    revision = patterns.revision
    patterns.follow(["other"], source=source)
    assert not patterns.is_busy
    follow(patterns, ["a", "aa", "b"])
    assert patterns.revision == revision, "nothing new for this pattern"


def test_what_was_matched_holds_while_more_is_matched() -> None:
    patterns = of("a1")
    assert matched(patterns, "a.") == {"a1"}
    patterns.follow([f"a{number}" for number in range(10)], source=object())
    assert patterns.is_busy
    assert patterns.matching("a.") == {"a1"}
    assert patterns.is_settled("a.")
    finish(patterns)
    assert len(patterns.matching("a.")) == 10


def test_topics_that_come_while_a_pattern_is_matched_are_not_missed() -> None:
    names = [f"t{number}" for number in range(5_000)]
    patterns = of(*names)
    patterns.add("t.*")
    assert patterns.work() is None
    patterns.follow([*names, "t-new"], source=object())
    finish(patterns)
    assert len(patterns.matching("t.*")) == 5_001


def test_a_pattern_has_an_answer_when_it_is_settled_though_it_matches_nothing() -> None:
    patterns = of("a")
    revision = patterns.revision
    patterns.add_loaded("b")
    assert not patterns.is_settled("b")
    finish(patterns)
    assert patterns.is_settled("b")
    assert patterns.matching("b") == frozenset()
    assert patterns.revision > revision, "groups that it was loaded for have to look"


def test_a_loaded_pattern_that_is_refused_now_matches_nothing() -> None:
    patterns = of("a")
    patterns.add_loaded("(a+)+")
    finish(patterns)
    assert patterns.is_settled("(a+)+")
    assert patterns.matching("(a+)+") == frozenset()


def test_patterns_that_nobody_uses_go() -> None:
    patterns = of("a")
    patterns.add("a")
    patterns.add("b")
    finish(patterns)
    patterns.retain({"a"})
    assert len(patterns) == 2, "b was asked for since"
    patterns.retain({"a"})
    assert patterns.is_settled("a")
    assert not patterns.is_settled("b")
    patterns.add("c")
    patterns.retain(())
    patterns.retain(())
    assert finish(patterns) == ["c"], "somebody waits for it"


def test_there_are_only_so_many_patterns_but_loaded_ones_count_anyway() -> None:
    patterns = of("a")
    for number in range(PATTERNS_MAX):
        patterns.add(f"a{number}")
    with pytest.raises(InvalidRegularExpressionError, match="its maximum"):
        patterns.add("b")
    patterns.add("a7")
    patterns.add_loaded("b")
    finish(patterns)
    assert patterns.is_settled("b")


def test_patterns_match_only_so_many_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MATCHES_MAX >= 10_000
    monkeypatch.setattr(topic_patterns, "MATCHES_MAX", 5)
    patterns = of("a1", "a2", "a3", "b")
    assert len(matched(patterns, "a.")) == 3
    with pytest.raises(InvalidRegularExpressionError, match="topics"):
        matched(patterns, "a[1-3]")
    with pytest.raises(InvalidRegularExpressionError, match="topics"):
        patterns.add("a[1-3]")  # asked again, it is not matched again
    assert not patterns.is_busy
    assert matched(patterns, "b") == {"b"}
    patterns.add_loaded("[ab].")
    finish(patterns)
    assert len(patterns.matching("[ab].")) == 3


def test_a_pattern_that_takes_too_many_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MATCHING_STEPS_MAX >= 100_000
    monkeypatch.setattr(topic_patterns, "MATCHING_STEPS_MAX", 5_000)
    names = [f"{number:b}".replace("0", "a").replace("1", "b") * 25 for number in range(300, 400)]
    costly = "(a|b)*a(a|b){60}"
    patterns = of(*names)
    with pytest.raises(InvalidRegularExpressionError, match="takes too long"):
        matched(patterns, costly)
    assert matched(patterns, "[ab]*") == set(names)
    patterns = of("a" * 61)
    assert matched(patterns, costly) == {"a" * 61}
    follow(patterns, names)
    patterns.check(costly)  # what was accepted is matched with new topics, whatever it takes


# Steps


TOPICS, MEMBERS = 10_000, 1_000
STEP_S_MAX = 0.02


def image(count: int) -> Any:  # a MetadataImage, as far as it is asked
    topics = {
        f"orders.{number % 7}.{number:05d}": SimpleNamespace(
            topic_id=number.to_bytes(16, "big"), partitions=range(1)
        )
        for number in range(count)
    }
    by_id = {one.topic_id: SimpleNamespace(**vars(one), name=name) for name, one in topics.items()}
    return SimpleNamespace(topics=topics, topic_by_id=by_id.get, topics_by_id=by_id)


class Stopwatch:
    """The longest step of all by this thread's processor time, without the test's own garbage."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    def __enter__(self) -> None:
        self._began = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.longest_s = max(self.longest_s, time.thread_time() - self._began)


@pytest.mark.parametrize("distinct", [1, 100])
def test_no_step_is_long_with_many_topics_and_members(distinct: int) -> None:
    """Matching, joining, assigning; a step is what the loop does before others have a turn.

    A busy machine may slow one step down by the caches it takes, but not in each of five rounds.
    """
    gc.collect()
    gc.disable()
    try:
        assert any(longest_step_s(distinct) < 3 * STEP_S_MAX for _ in range(5))
    finally:
        gc.enable()


def longest_step_s(distinct: int) -> float:
    """The longest step from the first match to the last assignment."""
    made = image(TOPICS)
    patterns = TopicPatterns()
    topics = ImageTopics(lambda: made, patterns)
    step = Stopwatch()
    patterns.follow(made.topics, source=made.topics_by_id)
    names = [f".*[.]{number % 7}[.].*{number}?" for number in range(distinct)]
    for pattern in names:
        with step:
            patterns.add(pattern)
    while patterns.is_busy:
        with step:
            patterns.work()
    group = ConsumerGroup("g")
    for number in range(MEMBERS):
        member = Member(f"m{number:04d}", pattern=names[number % distinct])
        with step:
            records = group.change(member, "joined", 0, topics)
        for record in records[1:]:
            group.replay_group(record.value)  # type: ignore[arg-type]  # a GroupValue
        group.replay_member(member.member_id, to_value(member))
    target = TargetAssignment(group, assignors_of(["range"]), topics)
    while not target.is_done:
        with step:
            records = target.next_slice()
        for record in records:
            kind = record.key.WhichOneof("kind")
            replay = group.replay_group if kind == "group" else None
            if replay is not None:
                replay(record.value)  # type: ignore[arg-type]  # a GroupValue
    with step:
        assert not group.have_topics_changed(topics)
    return step.longest_s
