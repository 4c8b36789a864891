"""Records by POST to a process: any node takes them, for whichever broker leads."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.integration.live_nodes import LiveNode

from tidelog.client import Admin, Consumer, NewTopic, TidelogError, TopicPartition
from tidelog.net.quiet_ports import quiet_ports

pytestmark = [pytest.mark.process]
READY_TIMEOUT_S = 300
MAX_BYTES = 100_000


class Nodes:
    """Two nodes, of which the first takes records over HTTP."""

    def __init__(self, folder: Path) -> None:
        first, second, self.http_port, self.other_http_port = quiet_ports(4)
        voters = {1: f"127.0.0.1:{first}", 2: f"127.0.0.1:{second}"}
        self.bootstrap = list(voters.values())
        more: dict[int, dict[str, int | str]] = {
            1: {
                "http.port": self.http_port,
                "http.produce.enable": True,
                "http.produce.max.bytes": MAX_BYTES,
            },
            2: {"http.port": self.other_http_port},
        }
        self.all = [
            LiveNode(
                node_id,
                roles=["broker", "controller"],
                address=address,
                voters=voters,
                folder=folder,
                settings={"auto.create.topics.enable": False, **more[node_id]},
            )
            for node_id, address in voters.items()
        ]

    def url(self, path: str) -> str:
        """Of the node that takes records."""
        return f"http://127.0.0.1:{self.http_port}{path}"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path)
    try:
        for node in nodes.all:
            node.start()
        yield nodes
        assert [node.stop() for node in nodes.all] == [0, 0]
    finally:
        for node in nodes.all:
            node.end()


async def make_topic(nodes: Nodes) -> dict[int, int]:
    """Topic "t"; its leader by partition, each node one."""
    async with asyncio.timeout(READY_TIMEOUT_S), Admin(nodes.bootstrap) as admin:
        while True:
            try:
                described = await admin.describe_cluster()
                if len([one for one in described.brokers if not one.is_fenced]) == len(nodes.all):
                    break
            except TidelogError:
                pass  # the nodes start
            await asyncio.sleep(0.1)
        created = await admin.create_topics([NewTopic("t", assignments=[[1, 2], [2, 1]])])
        assert created["t"] is not None
        topic = await admin.describe_topic("t")
    return {one.partition: one.leader for one in topic.partitions if one.leader is not None}


async def posted(nodes: Nodes, path: str, data: object, content_type: str) -> tuple[int, Any]:
    headers = {"Content-Type": content_type}
    async with (
        aiohttp.ClientSession() as session,
        session.post(nodes.url(path), data=data, headers=headers) as response,
    ):
        return response.status, await response.json()


async def chunks() -> Any:
    for _ in range(MAX_BYTES // 10_000 + 1):
        yield b"x" * 10_000


async def test_posted_records_are_stored_by_whichever_broker_leads(nodes: Nodes) -> None:
    assert sorted((await make_topic(nodes)).values()) == [1, 2]
    for partition in (0, 1):
        path = f"/topics/t?key=a&partition={partition}"
        status, answer = await posted(nodes, path, b'{"n": 1}', "application/json")
        assert status == 200
        assert answer == {"topic": "t", "offsets": [{"partition": partition, "offset": 0}]}
    await refusals(nodes)
    await by_curl(nodes)
    consumer = Consumer(nodes.bootstrap, auto_offset_reset="earliest")
    consumer.assign([TopicPartition("t", 0), TopicPartition("t", 1)])
    found: list[tuple[bytes | None, bytes | None]] = []
    async with asyncio.timeout(READY_TIMEOUT_S), consumer:
        while len(found) < 3:
            found += [(one.key, one.value) for one in await consumer.getmany(timeout_ms=1_000)]
    assert sorted(found) == [(b"a", b'{"n": 1}'), (b"a", b'{"n": 1}'), (b"curl", b"hello=1")]


async def refusals(nodes: Nodes) -> None:
    status, answer = await posted(nodes, "/topics/nosuch", b"v", "text/plain")
    assert (status, answer["error"]) == (404, "UNKNOWN_TOPIC_OR_PARTITION")
    status, answer = await posted(nodes, "/topics/t", b"v", "image/png")
    assert status == 415
    for large in (b"x" * (MAX_BYTES + 1), chunks()):
        status, answer = await posted(nodes, "/topics/t", large, "text/plain")
        assert (status, answer["error"]) == (413, "MESSAGE_TOO_LARGE")
    assert await asked(nodes.http_port, b"POST /topics/t HTTP/1.1\r\nHost: x\r\nContent-Length: "
                       b"100001\r\nExpect: 100-continue\r\n\r\n") == b"413"  # fmt: skip
    assert await asked(nodes.http_port, b"GET /topics/t HTTP/1.1\r\nHost: x\r\n\r\n") == b"405"
    off = b"POST /topics/t HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    assert await asked(nodes.other_http_port, off) == b"404"


async def asked(port: int, request: bytes) -> bytes:
    """The status of the first answer to a request, of which no body is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    status = (await reader.readline()).split()[1]
    writer.close()
    return status


async def by_curl(nodes: Nodes) -> None:
    curl = shutil.which("curl")
    if curl is None:  # the same request, as curl makes it
        form = "application/x-www-form-urlencoded"
        status, _ = await posted(nodes, "/topics/t?key=curl", b"hello=1", form)
        assert status == 200
        return
    process = await asyncio.create_subprocess_exec(
        *(curl, "--silent", "--fail", "-d", "hello=1", nodes.url("/topics/t?key=curl")),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert json.loads(output)["topic"] == "t"
