"""Configs of topics and of the cluster: the records of a change, and the source of each value.

A topic's own value goes before the cluster's, and that before the built-in default; internal topics
follow few of the cluster's (`tidelog.log.internal_configs`). The configs in effect after a change
are checked for every topic it touches: no image ever holds configs that a broker cannot work with.
Keys and their possible values are declared in `tidelog.log.config`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from tidelog.core.errors import (
    InvalidConfigError,
    InvalidRequestError,
    KafkaError,
    UnknownTopicOrPartitionError,
)
from tidelog.log.config import TOPIC_CONFIGS, log_config, topic_config
from tidelog.log.internal_configs import defaults_of, follows
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.delta import speculate
from tidelog.metadata.election import elections
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import admin_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigResourceType,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from tidelog.v1.metadata_records_pb2 import ConfigRecord, MetadataRecord

_RECORD_TYPES: Mapping[ConfigResourceType, ConfigRecord.ResourceType] = {
    admin_pb2.TOPIC: ConfigRecord.TOPIC,
    admin_pb2.CLUSTER: ConfigRecord.CLUSTER,
}


class _Resource(Protocol):
    """The resource that configs are set on, as every message names it."""

    @property
    def type(self) -> ConfigResourceType: ...
    @property
    def name(self) -> str: ...


def alter_configs(
    request: AlterConfigsRequest, image: MetadataImage, context: ControllerContext
) -> Decision[AlterConfigsResponse]:
    """Decide on each resource, in the order asked, on the image that those before it leave.

    Either every change of a resource happens or none. A change that changes nothing has no record,
    so that a request may be sent again. With `validate_only` no records. Errors of the whole
    request: `KafkaError` INVALID_REQUEST.
    """
    config = context.config
    _check_resources(request.resources, config)
    records: list[MetadataRecord] = []
    response = AlterConfigsResponse()
    for resource in request.resources:
        result = response.resources.add(type=resource.type, name=resource.name)
        try:
            its_records = _alter(resource, image, config)
        except KafkaError as error:
            result.error.CopyFrom(wire_error(error))
            continue
        image = speculate(image, its_records)
        # The new configs rule from this batch on: what may be committed, which replica may lead.
        # Partitions without room in it wait for `settling`: nothing is committed there meanwhile.
        changes = elections(image, cause="configs changed") if its_records else ()
        elected, _ = context.part.take_first(changes)
        image = speculate(image, elected)
        records += [*its_records, *elected]
    if request.validate_only:
        return Decision([], response)
    return Decision(records, response, partitions=context.part.used)


def describe_configs(
    request: DescribeConfigsRequest, image: MetadataImage, *, config: ControllerConfig
) -> DescribeConfigsResponse:
    """Every config of the resources asked for, in their order. Errors as of `alter_configs`."""
    _check_resources(request.resources, config)
    response = DescribeConfigsResponse()
    for resource in request.resources:
        result = response.resources.add(type=resource.type, name=resource.name)
        try:
            own = _set_on(resource, image)
            of_topic = own if resource.type == admin_pb2.TOPIC else {}
            found = effective_configs(resource.name, of_topic, image.cluster_configs)
            result.configs.extend(found)
        except KafkaError as error:
            result.error.CopyFrom(wire_error(error))
    return response


def effective_configs(
    topic: str, own: Mapping[str, str], cluster_configs: Mapping[str, str]
) -> Iterator[DescribeConfigsResponse.Config]:
    """Every config of a topic that has its `own` ones, with source, in documentation order.

    A topic without a name: the cluster's defaults themselves.
    """
    defaults = defaults_of(topic, cluster_configs)
    for name, key in TOPIC_CONFIGS.items():
        if name in own:
            value, source = own[name], DescribeConfigsResponse.DYNAMIC_TOPIC_CONFIG
        elif name in cluster_configs and follows(topic, name):
            value, source = defaults[name], DescribeConfigsResponse.DYNAMIC_DEFAULT_BROKER_CONFIG
        else:
            value = defaults.get(name, key.default_text)
            source = DescribeConfigsResponse.DEFAULT_CONFIG
        yield DescribeConfigsResponse.Config(
            name=name,
            value=value,
            source=source,
            default_value=key.default_text,
            type=key.type.name,
            doc=key.doc,
        )


def _check_resources(resources: Sequence[_Resource], config: ControllerConfig) -> None:
    limit = config.config_resources_per_request_max
    if len(resources) > limit:
        raise _invalid_error(f"{len(resources)} resources in one request: send at most {limit}")
    if len({(resource.type, resource.name) for resource in resources}) < len(resources):
        raise _invalid_error("a resource is named twice in one request: name it once")


def _set_on(resource: _Resource, image: MetadataImage) -> Mapping[str, str]:
    """Return the configs set on the resource itself. Raises `KafkaError` where there is none."""
    if resource.type == admin_pb2.TOPIC:
        topic = image.topics.get(resource.name)
        if topic is None:
            raise UnknownTopicOrPartitionError(
                f"topic {resource.name[:260]!r} does not exist",
            )
        return topic.configs
    if resource.type != admin_pb2.CLUSTER or resource.name:
        raise _invalid_error("configs are set on a topic, or on the cluster, which has no name")
    return image.cluster_configs


def _defaults_below(resource: _Resource, image: MetadataImage) -> Mapping[str, str]:
    """Return the cluster's defaults that are in effect where the resource says nothing."""
    return defaults_of(resource.name, image.cluster_configs)


def _alter(
    resource: AlterConfigsRequest.Resource, image: MetadataImage, config: ControllerConfig
) -> list[MetadataRecord]:
    before, defaults = _set_on(resource, image), _defaults_below(resource, image)
    _check_changes(resource.changes, config)
    after = {} if resource.replaces else dict(before)
    for change in resource.changes:
        value = _changed(change, before, defaults)
        if value is not None:
            after[change.key] = value
        else:
            after.pop(change.key, None)
    if resource.type == admin_pb2.TOPIC:
        log_config(after, defaults)
    else:
        _check_defaults(after, image)
    return [
        MetadataRecord(
            config=ConfigRecord(
                resource_type=_RECORD_TYPES[resource.type],
                resource_name=resource.name,
                key=key,
                value=after.get(key),
            )
        )
        for key in sorted(before.keys() | after.keys())
        if after.get(key) != before.get(key)
    ]


def _check_changes(changes: Sequence[AlterConfigsRequest.Change], config: ControllerConfig) -> None:
    limit = config.config_changes_per_resource_max
    if len(changes) > limit:
        raise _invalid_error(f"{len(changes)} changes of one resource: send at most {limit}")
    if len({change.key for change in changes}) < len(changes):
        raise _invalid_error("a key is changed twice in one request: change it once")
    for change in changes:
        topic_config(change.key)  # a misspelled key is an error when it is deleted, too


def _changed(
    change: AlterConfigsRequest.Change, own: Mapping[str, str], defaults: Mapping[str, str]
) -> str | None:
    """Return the new value; None: the config is removed from the resource."""
    if change.operation == AlterConfigsRequest.SET:
        return change.value if change.HasField("value") else None
    key = topic_config(change.key)
    if change.operation not in AlterConfigsRequest.Operation.values():
        raise _invalid_error(f"{key.name} has the unknown operation {change.operation}")
    operation = AlterConfigsRequest.Operation.Name(change.operation)
    if key.type.name != "LIST":
        raise InvalidConfigError(f"{key.name} is no LIST: {operation} is for lists, set it instead")
    if not change.HasField("value"):
        raise _invalid_error(f"{key.name} has no value to {operation}")
    in_effect = own.get(key.name, defaults.get(key.name, key.default_text))
    present, named = _elements(in_effect), _elements(change.value)
    if change.operation == AlterConfigsRequest.APPEND:
        changed = [*present, *dict.fromkeys(one for one in named if one not in present)]
    else:
        changed = [one for one in present if one not in named]
    return own.get(key.name) if changed == present else ",".join(changed)


def _elements(text: str) -> list[str]:
    return [one for part in text.split(",") if (one := part.strip())]


def _check_defaults(defaults: Mapping[str, str], image: MetadataImage) -> None:
    """Raise INVALID_CONFIG unless `defaults` fit each other and each topic's own configs."""
    log_config(defaults)
    for topic in image.topics.values():
        try:
            log_config(topic.configs, defaults_of(topic.name, defaults))
        except KafkaError as error:
            message = f"topic {topic.name} would have {error.message}"
            raise InvalidConfigError(message) from error


def _invalid_error(message: str) -> KafkaError:
    return InvalidRequestError(message)
