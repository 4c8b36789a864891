"""Brokers that were fenced a moment ago, which Kafka's clients are told of a while longer."""

from __future__ import annotations

from dataclasses import replace

from tidelog.metadata.image import BrokerImage
from tidelog.node.kafka_apis.leaving_brokers import NAMED_MS, LeavingBrokers

LIVE = BrokerImage(1, b"i" * 16, 1, (), "", is_fenced=False)
FENCED = replace(LIVE, is_fenced=True)
NOW_MS = 1_000


def test_one_that_was_live_is_named_for_a_while_from_the_first_answer_without_it() -> None:
    leaving = LeavingBrokers()
    assert leaving.ids({1: LIVE, 2: LIVE}, 0) == set()
    after = {1: FENCED, 2: LIVE}
    assert leaving.ids(after, NOW_MS) == {1}
    assert leaving.ids(after, NOW_MS + NAMED_MS - 1) == {1}
    assert leaving.ids(after, NOW_MS + NAMED_MS) == set()
    assert leaving.ids(dict(after), NOW_MS + NAMED_MS) == set(), "it was fenced before, too"


def test_one_that_is_back_or_gone_for_good_is_not() -> None:
    for after in ({1: LIVE, 2: LIVE}, {2: LIVE}):
        leaving = LeavingBrokers()
        leaving.ids({1: LIVE, 2: LIVE}, 0)
        assert leaving.ids({1: FENCED, 2: LIVE}, NOW_MS) == {1}
        assert leaving.ids(after, NOW_MS + 1) == set()


def test_one_that_was_fenced_when_this_broker_started_is_not() -> None:
    assert LeavingBrokers().ids({1: FENCED, 2: LIVE}, NOW_MS) == set()
