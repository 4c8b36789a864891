"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources.

A TOPIC is ours of that type. A BROKER without a name stands for the cluster's defaults, as in
Kafka, under the topics' keys. A BROKER with its id has the node's own configs, which are read only
and told by that node alone. Loggers, groups and client metrics have no configs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import NamedTuple

from tidelog.core.errors import KafkaError
from tidelog.core.turns import PER_PIECE, in_turns
from tidelog.core.wire_errors import to_wire
from tidelog.kafka.messages import alter_configs_request as full
from tidelog.kafka.messages import incremental_alter_configs_request as incremental
from tidelog.kafka.messages.alter_configs_response import (
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from tidelog.kafka.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tidelog.kafka.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tidelog.kafka.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse as IncrementalResult,
)
from tidelog.kafka.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse,
)
from tidelog.kafka.messages.list_config_resources_request import ListConfigResourcesRequest
from tidelog.kafka.messages.list_config_resources_response import (
    ConfigResource,
    ListConfigResourcesResponse,
)
from tidelog.log.config import TOPIC_CONFIGS
from tidelog.log.internal_configs import follows
from tidelog.metadata import configs
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.topics import validate_topic_name
from tidelog.node.kafka_apis.admin_broker_configs import STATIC_BROKER_CONFIG, own_configs
from tidelog.node.kafka_apis.admin_refusals import (
    Refusal,
    invalid,
    named_twice,
    refusal,
    too_many,
)
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.error_codes import UNSUPPORTED_VERSION, throttle_ms
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import admin_pb2, common_pb2
from tidelog.v1.methods import ALTER_CONFIGS

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""Kafka's numbers of types of resources."""
TYPES_FROM = 1
"""First version of ListConfigResources that lists other types than CLIENT_METRICS."""
TYPE_NUMBERS: Mapping[str, int] = {
    "BOOLEAN": 1,
    "STRING": 2,
    "INT": 3,
    "SHORT": 4,
    "LONG": 5,
    "DOUBLE": 6,
    "LIST": 7,
}
"""Kafka's numbers of types of values."""
_DELETE = 1
_OPERATIONS: Mapping[int, admin_pb2.AlterConfigsRequest.Operation] = {
    0: admin_pb2.AlterConfigsRequest.SET,
    _DELETE: admin_pb2.AlterConfigsRequest.SET,
    2: admin_pb2.AlterConfigsRequest.APPEND,
    3: admin_pb2.AlterConfigsRequest.SUBTRACT,
}
_Described = admin_pb2.DescribeConfigsResponse
_Command = admin_pb2.AlterConfigsRequest
_Key = tuple[int, str]
"""Type and name of a resource in Kafka's messages."""


class DescribeConfigsHandler:
    """Handler of DescribeConfigs, from the asked broker's metadata."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: DescribeConfigsRequest, call: ApiCall
    ) -> DescribeConfigsResponse:
        """See `ApiHandler`."""
        del call
        image, most = self._ports.known_image(), self._most
        asked = {(one.resource_type, one.resource_name): one for one in request.resources}
        results: list[DescribeConfigsResult] = []
        async for resource in in_turns(asked.values()):
            if len(results) >= most:
                fault = invalid(f"{len(asked)} resources in one request: send at most {most}")
                results.append(_failed(resource, fault))
            else:
                results.append(self._describe(resource, image))
        async for result in in_turns(results):
            _leave_out(
                result,
                has_synonyms=request.include_synonyms,
                has_docs=request.include_documentation,
            )
        return DescribeConfigsResponse(results=results)

    @property
    def _most(self) -> int:
        return self._ports.config.controller.config_resources_per_request_max

    def _describe(
        self, resource: DescribeConfigsResource, image: MetadataImage
    ) -> DescribeConfigsResult:
        kind, name = resource.resource_type, resource.resource_name
        if kind == BROKER and name == str(self._ports.config.node_id):
            return _found(resource, self._own(image))
        translated = _resource_of(kind, name)
        if translated is None:
            return _failed(resource, self._no_configs(kind, name))
        asked = admin_pb2.DescribeConfigsRequest()
        asked.resources.add(type=translated, name=name)
        try:
            if kind == TOPIC:
                validate_topic_name(name)
            answer = configs.describe_configs(asked, image, config=self._ports.config.controller)
        except KafkaError as error:
            return _failed(resource, refusal(to_wire(error)))
        (result,) = answer.resources
        if result.error.code != common_pb2.NONE:
            return _failed(resource, refusal(result.error))
        return _found(resource, (_config(one, image, name) for one in result.configs))

    def _own(self, image: MetadataImage) -> Iterator[DescribeConfigsResourceResult]:
        """The node's configs, and the defaults of topics that are set on the cluster."""
        for own in own_configs(self._ports.config):
            synonyms = []
            if own.source == STATIC_BROKER_CONFIG:
                synonyms.append(DescribeConfigsSynonym(own.name, own.value, own.source))
            if own.default is not None:
                source = _Described.DEFAULT_CONFIG
                synonyms.append(DescribeConfigsSynonym(own.name, own.default, source))
            yield DescribeConfigsResourceResult(
                name=own.name,
                value=own.value,
                read_only=True,
                config_source=own.source,
                synonyms=synonyms,
                config_type=TYPE_NUMBERS[own.type],
                documentation=own.doc,
            )
        for config in configs.effective_configs("", {}, image.cluster_configs):
            if config.source == _Described.DYNAMIC_DEFAULT_BROKER_CONFIG:
                yield _config(config, image)

    def _no_configs(self, kind: int, name: str) -> Refusal:
        if kind == BROKER:
            return invalid(
                f"broker {self._ports.config.node_id} tells its own configs, under its id, and the "
                f"cluster's defaults, without a name: {name[:260]!r} is neither"
            )
        return invalid(f"resources of the type {kind} have no configs here")


class AlterConfigsHandler:
    """Handler of AlterConfigs: the named configs of a resource, and no others, are set."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: full.AlterConfigsRequest, call: ApiCall
    ) -> AlterConfigsResponse:
        """See `ApiHandler`."""
        del call
        if fault := _too_many(request.resources, self._ports):
            return AlterConfigsResponse(
                responses=[
                    AlterConfigsResourceResponse(*fault, one.resource_type, one.resource_name)
                    async for one in in_turns(request.resources, PER_PIECE)
                ]
            )
        found, wait_ms = await _alter(
            self._ports,
            [
                _Asked((one.resource_type, one.resource_name), *_set(one))
                async for one in in_turns(request.resources)
            ],
            validate_only=request.validate_only,
            replaces=True,
        )
        return AlterConfigsResponse(
            throttle_time_ms=wait_ms,
            responses=[AlterConfigsResourceResponse(*one, *key) for key, one in found.items()],
        )


class IncrementalAlterConfigsHandler:
    """Handler of IncrementalAlterConfigs."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: incremental.IncrementalAlterConfigsRequest, call: ApiCall
    ) -> IncrementalAlterConfigsResponse:
        """See `ApiHandler`."""
        del call
        if fault := _too_many(request.resources, self._ports):
            return IncrementalAlterConfigsResponse(
                responses=[
                    IncrementalResult(*fault, one.resource_type, one.resource_name)
                    async for one in in_turns(request.resources, PER_PIECE)
                ]
            )
        found, wait_ms = await _alter(
            self._ports,
            [
                _Asked((one.resource_type, one.resource_name), *_changes(one))
                async for one in in_turns(request.resources)
            ],
            validate_only=request.validate_only,
            replaces=False,
        )
        return IncrementalAlterConfigsResponse(
            throttle_time_ms=wait_ms,
            responses=[IncrementalResult(*one, *key) for key, one in found.items()],
        )


class ListConfigResourcesHandler:
    """Handler of ListConfigResources: topics and live brokers; of the other types there are none.

    Before version 1 it lists client metrics alone.
    """

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: ListConfigResourcesRequest, call: ApiCall
    ) -> ListConfigResourcesResponse:
        """See `ApiHandler`."""
        image = self._ports.known_image()
        names: Mapping[int, Callable[[], Iterable[str]]] = {
            TOPIC: lambda: sorted(image.topics),
            BROKER: lambda: map(str, image.live_brokers()),
            **dict.fromkeys((BROKER_LOGGER, CLIENT_METRICS, GROUP), tuple),
        }
        asked = list(dict.fromkeys(request.resource_types)) or list(names)
        if call.version < TYPES_FROM:
            asked = [CLIENT_METRICS]
        if not names.keys() >= set(asked):
            return ListConfigResourcesResponse(error_code=UNSUPPORTED_VERSION)
        return ListConfigResourcesResponse(
            config_resources=[
                ConfigResource(name, kind) for kind in asked for name in names[kind]()
            ]
        )


def _too_many(resources: Sized, ports: BrokerPorts) -> Refusal | None:
    """Refuse what the controllers would refuse as a whole, before anything is made of it."""
    most = ports.config.controller.config_resources_per_request_max
    return too_many(len(resources), most, "resources")


class _Asked(NamedTuple):
    """Changes of a resource, or their fault."""

    key: _Key
    changes: Sequence[_Command.Change]
    fault: Refusal | None


def _set(
    resource: full.AlterConfigsResource,
) -> tuple[Sequence[_Command.Change], Refusal | None]:
    for one in resource.configs:
        if one.value is None:
            return (), invalid(f"{one.name[:260]} has no value: leave it out to remove it")
    return [_Command.Change(key=one.name, value=one.value) for one in resource.configs], None


def _changes(
    resource: incremental.AlterConfigsResource,
) -> tuple[Sequence[_Command.Change], Refusal | None]:
    changes = []
    for one in resource.configs:
        operation = _OPERATIONS.get(one.config_operation)
        if operation is None:
            return (), invalid(f"{one.name[:260]}: no operation is {one.config_operation}")
        if one.config_operation == _DELETE:
            if one.name not in TOPIC_CONFIGS:
                continue  # nothing of this name is set: as in Kafka, it is gone
            changes.append(_Command.Change(key=one.name))
        elif one.value is None:
            return (), invalid(f"{one.name[:260]} has no value")
        else:
            changes.append(_Command.Change(key=one.name, value=one.value, operation=operation))
    return changes, None


async def _alter(
    ports: BrokerPorts, asked: Sequence[_Asked], *, validate_only: bool, replaces: bool
) -> tuple[Mapping[_Key, Refusal], int]:
    """Return what came of each resource, and the time that the caller shall wait."""
    twice = named_twice(one.key for one in asked)
    command = _Command(validate_only=validate_only)
    results: dict[_Key, Refusal] = {}
    async for key, changes, fault in in_turns(asked):
        translated = _resource_of(*key)
        if key in twice:
            fault = invalid("the request names this resource twice")
        elif translated is None:
            fault = _read_only(*key)
        results[key] = fault or Refusal(common_pb2.NONE, None)
        if fault is None:
            command.resources.add(type=translated, name=key[1], changes=changes, replaces=replaces)
    begun = [key for key, result in results.items() if result.code == common_pb2.NONE]
    if not begun:
        return results, 0
    answer = await ports.forwarder.forward(ALTER_CONFIGS, command)
    errors = [one.error for one in answer.resources]
    if answer.error.code != common_pb2.NONE:
        errors = [answer.error] * len(begun)
    results |= {key: refusal(error) for key, error in zip(begun, errors, strict=True)}
    return results, throttle_ms({error.code for error in errors})


def _resource_of(kind: int, name: str) -> admin_pb2.ConfigResourceType | None:
    """Our type of a resource in Kafka's messages; None: it has no configs to change."""
    if kind == TOPIC:
        return admin_pb2.TOPIC
    return admin_pb2.CLUSTER if kind == BROKER and not name else None


def _read_only(kind: int, name: str) -> Refusal:
    if kind == BROKER:
        return invalid(
            f"configs of broker {name[:260]} are in its file: change it and start the broker "
            "again; defaults of topics are set on the broker without a name"
        )
    return invalid(f"resources of the type {kind} have no configs here")


def _config(
    config: _Described.Config, image: MetadataImage, topic: str = ""
) -> DescribeConfigsResourceResult:
    name, synonyms = config.name, []
    if config.source == _Described.DYNAMIC_TOPIC_CONFIG:
        synonyms.append(DescribeConfigsSynonym(name, config.value, config.source))
    if name in image.cluster_configs and follows(topic, name):
        source = _Described.DYNAMIC_DEFAULT_BROKER_CONFIG
        synonyms.append(DescribeConfigsSynonym(name, image.cluster_configs[name], source))
    synonyms.append(DescribeConfigsSynonym(name, config.default_value, _Described.DEFAULT_CONFIG))
    return DescribeConfigsResourceResult(
        name=name,
        value=config.value,
        config_source=config.source,
        synonyms=synonyms,
        config_type=TYPE_NUMBERS[config.type],
        documentation=config.doc,
    )


def _found(
    resource: DescribeConfigsResource, found: Iterable[DescribeConfigsResourceResult]
) -> DescribeConfigsResult:
    """The configs with the keys that were asked for; none named: all."""
    keys = set(resource.configuration_keys or ())
    return DescribeConfigsResult(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[one for one in found if not keys or one.name in keys],
    )


def _failed(resource: DescribeConfigsResource, fault: Refusal) -> DescribeConfigsResult:
    return DescribeConfigsResult(*fault, resource.resource_type, resource.resource_name, [])


def _leave_out(result: DescribeConfigsResult, *, has_synonyms: bool, has_docs: bool) -> None:
    for config in result.configs:
        if not has_synonyms:
            config.synonyms = []
        if not has_docs:
            config.documentation = None
