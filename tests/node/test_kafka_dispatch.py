"""From bytes to handlers and back: the list of APIs, versions, and what closes a connection."""

from __future__ import annotations

import asyncio

import pytest
from tests.broker.kafka.memory_streams import Client, fail
from tests.proto.kafka_requests import write_request

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.kafka.server import KafkaServer, KafkaTimes
from tidelog.kafka.apis import API_VERSIONS, APIS
from tidelog.kafka.message import Message
from tidelog.kafka.messages.api_versions_request import ApiVersionsRequest
from tidelog.kafka.messages.api_versions_response import ApiVersionsResponse
from tidelog.kafka.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tidelog.kafka.messages.elect_leaders_response import ElectLeadersResponse
from tidelog.kafka.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.kafka.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.kafka.messages.produce_request import ProduceRequest, TopicProduceData
from tidelog.kafka.messages.produce_response import ProduceResponse
from tidelog.node.kafka_apis.api_versions import with_api_versions
from tidelog.node.kafka_apis.dispatch import NARROW_ELEMENTS_MAX, dispatch
from tidelog.node.kafka_apis.served import ApiCall, ServedApi

PRODUCE, INIT_PRODUCER_ID, ELECT_LEADERS = 0, 22, 43
SOFTWARE = ApiVersionsRequest(client_software_name="tests", client_software_version="1.0-x")
LISTED = [(PRODUCE, 0, 13), (API_VERSIONS, 0, 4), (INIT_PRODUCER_ID, 0, 5)]


async def give_id(request: InitProducerIdRequest, call: ApiCall) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=request.transaction_timeout_ms * 10 + call.version)


async def nothing(_request: ProduceRequest, _call: ApiCall) -> None:
    return None


ROWS = (
    ServedApi(PRODUCE, 13, nothing, advertised_from=0, is_pipelined=True),
    ServedApi(INIT_PRODUCER_ID, 5, give_id),
)


def connect() -> Client:
    server = KafkaServer(
        apis=dispatch(with_api_versions(ROWS)),
        config=KafkaConfig(),
        times=KafkaTimes(),
        on_fatal=fail,
    )
    return Client(server)


def bytes_of(request: Message, version: int, correlation_id: int = 7, more: bytes = b"") -> bytes:
    frame = b"".join(write_request(request, version=version, correlation_id=correlation_id))
    return (len(frame) - 4 + len(more)).to_bytes(4, "big") + frame[4:] + more


async def asked(data: bytes) -> Client:
    client = connect()
    client.send(data)
    for _ in range(20):
        await asyncio.sleep(0)
    return client


def listed(response: ApiVersionsResponse) -> list[tuple[int, int, int]]:
    return [(one.api_key, one.min_version, one.max_version) for one in response.api_keys]


@pytest.mark.parametrize("version", range(5))
async def test_the_list_is_answered_in_each_version_without_tags_in_the_header(
    version: int,
) -> None:
    client = await asked(bytes_of(SOFTWARE, version))
    ((correlation_id, answer),) = client.answers
    assert correlation_id == 7
    response = ApiVersionsResponse.decode(answer, version)
    assert (response.error_code, listed(response)) == (0, LISTED)


@pytest.mark.parametrize("version", [5, 6, 99, 32_767])
async def test_an_unknown_version_of_the_list_is_answered_in_version_0(version: int) -> None:
    known = bytes_of(SOFTWARE, 4)
    client = await asked(known[:6] + version.to_bytes(2, "big") + known[8:])
    ((_, answer),) = client.answers
    response = ApiVersionsResponse.decode(answer, 0)
    assert (response.error_code, listed(response)) == (35, LISTED)
    assert client.is_open, "the client asks again in a version that is served"


async def test_a_software_name_that_is_none_is_refused() -> None:
    bad = ApiVersionsRequest(client_software_name="-tests", client_software_version="1")
    client = await asked(bytes_of(bad, 3))
    assert ApiVersionsResponse.decode(client.answers[0][1], 3).error_code == 42
    assert ApiVersionsResponse.decode((await asked(bytes_of(bad, 2))).answers[0][1], 2) == (
        ApiVersionsResponse.decode((await asked(bytes_of(SOFTWARE, 2))).answers[0][1], 2)
    )


@pytest.mark.parametrize("version", range(6))
async def test_a_handler_has_message_and_version_and_answers_in_it(version: int) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=3)
    client = await asked(bytes_of(request, version, more=b"some clients send more"))
    ((_, answer),) = client.answers
    tags = version >= APIS[INIT_PRODUCER_ID].flexible_from
    response = InitProducerIdResponse.decode(answer[tags:], version)
    assert response.producer_id == 30 + version


async def test_a_request_without_answer_has_none_and_the_next_is_answered() -> None:
    client = await asked(bytes_of(ProduceRequest(), 9, 1) + bytes_of(SOFTWARE, 0, 2))
    assert [number for number, _ in client.answers] == [2]
    assert client.is_open


def cut(request: Message, version: int) -> bytes:
    whole = bytes_of(request, version)[4:-1]
    return len(whole).to_bytes(4, "big") + whole


@pytest.mark.parametrize(
    "data",
    [
        cut(InitProducerIdRequest(transaction_timeout_ms=1), 1),
        bytes_of(InitProducerIdRequest(), 6),  # the codec has it, but it is not served
        bytes_of(ProduceRequest(), 3).replace(b"\0\0\0\3", b"\0\0\0\2", 1),  # advertised only
        bytes_of(ApiVersionsRequest(), 0).replace(b"\0\x12", b"\0\x03", 1),
        bytes_of(ApiVersionsRequest(), 0).replace(b"\0\x12", b"\x7f\xff", 1),
        bytes_of(ApiVersionsRequest(), 0).replace(b"\0\x12", b"\xff\xff", 1),
    ],
    ids=["cut off", "version", "only advertised", "not served", "unknown", "negative"],
)
async def test_what_is_not_served_closes_the_connection_after_what_came_before(
    data: bytes,
) -> None:
    client = await asked(bytes_of(SOFTWARE, 3, 1) + data + bytes_of(SOFTWARE, 3, 2))
    assert [number for number, _ in client.answers] == [1]
    assert not client.is_open


WIDE = 2 * NARROW_ELEMENTS_MAX


class Recorded:
    """A handler that notes the requests which it begins and ends, and waits between, if told."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.may_end = asyncio.Event()

    async def __call__(self, request: ProduceRequest, _call: ApiCall) -> ProduceResponse:
        self.noted.append(f"begins {len(request.topic_data)}")
        await self.may_end.wait()
        self.noted.append(f"ends {len(request.topic_data)}")
        return ProduceResponse()


def produce(topics: int, correlation_id: int) -> bytes:
    request = ProduceRequest(topic_data=[TopicProduceData(name="t") for _ in range(topics)])
    return bytes_of(request, 9, correlation_id)


async def settled() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def test_a_wide_pipelined_request_is_alone_on_its_connection() -> None:
    handler = Recorded()
    server = KafkaServer(
        apis=dispatch([ServedApi(PRODUCE, 13, handler, is_pipelined=True)]),
        config=KafkaConfig(),
        times=KafkaTimes(),
        on_fatal=fail,
    )
    client, other = Client(server), Client(server)
    client.send(produce(1, 1) + produce(2, 2) + produce(WIDE, 3) + produce(3, 4) + produce(4, 5))
    await settled()
    assert handler.noted == ["begins 1", "begins 2", f"begins {WIDE}"]
    other.send(produce(5, 1))
    await settled()
    assert handler.noted[3:] == ["begins 5"], "other connections do not wait"
    handler.noted.clear()
    handler.may_end.set()
    await settled()
    order = [one for one in handler.noted if one != "ends 5"]
    assert order.index(f"ends {WIDE}") < order.index("begins 3")
    assert order.index("begins 3") < order.index("begins 4")
    assert [number for number, _ in client.answers] == [1, 2, 3, 4, 5]


async def elect(_request: ElectLeadersRequest, _call: ApiCall) -> ElectLeadersResponse:
    return ElectLeadersResponse()


@pytest.mark.parametrize(("version", "is_told"), [(2, True), (0, False)])
async def test_too_many_elements_are_refused_by_a_code_or_else_by_closing(
    version: int, *, is_told: bool
) -> None:
    server = KafkaServer(
        apis=dispatch([ServedApi(ELECT_LEADERS, 2, elect, elements_max=WIDE)]),
        config=KafkaConfig(),
        times=KafkaTimes(),
        on_fatal=fail,
    )
    client = Client(server)
    numbers = list(range(WIDE - 1))
    most = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=numbers)])
    client.send(bytes_of(most, version, 1))
    await settled()
    numbers.append(WIDE)
    client.send(bytes_of(most, version, 2))
    await settled()
    assert client.is_open == is_told
    codes = [
        ElectLeadersResponse.decode(answer[version >= 2 :], version).error_code
        for _, answer in client.answers
    ]
    assert codes == ([0, 42] if is_told else [0])
