"""Mutants of Kafka's protocol: answers, their order, and what they say of leaders and outcomes."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tidelog.broker.kafka.connection import Connection
from tidelog.broker.kafka.frame_reader import FrameReader
from tidelog.broker.partition.fetch import FetchPosition, FetchResult
from tidelog.broker.partition.produce import ProduceData, ProduceResult
from tidelog.kafka.messages.fetch_response import FetchResponse
from tidelog.kafka.messages.metadata_response import MetadataResponseTopic
from tidelog.kafka.messages.offset_for_leader_epoch_response import EpochEndOffset
from tidelog.kafka.messages.produce_response import PartitionProduceResponse, ProduceResponse
from tidelog.log.append_result import AppendResult
from tidelog.log.partition_log import PartitionLog
from tidelog.node.kafka_apis import fetch, leader_epochs, produce
from tidelog.node.kafka_apis.error_codes import Place, kafka_code
from tidelog.node.kafka_apis.fetch import FetchHandler
from tidelog.node.kafka_apis.metadata import MetadataHandler, _Form, _Made, _topic
from tidelog.node.kafka_apis.produce import ProduceHandler
from tidelog.simulation.mutants import wire_foreign, wire_groups, wire_rooms
from tidelog.simulation.mutants.mutant import Mutant, replaces
from tidelog.v1 import common_pb2

_answer_produce = ProduceHandler.__call__
_produced = produce._partition
_fetch_response = FetchHandler._response
_fetch_position = fetch._position
_fetch_positions = FetchHandler._positions
_produce_partitions = ProduceHandler._partitions
_epoch_end = leader_epochs._answer
_append = PartitionLog.append_as_leader
_checked_size = FrameReader._checked_size


@replaces(Connection, "_queue_answers")
def answers_out_of_order(self: Connection) -> None:
    """An answer is sent when it is there, though one to an earlier request is not."""
    for request in [one for one in self._begun if one.answered is not None]:
        self._begun.remove(request)
        assert request.answered is not None  # as above
        buffers, on_sent = request.answered
        if buffers is None:
            on_sent()
            continue
        self.answers.add(
            request.header.correlation_id,
            buffers,
            answer_header=request.form.answer_header,
            on_sent=on_sent,
        )


@replaces(ProduceHandler, "__call__")
async def acks_0_answered(self: ProduceHandler, request: Any, call: Any) -> ProduceResponse:
    """A producer that wants no acknowledgement gets an answer."""
    return await _answer_produce(self, request, call) or ProduceResponse()


@replaces(FetchHandler, "_response")
async def first_batch_cut(
    self: FetchHandler, request: Any, results: list[FetchResult], call: Any
) -> FetchResponse:
    """A batch that is larger than the maximum bytes is cut there (KIP-74)."""
    asked = [part for topic in request.topics for part in topic.partitions]
    cut = [
        replace(one, records=one.records[: max(1, part.partition_max_bytes)])
        for one, part in zip(results, asked, strict=True)
    ]
    return await _fetch_response(self, request, cut, call)


@replaces(produce, "kafka_code")
def unknown_outcome_answered_as_refusal(code: Any, place: Place) -> int:
    """Records that may be stored are answered with an error that says they are not."""
    unknown = {common_pb2.REQUEST_TIMED_OUT, common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
    return kafka_code(common_pb2.NOT_LEADER_OR_FOLLOWER if code in unknown else code, place)


@replaces(MetadataHandler, "_known")
def metadata_never_renewed(
    self: MetadataHandler, image: Any, topic: Any, form: _Form, listener: Any
) -> Any:
    """A topic is told as it was when it was first asked for: its leaders, and their epochs."""
    of_form = self._made.setdefault(form, {})
    made = of_form.get(topic.name)
    if made is None or made.topic.topic_id != topic.topic_id:
        encoded = _topic(topic, image, form, listener).encode(form.version)
        answer = MetadataResponseTopic(encoded=encoded)
        made = of_form[topic.name] = _Made(topic, image.brokers, answer)
    return made.answer


@replaces(FetchHandler, "_positions")
def gone_topic_ids_read(
    self: FetchHandler, request: Any, version: int
) -> Iterator[tuple[FetchPosition, FetchResult | None]]:
    """A fetch by the id of a topic that is gone reads the topic that has its name now."""
    for position, error in _fetch_positions(self, request, version):
        known = _names_of(self, self._image())
        if error is not None and error.error == common_pb2.UNKNOWN_TOPIC_ID:
            name = known.get(position.topic_id)
            if name is not None:
                yield position._replace(topic=name, topic_id=b""), None
                continue
        yield position, error


@replaces(ProduceHandler, "_partitions")
def gone_topic_ids_written(
    self: ProduceHandler, request: Any, version: int
) -> Iterator[tuple[ProduceData, ProduceResult | None]]:
    """Records for the id of a topic that is gone go to the topic that has its name now."""
    for data, error in _produce_partitions(self, request, version):
        name = _names_of(self, self._image()).get(data.topic_id)
        if name is not None and error is None:
            yield ProduceData(name, data.partition, data.records, b""), None
        else:
            yield data, error


@replaces(PartitionLog, "append_as_leader")
def duplicate_answered_with_newest_offset(self: PartitionLog, *given: Any, **named: Any) -> Any:
    """A batch that was stored before is answered with the offset of the newest batch."""
    done: AppendResult = _append(self, *given, **named)
    if not done.is_duplicate:
        return done
    moved = self.log_end_offset - 1 - done.last_offset
    return done._replace(base_offset=done.base_offset + moved, last_offset=done.last_offset + moved)


@replaces(fetch, "_position")
def fenced_epochs_served(name: str, topic_id: bytes, asked: Any) -> FetchPosition:
    """A fetch is served whatever leader epoch it names (KIP-320)."""
    return _fetch_position(name, topic_id, asked)._replace(current_leader_epoch=None)


@replaces(produce, "_partition")
def wrong_leader_hinted(asked: Any, result: ProduceResult) -> PartitionProduceResponse:
    """An error names the leader as one of an epoch to come (KIP-951)."""
    response = _produced(asked, result)
    if response.current_leader is not None:
        response.current_leader.leader_epoch += 1
    return response


@replaces(leader_epochs, "_answer")
def epoch_ends_early(found: Any) -> EpochEndOffset:
    """The end of a leader epoch is told without its last record."""
    answer = _epoch_end(found)
    answer.end_offset = max(-1, answer.end_offset - 1)
    return answer


@replaces(FrameReader, "_checked_size")
def frame_limit_after_allocation(self: FrameReader) -> int:
    """Room for a frame is allocated before its size is compared with the limit."""
    size = int.from_bytes(self._head[self._at : self._at + 4], "big", signed=True)
    bytearray(max(0, size))
    return _checked_size(self)


def _names_of(handler: Any, image: Any) -> dict[bytes, str]:
    """Names of all topics that this handler has ever seen, by their ids."""
    known: dict[bytes, str] = vars(handler).setdefault("_wrongly_known", {})
    known.update((one.topic_id, one.name) for one in image.topics.values())
    return known


ALL: dict[str, Mutant] = {
    mutant.name: mutant
    for mutant in [
        *globals().values(),
        *vars(wire_foreign).values(),
        *vars(wire_groups).values(),
        *vars(wire_rooms).values(),
    ]
    if isinstance(mutant, Mutant)
}

UNSEEN = frozenset({"answers_without_room", "frame_limit_after_allocation"})
"""Not noticed by every hundred seeds. Hunted when asked for.

docs/MUTANTS.md says what it would take.
"""

MUTANTS: dict[str, Mutant] = {name: mutant for name, mutant in ALL.items() if name not in UNSEEN}
"""Those that any hundred seeds must catch."""
