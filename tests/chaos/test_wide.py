"""Wide requests of strangers: as many elements as were asked for, in versions without tags."""

from __future__ import annotations

import pytest

from tidelog.chaos.sockets.wide_callers import ELEMENTS
from tidelog.chaos.workloads.wide import WIDE_CALLS, WIDE_MESSAGES
from tidelog.kafka.apis import APIS, request_class
from tidelog.kafka.errors import TooManyElementsError
from tidelog.net.request_elements import has_too_many
from tidelog.node.kafka_apis.served import ELEMENTS_MAX


@pytest.mark.parametrize("name", WIDE_MESSAGES)
def test_a_message_is_as_wide_as_was_asked_and_has_no_tags(name: str) -> None:
    version, make = WIDE_MESSAGES[name]
    request = make("t", 500)
    assert version < APIS[request.API_KEY].flexible_from, "its header has no tags"
    assert APIS[request.API_KEY].name == name
    data, kind = b"".join(request.encode(version)), request_class(request.API_KEY)
    assert kind.decode(data, version) == request
    with pytest.raises(TooManyElementsError):
        kind.decode(data, version, elements_max=499)


@pytest.mark.parametrize(("method", "make"), WIDE_CALLS, ids=lambda one: getattr(one, "name", ""))
def test_a_call_is_as_wide_as_was_asked(method: object, make: object) -> None:
    assert callable(make)
    request = make("t", 500)
    data, kind = request.SerializeToString(), request.DESCRIPTOR
    assert has_too_many(data, kind, limit=499)
    assert not has_too_many(data, kind, limit=500)


def test_strangers_ask_for_nearly_as_much_as_an_api_takes() -> None:
    assert 0.9 * ELEMENTS_MAX < ELEMENTS < ELEMENTS_MAX
