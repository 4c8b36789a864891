"""The end of a run: everything acknowledged is there, on every node, and all nodes say the same."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.integration.live_clients import CONFIG
from tests.integration.live_history import History
from tests.integration.live_nodes import LiveNode
from tests.integration.live_quorum import LiveQuorum, until

_STILL_POLLS = 10
_TIDELOG = str(Path(sys.executable).with_name("tidelog"))


async def check_end(quorum: LiveQuorum) -> Mapping[str, Any]:
    """Compare all nodes, running and then stopped; figures. Violations go to the history."""
    await quorum.until_ready()
    offset, images = await _images(quorum)
    quorum.wals.look(quorum.voters)
    for node, image in zip(quorum.voters, images, strict=True):
        if image != images[0]:
            quorum.history.violation(f"the metadata of node {node.node_id} differs")
        _check_image(quorum.history, node.node_id, image)
    await _check_topic_lists(quorum)
    _check_logged(quorum)
    await _check_stopped(quorum)
    return {"metadata_offset": offset, "metadata_records": len(images[0])}


async def _images(quorum: LiveQuorum) -> tuple[int, list[list[str]]]:
    """The metadata of all nodes at one offset, and that offset.

    On a busy machine a replica may come back into its ISR while the images are read: read again.
    """
    offset, images = -1, list[list[str]]()

    async def none_changed_meanwhile() -> bool:
        nonlocal offset, images
        offset = await _still(quorum)
        images = list(await asyncio.gather(*(_image(quorum, node) for node in quorum.voters)))
        return await _still(quorum) == offset

    await until(none_changed_meanwhile, "the images of one offset")
    return offset, images


async def _still(quorum: LiveQuorum) -> int:
    """Wait until nothing changes any more; the offset all nodes' metadata is at."""
    seen: list[set[int]] = []

    async def nothing_changes() -> bool:
        statuses = [await quorum.status(voter) for voter in quorum.voters]
        applied = {status.applied_index if status else -1 for status in statuses}
        nodes = [await quorum.node_status(node) for node in quorum.nodes]
        offsets = {node.metadata_offset if node else -1 for node in nodes}
        seen.append(offsets if len(applied) == len(offsets) == 1 else set())
        newest = seen[-_STILL_POLLS:]
        return (
            len(newest) == _STILL_POLLS
            and newest[0] != set()
            and newest.count(newest[0]) == len(newest)
        )

    await until(nothing_changes, "all nodes' metadata at one offset")
    return seen[-1].pop()


async def _image(quorum: LiveQuorum, node: LiveNode) -> list[str]:
    """All metadata as `tidelog quorum log` shows it, a line a record."""
    arguments = ("quorum", "log", "--snapshot", "--json", "--bootstrap", node.address)
    return (await _tidelog(quorum, *arguments)).splitlines()


async def _tidelog(quorum: LiveQuorum, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(_TIDELOG, *arguments), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, complaints = await process.communicate()
    if process.returncode != 0:
        words = " ".join(arguments)
        quorum.history.violation(f"tidelog {words}: {complaints.decode().strip()}")
    return output.decode()


def _check_image(history: History, node_id: int, image: list[str]) -> None:
    lines = [json.loads(line) for line in image]
    topics = {r["record"]["name"]: r["record"]["topic_id"] for r in lines if r["type"] == "topic"}
    configs = {
        record["resource_name"]: record["value"]
        for record in (line["record"] for line in lines if line["type"] == "config")
        if record["key"] == CONFIG
    }
    for name, topic_id in history.created.items():
        if name not in history.delete_tried and topics.get(name) != topic_id.hex():
            history.violation(f"node {node_id} lacks {name}, acknowledged")
    for name in history.deleted & topics.keys():
        history.violation(f"node {node_id} has {name}, acknowledged as deleted")
    for name in topics.keys() - history.create_tried:
        history.violation(f"node {node_id} has {name}, which nobody created")
    for name in topics.keys() & history.configs.keys():
        config = history.configs[name]
        allowed = {*config.acknowledged[-1:], *config.in_doubt}
        if config.acknowledged and configs.get(name) not in allowed:
            history.violation(f"node {node_id}: {name} has {configs.get(name)}, not {allowed}")


async def _check_topic_lists(quorum: LiveQuorum) -> None:
    """Every broker lists the same."""
    lists = await asyncio.gather(
        *(
            _tidelog(quorum, "topics", "list", "--bootstrap", node.address)
            for node in quorum.nodes
            if node.is_broker
        )
    )
    if len(set(lists)) != 1:
        quorum.history.violation("brokers list different topics")


def _check_logged(quorum: LiveQuorum) -> None:
    """Every acknowledged command is a committed entry, unless entries were trimmed unread."""
    history, wals = quorum.history, quorum.wals
    missing: Counter[str] = Counter()
    for name, topic_id in history.created.items():
        missing["creates"] += topic_id not in wals.created
        missing["deletes"] += name in history.deleted and topic_id not in wals.removed
    for name, config in history.configs.items():
        missing["alters"] += sum((name, value) not in wals.values for value in config.acknowledged)
    count = sum(missing.values())
    if count > wals.entries_not_seen:
        history.violation(f"acknowledged commands that no log has: {dict(missing)}")


async def _check_stopped(quorum: LiveQuorum) -> None:
    """The files of all, killed at once, are whole and have everything, as their reader says."""
    await quorum.kill(*quorum.nodes)
    quorum.wals.look(quorum.voters)
    reading = ("quorum", "log", "--json", "--data-dir")
    await asyncio.gather(
        *(_tidelog(quorum, *reading, str(node.data_dir)) for node in quorum.voters)
    )
