"""Inspect service of a node: answers a run with samples, over a Unix socket; chaos runs only.

One connection asks one question (`sample_json.py`) and gets one answer. It only looks, at what the
node's own loop sees between two steps; all of one answer is of one moment. A node that is paused
accepts (its kernel does) and stays silent.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.leader import Leader
from tidelog.chaos.node_inside import broker_of, epochs_of, held_by, log_of, quorum_of
from tidelog.chaos.sockets.sample_json import Question, SampleReply, parse_question, reply_json
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.samples import NodeSample, ReplicaSample
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.node.server import Node

LINES_MAX = 4096
QUESTION_BYTES_MAX = 4096
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class LogRing:
    """The newest log lines of this process; `tap` is a structlog processor that changes nothing."""

    def __init__(self) -> None:
        self.seen = 0
        """Lines so far, with those that are gone."""
        self._lines: deque[tuple[float, str, dict[str, Any]]] = deque(maxlen=LINES_MAX)

    def tap(
        self, _logger: object, _level: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Keep a line; of fields that JSON does not have, the text."""
        fields = {name: _to_plain(value) for name, value in event.items() if name != "event"}
        self._lines.append((time.monotonic(), str(event["event"]), fields))
        self.seen += 1
        return event

    def since(self, seen: int, *, node_id: int) -> tuple[LogLine, ...]:
        """Log lines after the first `seen`, as far as they are still kept."""
        news = min(self.seen - seen, len(self._lines))
        first = len(self._lines) - news
        return tuple(LogLine(node_id, *line) for line in islice(self._lines, first, None))


class Inspection:
    """The service of one node."""

    def __init__(self, node: Node, ring: LogRing) -> None:
        self._node = node
        self._ring = ring

    @asynccontextmanager
    async def serving(self, socket: str) -> AsyncIterator[None]:
        """Answer on the abstract Unix socket of this name, which ends with the process."""
        server = await asyncio.start_unix_server(
            self._on_connection, path=f"\0{socket}", limit=QUESTION_BYTES_MAX
        )
        try:
            yield
        finally:
            server.close()

    async def _on_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            question = parse_question((await reader.readline()).decode())
            writer.write(self._answer(question).encode())
            await writer.drain()
        except (ConnectionError, ValueError, TypeError):  # the asker went away, wholly or in part
            pass
        finally:
            writer.close()

    def _answer(self, question: Question) -> str:
        is_same = question.pid == os.getpid()
        node_id, seen = self._node.config.node_id, question.lines_seen if is_same else 0
        sample = self._sample(self._ring.since(seen, node_id=node_id))
        has_image = is_same and question.image_offset == sample.image.offset
        return reply_json(SampleReply(sample, self._ring.seen), has_image=has_image)

    def _sample(self, lines: tuple[LogLine, ...]) -> NodeSample:
        node, quorum, broker = self._node, quorum_of(self._node), broker_of(self._node)
        return NodeSample(
            node_id=node.config.node_id,
            pid=os.getpid(),
            at_s=time.monotonic(),
            is_ready=node.is_ready(),
            broker_epoch=-1 if broker is None else broker.lifecycle.broker_epoch,
            is_active_controller=quorum is not None and quorum.is_active,
            term=-1 if quorum is None else quorum.term,
            raft_leader_id=None if quorum is None else quorum.leader_id,
            image=_image(node),
            replicas=tuple(_replicas(node)),
            rss_bytes=_rss_bytes(),
            tasks=len(asyncio.all_tasks()),
            open_files=len(os.listdir("/proc/self/fd")),
            stats=node.stats(),
            lines=lines,
        )


def _to_plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_to_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _image(node: Node) -> MetadataImage:
    quorum, broker = quorum_of(node), broker_of(node)
    if quorum is not None:
        return quorum.image
    return EMPTY_IMAGE if broker is None else broker.follower.image


def _rss_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES


def _replicas(node: Node) -> list[ReplicaSample]:
    opened = ((hosted, log_of(hosted)) for hosted in held_by(node).values())
    return [_replica(hosted, log) for hosted, log in opened if log is not None]


def _replica(hosted: Partition, log: PartitionLog) -> ReplicaSample:
    sample = ReplicaSample(
        topic=hosted.topic,
        topic_id=hosted.topic_id.hex(),
        partition=hosted.partition,
        role=_role(hosted),
        leader_epoch=hosted.replica.leader_epoch,
        log_start_offset=log.log_start_offset,
        high_watermark=log.high_watermark,
        log_end_offset=log.log_end_offset,
        is_sound=hosted.is_sound,
        is_failed=hosted.is_failed,
        may_have_lost=hosted.may_have_lost,
        epochs=tuple((entry.epoch, entry.start_offset) for entry in epochs_of(log)),
    )
    leader = hosted.replica.leader
    return sample if leader is None else _led(sample, leader)


def _role(hosted: Partition) -> str:
    if hosted.replica.leader is not None:
        return "leader"
    return "none" if hosted.replica.follower is None else "follower"


def _led(sample: ReplicaSample, leader: Leader) -> ReplicaSample:
    return replace(
        sample,
        isr=leader.isr.committed,
        proposed_isr=leader.isr.proposed or (),
        maximal_isr=leader.isr.maximal,
        partition_epoch=leader.isr.partition_epoch,
        min_insync_replicas=leader._min_insync_replicas,  # noqa: SLF001  # only looks
    )
