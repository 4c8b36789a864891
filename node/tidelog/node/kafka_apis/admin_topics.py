"""CreateTopics, DeleteTopics, CreatePartitions: commands to the controllers.

A topic that a request names twice is refused once, as in Kafka; the others are carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized

from tidelog.core.turns import PER_PIECE, in_turns
from tidelog.kafka.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tidelog.kafka.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from tidelog.kafka.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.kafka.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from tidelog.kafka.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.kafka.messages.delete_topics_response import (
    DeletableTopicResult,
    DeleteTopicsResponse,
)
from tidelog.kafka.wire import NO_UUID
from tidelog.metadata.configs import effective_configs
from tidelog.metadata.image import MetadataImage
from tidelog.node.kafka_apis.admin_refusals import (
    Refusal,
    given_time_ms,
    invalid,
    named_twice,
    refusal,
    refused,
    too_many,
)
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.error_codes import throttle_ms
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import admin_pb2, common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.methods import CREATE_PARTITIONS, CREATE_TOPICS, DELETE_TOPICS

BY_STATES_FROM = 6
"""First version of DeleteTopics in which a topic may be named by its id."""
_DEFAULT = -1
"""Number of partitions or replicas that leaves the choice to the cluster."""


class CreateTopicsHandler:
    """Handler of CreateTopics. The answer has the configs that the new topics work with."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(self, request: CreateTopicsRequest, call: ApiCall) -> CreateTopicsResponse:
        """See `ApiHandler`."""
        del call
        if fault := _too_many(request.topics, self._ports):
            return CreateTopicsResponse(
                topics=[
                    _not_created(one.name, fault)
                    async for one in in_turns(request.topics, PER_PIECE)
                ]
            )
        twice = named_twice(topic.name for topic in request.topics)
        command = admin_pb2.CreateTopicsRequest(
            timeout_ms=given_time_ms(request.timeout_ms), validate_only=request.validate_only
        )
        results: dict[str, CreatableTopicResult] = {}
        async for topic in in_turns(request.topics):
            fault = self._fault_of(topic) if topic.name not in twice else _named_twice()
            results[topic.name] = _not_created(topic.name, fault or Refusal(0, None))
            if fault is None:
                command.topics.append(_new_topic(topic))
        codes = await self._create(command, results)
        return CreateTopicsResponse(
            throttle_time_ms=throttle_ms(codes), topics=list(results.values())
        )

    def _fault_of(self, topic: CreatableTopic) -> Refusal | None:
        most = self._ports.config.controller.partitions_max
        if len(topic.assignments) > most:
            what = f"{len(topic.assignments)} partitions: the cluster's limit is {most}"
            return refused(common_pb2.INVALID_PARTITIONS, what)
        return _fault_of(topic)

    async def _create(
        self, command: admin_pb2.CreateTopicsRequest, results: dict[str, CreatableTopicResult]
    ) -> set[common_pb2.ErrorCode]:
        """Have topics created; put what came of each into its result."""
        if not command.topics:
            return set()
        configs = {topic.name: topic.configs for topic in command.topics}
        answer = await self._ports.forwarder.forward(CREATE_TOPICS, command)
        defaults = self._ports.image().cluster_configs
        errors = _errors(list(configs), answer.error, answer.topics)
        made = {one.name: one for one in answer.topics}
        for name, error in errors.items():
            if error.code != common_pb2.NONE:
                results[name] = _not_created(name, refusal(error))
                continue
            one = made[name]
            results[name].topic_id = one.topic_id or NO_UUID
            results[name].num_partitions = one.partitions
            results[name].replication_factor = one.replication_factor
            results[name].configs = list(_configs(name, configs[name], defaults))
        return {error.code for error in errors.values()}


class DeleteTopicsHandler:
    """Handler of DeleteTopics. A topic that is named by its id is deleted in no other incarnation.

    An id that this broker does not know is UNKNOWN_TOPIC_ID.
    """

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(self, request: DeleteTopicsRequest, call: ApiCall) -> DeleteTopicsResponse:
        """See `ApiHandler`."""
        asked = request.topics
        if call.version < BY_STATES_FROM:
            asked = [DeleteTopicState(name=name) for name in request.topic_names]
        if fault := _too_many(asked, self._ports):
            return DeleteTopicsResponse(
                responses=[
                    DeletableTopicResult(one.name, one.topic_id, *fault)
                    async for one in in_turns(asked, PER_PIECE)
                ]
            )
        image = self._ports.known_image()
        twice = named_twice(filter(None, (_deleted_name(one, image)[0] for one in asked)))
        command = admin_pb2.DeleteTopicsRequest(timeout_ms=given_time_ms(request.timeout_ms))
        results = []
        begun: dict[str, DeletableTopicResult] = {}
        for one in {(one.name, one.topic_id): one for one in asked}.values():  # each once
            result = DeletableTopicResult(name=one.name, topic_id=one.topic_id)
            results.append(result)
            name, fault = _deleted_name(one, image)
            if name in twice:
                fault = _named_twice()
            if fault is not None:
                result.error_code, result.error_message = fault
                continue
            result.name, begun[name] = name, result
            command.names.append(name)
            command.topic_ids.append(b"" if one.topic_id == NO_UUID else one.topic_id)
        return DeleteTopicsResponse(
            throttle_time_ms=throttle_ms(await self._delete(command, begun, image)),
            responses=results,
        )

    async def _delete(
        self,
        command: admin_pb2.DeleteTopicsRequest,
        begun: Mapping[str, DeletableTopicResult],
        image: MetadataImage,
    ) -> set[common_pb2.ErrorCode]:
        if not command.names:
            return set()
        answer = await self._ports.forwarder.forward(DELETE_TOPICS, command)
        errors = _errors(list(begun), answer.error, answer.topics)
        for name, error in errors.items():
            result, topic = begun[name], image.topics.get(name)
            result.error_code, result.error_message = refusal(error)
            if error.code == common_pb2.NONE and topic is not None:
                result.topic_id = topic.topic_id
        return {error.code for error in errors.values()}


class CreatePartitionsHandler:
    """Handler of CreatePartitions."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: CreatePartitionsRequest, call: ApiCall
    ) -> CreatePartitionsResponse:
        """See `ApiHandler`."""
        del call
        if fault := _too_many(request.topics, self._ports):
            return CreatePartitionsResponse(
                results=[
                    CreatePartitionsTopicResult(one.name, *fault)
                    async for one in in_turns(request.topics, PER_PIECE)
                ]
            )
        twice = named_twice(topic.name for topic in request.topics)
        command = admin_pb2.CreatePartitionsRequest(
            timeout_ms=given_time_ms(request.timeout_ms), validate_only=request.validate_only
        )
        results: dict[str, Refusal] = {}
        async for topic in in_turns(request.topics):
            fault = _named_twice() if topic.name in twice else _fault_of_assignments(topic)
            results[topic.name] = fault or Refusal(0, None)
            if fault is None:
                command.topics.append(_more_partitions(topic))
        codes: set[common_pb2.ErrorCode] = set()
        if command.topics:
            answer = await self._ports.forwarder.forward(CREATE_PARTITIONS, command)
            names = [topic.name for topic in command.topics]
            errors = _errors(names, answer.error, answer.topics)
            results |= {name: refusal(error) for name, error in errors.items()}
            codes = {error.code for error in errors.values()}
        return CreatePartitionsResponse(
            throttle_time_ms=throttle_ms(codes),
            results=[
                CreatePartitionsTopicResult(name, one.code, one.message)
                for name, one in results.items()
            ],
        )


def _errors(
    names: list[str],
    whole: Error,
    topics: object,  # repeated results with name and error, of one of three messages
) -> dict[str, Error]:
    """The error of each named topic: that of the whole command, or its own."""
    if whole.code != common_pb2.NONE:
        return dict.fromkeys(names, whole)
    return {one.name: one.error for one in topics}  # type: ignore[attr-defined]  # as above


def _too_many(topics: Sized, ports: BrokerPorts) -> Refusal | None:
    """Refuse what the controllers would refuse as a whole, before anything is made of it."""
    return too_many(len(topics), ports.config.controller.topics_per_request_max, "topics")


def _named_twice() -> Refusal:
    return invalid("the request names this topic twice")


def _fault_of(topic: CreatableTopic) -> Refusal | None:
    """Find a fault that our form cannot express: 0 and no value mean something else there."""
    if topic.num_partitions == 0:
        return refused(common_pb2.INVALID_PARTITIONS, "0 partitions: ask for 1 or more, or for -1")
    if topic.replication_factor == 0:
        return refused(
            common_pb2.INVALID_REPLICATION_FACTOR,
            "replication factor 0: ask for 1 or more, or for -1",
        )
    for config in topic.configs:
        if config.value is None:
            return refused(common_pb2.INVALID_CONFIG, f"{config.name[:260]} has no value")
    return None


def _new_topic(topic: CreatableTopic) -> admin_pb2.NewTopic:
    return admin_pb2.NewTopic(
        name=topic.name,
        partitions=0 if topic.num_partitions == _DEFAULT else topic.num_partitions,
        replication_factor=0 if topic.replication_factor == _DEFAULT else topic.replication_factor,
        configs={config.name: config.value or "" for config in topic.configs},
        assignments=[
            admin_pb2.ReplicaAssignment(partition=one.partition_index, broker_ids=one.broker_ids)
            for one in topic.assignments
        ],
    )


def _not_created(name: str, fault: Refusal) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=fault.code, error_message=fault.message, configs=[]
    )


def _configs(
    topic: str, own: Mapping[str, str], defaults: Mapping[str, str]
) -> Iterator[CreatableTopicConfigs]:
    for config in effective_configs(topic, own, defaults):
        yield CreatableTopicConfigs(
            name=config.name, value=config.value, config_source=config.source
        )


def _deleted_name(asked: DeleteTopicState, image: MetadataImage) -> tuple[str, Refusal | None]:
    """Name of a topic to delete; "" where none is known, with the reason."""
    has_id = asked.topic_id != NO_UUID
    if (asked.name is None) != has_id:
        return "", invalid("a topic is deleted by its name or by its id: give one of them")
    if asked.name is not None:
        return asked.name, None
    topic = image.topic_by_id(asked.topic_id)
    if topic is None:
        return "", refused(common_pb2.UNKNOWN_TOPIC_ID, "no topic has this id")
    return topic.name, None


def _fault_of_assignments(topic: CreatePartitionsTopic) -> Refusal | None:
    if topic.assignments is not None and not topic.assignments:
        return refused(
            common_pb2.INVALID_REPLICA_ASSIGNMENT,
            "an empty list assigns no partition: leave it out to have replicas chosen",
        )
    return None


def _more_partitions(topic: CreatePartitionsTopic) -> admin_pb2.CreatePartitionsRequest.Topic:
    assignments = topic.assignments or ()
    # The last ones; the controller refuses them where they do not follow those that are there.
    first = topic.count - len(assignments)
    return admin_pb2.CreatePartitionsRequest.Topic(
        name=topic.name,
        count=topic.count,
        assignments=[
            admin_pb2.ReplicaAssignment(partition=number, broker_ids=one.broker_ids)
            for number, one in enumerate(assignments, first)
        ],
    )
