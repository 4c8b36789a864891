"""The admin client: topics, configs, the cluster, offsets, groups.

Any broker answers; changes reach the controller through it.
Owns retries while no controller leads, and the wait until every broker knows of a change. Never
reads or writes records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from tidelog.client.admin.change_calls import ChangeCalls
from tidelog.client.admin.changes import RETRIED_CODES, Result
from tidelog.client.admin.descriptions import (
    ClusterDescription,
    ConfigDescription,
    CreatedTopic,
    NewTopic,
    NodeDescription,
    TopicDescription,
    assignments_to_wire,
    cluster_description,
    config_description,
    new_topic_to_wire,
    node_description,
    topic_description,
)
from tidelog.client.admin.events import EventFilter, EventLookup, Story
from tidelog.client.admin.group_methods import GroupMethods
from tidelog.client.admin.quorum import QuorumDescription, QuorumLookup
from tidelog.client.admin.replica_methods import ReplicaMethods
from tidelog.client.admin.transaction_methods import TransactionMethods
from tidelog.client.backoff import Backoff
from tidelog.client.connections import (
    CONNECTIONS_MAX_IDLE_MS,
    RETRIES_MAX,
    ConnectionConfig,
    check_range,
)
from tidelog.client.errors import (
    TidelogError,
    error_from_wire,
    raise_for,
)
from tidelog.client.offsets import At, ListedOffset, OffsetLookup, OffsetQuery
from tidelog.client.partition_arguments import Partitions, partition_of, partitions_of
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.client.results import require_all
from tidelog.client.routing import Routing, RoutingConfig, named_bootstrap, parse_bootstrap
from tidelog.core.env import Clock, Random
from tidelog.core.internal_topics import INTERNAL_TOPICS
from tidelog.net.transport import Transport
from tidelog.v1 import admin_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.data_pb2 import DeleteRecordsRequest, DeleteRecordsResponse, MetadataRequest
from tidelog.v1.methods import (
    ALTER_CONFIGS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_TOPICS,
    ELECT_LEADERS,
    METADATA,
    NODE_STATUS,
    PREPARE_STOP,
    Method,
    Request,
    Response,
)

_ANSWER_MARGIN_MS = 4_000
"""The time of a call beyond the leader's own limit of its wait for followers."""


class Admin(GroupMethods, ReplicaMethods, TransactionMethods):
    """Use it as `async with Admin("127.0.0.1:9192") as admin`.

    `bootstrap`, or by Kafka's name `bootstrap_servers`: brokers to ask first. `client_id`,
    `connections_max_idle_ms` and `bootstrap_timeout_ms` are those of `Producer`.
    `api_timeout_ms` bounds a whole operation with its retries, `request_timeout_ms` each attempt;
    after `retries` failures in a row, 0 to 2147483647, an operation fails with the last error.
    A method for several items returns a dictionary with each one's result or error, one for a
    single item raises: `require_all` makes the first the second. Every method raises
    UnreachableError as soon as no address answers at all.
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str] | None = None,
        *,
        bootstrap_servers: str | Sequence[str] | None = None,
        client_id: str = "tidelog-admin",
        connections_max_idle_ms: int = CONNECTIONS_MAX_IDLE_MS,
        bootstrap_timeout_ms: int = 0,
        request_timeout_ms: int = 15_000,
        api_timeout_ms: int = 60_000,
        retries: int = RETRIES_MAX,
        transport: Transport | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        bootstrap = named_bootstrap(bootstrap, bootstrap_servers)
        check_range("retries", retries, least=0, most=RETRIES_MAX)
        self._request_timeout_ms = request_timeout_ms
        self._api_timeout_ms = api_timeout_ms
        backoff = Backoff()
        named = ConnectionConfig(client_id, connections_max_idle_ms, bootstrap_timeout_ms)
        self._ports = ClientPorts.of(
            transport=transport, clock=clock, random=random, connections=named
        )
        self._routing = Routing(bootstrap, ports=self._ports, config=RoutingConfig())
        addresses = parse_bootstrap(bootstrap)
        self._quorum = QuorumLookup(self._ports.transport, bootstrap=addresses)
        self._events = EventLookup(self._ports.transport, bootstrap=addresses)
        self._lookup = OffsetLookup(
            self._routing, backoff=backoff, request_timeout_ms=request_timeout_ms, retries=retries
        )
        self._changes = ChangeCalls(
            self._routing,
            ports=self._ports,
            backoff=backoff,
            request_timeout_ms=request_timeout_ms,
            api_timeout_ms=api_timeout_ms,
            retries=retries,
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Do what `async with` does: nothing yet, since brokers are called when needed."""

    async def stop(self) -> None:
        """Close, as leaving `async with` does."""
        await self.close()

    async def close(self) -> None:
        """Release the connections."""
        await self._routing.close()
        await self._ports.close()

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 0,
        replication_factor: int = 0,
        configs: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] = (),
    ) -> CreatedTopic:
        """Create one topic, see `NewTopic`; 0 is the cluster's default. Raises as `create_topics`.

        Returns when every partition has a leader that every live broker knows of.
        """
        topic = NewTopic(name, partitions, replication_factor, configs or {}, assignments)
        return require_all(await self.create_topics([topic]))[name]

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> dict[str, CreatedTopic | TidelogError]:
        """Create topics; by name, what was created or why it was not. See `require_all`.

        Returns when every partition has a leader that every live broker knows of. Errors:
        TopicAlreadyExistsError, InvalidTopicError, InvalidPartitionsError, InvalidConfigError,
        InvalidReplicationFactorError, InvalidReplicaAssignmentError. RequestTimedOutError: it may
        have been created, and was not usable in time.
        """
        by_name = {topic.name: topic for topic in topics}
        created: dict[str, CreatedTopic] = {}

        async def attempt(names: list[str], command_id: bytes) -> tuple[Error, Sequence[Result]]:
            request = admin_pb2.CreateTopicsRequest(
                topics=[new_topic_to_wire(by_name[name]) for name in names],
                timeout_ms=self._request_timeout_ms,
                validate_only=validate_only,
                command_id=command_id,
            )
            response = await self._call(CREATE_TOPICS, request, is_idempotent=False)
            for result in response.topics:
                created[result.name] = CreatedTopic(
                    result.name, result.topic_id, result.partitions, result.replication_factor
                )
            return response.error, response.topics

        deadline_ms = self._changes.deadline_ms()
        refusals = await self._changes.change(list(by_name), attempt, deadline_ms=deadline_ms)
        made = [name for name, refusal in refusals.items() if refusal is None]
        if not validate_only:
            topic_ids = {name: created[name].topic_id for name in made}
            refusals |= await self._changes.wait_until_usable(topic_ids, deadline_ms=deadline_ms)
        return {name: refusal or created[name] for name, refusal in refusals.items()}

    async def delete_topic(self, name: str) -> None:
        """Delete one topic with all its records. Raises UnknownTopicOrPartitionError."""
        require_all(await self.delete_topics([name]))

    async def delete_topics(self, names: Sequence[str]) -> dict[str, TidelogError | None]:
        """Delete topics with all their records; by name, None or why it was not deleted."""

        async def attempt(pending: list[str], command_id: bytes) -> tuple[Error, Sequence[Result]]:
            request = admin_pb2.DeleteTopicsRequest(
                names=pending, timeout_ms=self._request_timeout_ms, command_id=command_id
            )
            response = await self._call(DELETE_TOPICS, request, is_idempotent=False)
            return response.error, response.topics

        deadline_ms = self._changes.deadline_ms()
        return await self._changes.change(list(names), attempt, deadline_ms=deadline_ms)

    async def create_partitions(
        self,
        topic: str,
        total_count: int,
        *,
        assignments: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Give a topic more partitions, `total_count` in all; `assignments` of the new ones.

        Returns when each has a leader that every live broker knows of. Records with a key may go to
        other partitions from then on. Raises UnknownTopicOrPartitionError, InvalidPartitionsError
        where that is no increase, InvalidReplicationFactorError, InvalidReplicaAssignmentError.
        RequestTimedOutError: they may exist, and were not usable in time.
        """
        request = admin_pb2.CreatePartitionsRequest(
            timeout_ms=self._request_timeout_ms, validate_only=validate_only
        )
        added = request.topics.add(name=topic, count=total_count)
        first = total_count - len(assignments or ())
        added.assignments.extend(assignments_to_wire(assignments or (), first=first))
        known_at = 0

        async def attempt(_names: list[str], command_id: bytes) -> tuple[Error, Sequence[Result]]:
            nonlocal known_at
            request.command_id = command_id
            response = await self._call(CREATE_PARTITIONS, request)
            known_at = response.metadata_offset
            return response.error, response.topics

        deadline_ms = self._changes.deadline_ms()
        require_all(await self._changes.change([topic], attempt, deadline_ms=deadline_ms))
        if not validate_only:
            await self._changes.wait_until_known(known_at, deadline_ms=deadline_ms)
            late = await self._changes.wait_until_usable({topic: b""}, deadline_ms=deadline_ms)
            require_all(late)

    async def list_topics(self, *, list_internal: bool = False) -> list[str]:
        """Names of all topics, sorted; with `list_internal` those of coordinators, too."""
        response = await self._call(METADATA, MetadataRequest())
        names = {topic.name for topic in response.topics}
        return sorted(names if list_internal else names - INTERNAL_TOPICS)

    async def describe_topic(self, name: str) -> TopicDescription:
        """Full state of one topic; raises UnknownTopicOrPartitionError."""
        return require_all(await self.describe_topics([name]))[name]

    async def describe_topics(
        self, names: Sequence[str] = ()
    ) -> dict[str, TopicDescription | TidelogError]:
        """Full state of these topics (none named: all), by name; or why there is none."""
        request = admin_pb2.DescribeTopicsRequest(names=names)
        response = await self._call(DESCRIBE_TOPICS, request)
        return {
            topic.name: error_from_wire(topic.error)
            if topic.error.code
            else topic_description(topic)
            for topic in response.topics
        }

    async def describe_cluster(self) -> ClusterDescription:
        """Brokers, fenced ones too, controllers, and who leads them."""
        answer = await self._call(DESCRIBE_CLUSTER, admin_pb2.DescribeClusterRequest())
        return cluster_description(answer)

    async def describe_quorum(self) -> QuorumDescription:
        """Describe the quorum: every controller with its own view, None if it does not answer."""
        return await self._quorum.describe()

    async def describe_node(self, address: str) -> NodeDescription:
        """Describe the node at `address` by its own answer, even before it is registered."""
        request = admin_pb2.NodeStatusRequest()
        return node_description(await self._ask(address, NODE_STATUS, request))

    async def prepare_stop(self, address: str, *, hold_ms: int = 30_000) -> None:
        """Tell a node that the whole cluster is about to stop; returns when followers caught up.

        For `hold_ms`, 1 to 60,000, it takes no writes, changes no ISR and fences no broker: for
        tools that stop every node, after this call to each.
        """
        if not 0 < hold_ms <= 60_000:
            raise ValueError(f"hold_ms={hold_ms}: 1 to 60,000")
        request = admin_pb2.PrepareStopRequest(hold_ms=hold_ms)
        raise_for((await self._ask(address, PREPARE_STOP, request)).error)

    async def list_events(
        self, wanted: EventFilter | None = None, *, after: Mapping[int, int] | None = None
    ) -> Story:
        """List events and their causes from the journals of all nodes; see `EventLookup.story`."""
        return await self._events.story(wanted or EventFilter(), after=after)

    async def describe_configs(self, topic: str | None) -> dict[str, ConfigDescription]:
        """Every config of a topic, or with None the cluster's defaults for topics, by name.

        Raises UnknownTopicOrPartitionError.
        """
        request = admin_pb2.DescribeConfigsRequest()
        request.resources.add(type=_resource_type(topic), name=topic or "")
        response = await self._call(DESCRIBE_CONFIGS, request)
        raise_for(response.error)
        (resource,) = response.resources
        raise_for(resource.error)
        return {config.name: config_description(config) for config in resource.configs}

    async def alter_configs(
        self,
        topic: str | None,
        changes: Mapping[str, str | None],
        *,
        validate_only: bool = False,
    ) -> None:
        """Set configs of a topic, or with None the cluster's defaults; None takes a value back.

        All changes happen or none; returns when every live broker works with them. Raises
        UnknownTopicOrPartitionError, InvalidConfigError, InvalidRequestError. RequestTimedOutError:
        they may have been altered, and were not known to all in time.
        """
        request = admin_pb2.AlterConfigsRequest(
            timeout_ms=self._request_timeout_ms, validate_only=validate_only
        )
        resource = request.resources.add(type=_resource_type(topic), name=topic or "")
        for key, value in changes.items():
            resource.changes.add(key=key, value=value)
        altered_at = 0

        async def attempt(_names: list[str], command_id: bytes) -> tuple[Error, Sequence[Result]]:
            nonlocal altered_at
            request.command_id = command_id
            response = await self._call(ALTER_CONFIGS, request)
            altered_at = response.metadata_offset
            return response.error, response.resources

        deadline_ms = self._changes.deadline_ms()
        require_all(await self._changes.change([topic or ""], attempt, deadline_ms=deadline_ms))
        await self._changes.wait_until_known(altered_at, deadline_ms=deadline_ms)

    async def elect_leaders(
        self, topics: Sequence[str] = (), *, unclean: bool = False
    ) -> dict[TopicPartition, TidelogError | None]:
        """Let the preferred replicas of these topics lead (none named: of all), where in sync.

        With `unclean`, partitions without a leader get any live replica: committed records that it
        lacks are lost; internal topics are refused where none are named. By partition, None or
        why none was elected: ElectionNotNeededError, PreferredLeaderNotAvailableError,
        EligibleLeadersNotAvailableError, UnknownTopicOrPartitionError, InvalidRequestError.
        """
        request = admin_pb2.ElectLeadersRequest(
            election_type=admin_pb2.UNCLEAN if unclean else admin_pb2.PREFERRED,
            topics=[admin_pb2.ElectLeadersRequest.Topic(name=name) for name in topics],
            timeout_ms=self._request_timeout_ms,
        )
        deadline_ms = self._changes.deadline_ms()
        failures = 0
        while True:
            response = await self._call(ELECT_LEADERS, request)
            if response.error.code not in RETRIED_CODES:
                break
            failures += 1
            error = error_from_wire(response.error)
            await self._changes.retry(failures, error, deadline_ms=deadline_ms)
        raise_for(response.error)
        return {
            TopicPartition(one.topic, one.partition): (
                error_from_wire(one.error) if one.error.code else None
            )
            for one in response.partitions
        }

    async def list_offsets(
        self, partitions: Partitions, *, at: At
    ) -> dict[TopicPartition, ListedOffset | TidelogError]:
        """An offset in each partition, of what is committed; or why there is none.

        `at` "earliest" is the log start offset, "latest" the high watermark, "max_timestamp" the
        record with the largest timestamp (KIP-734), a time the first record at or after it
        (KIP-79). Offset -1: there is no such record.
        """
        query = OffsetQuery.of(at)
        wanted = dict.fromkeys(partitions_of(partitions, method="list_offsets"), query)
        return await self._lookup.find_each(wanted, timeout_ms=self._api_timeout_ms)

    async def delete_records(
        self, before: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, int | TidelogError]:
        """Delete the records below an offset of each partition; -1: all that are committed.

        Returns when no in-sync replica holds them any more, with the low watermark of each, the
        offset below which there is nothing, or why they were not deleted: OffsetOutOfRangeError
        above the high watermark, PolicyViolationError for a topic whose cleanup.policy does not
        hold delete, RequestTimedOutError when an in-sync replica did not follow: ask again.
        """
        wanted = {
            partition_of(tp, method="delete_records"): offset for tp, offset in before.items()
        }

        async def ask(
            address: str, epochs: Mapping[TopicPartition, int]
        ) -> Sequence[DeleteRecordsResponse.Partition]:
            request = DeleteRecordsRequest(timeout_ms=self._request_timeout_ms)
            for tp in epochs:
                view = self._routing.metadata.topic(tp.topic)
                request.partitions.add(
                    topic=tp.topic,
                    topic_id=b"" if view is None else view.topic_id,
                    partition=tp.partition,
                    offset=wanted[tp],
                )
            timeout_ms = self._request_timeout_ms + _ANSWER_MARGIN_MS
            response = await self._routing.call_leader(
                address,
                DELETE_RECORDS,
                request,
                partitions=list(epochs),
                answer_ms=0,
                timeout_ms=timeout_ms,
            )
            return response.partitions

        found = await self._lookup.leaders.ask_each(wanted, ask, timeout_ms=self._api_timeout_ms)
        return {
            tp: result if isinstance(result, TidelogError) else result.low_watermark
            for tp, result in found.items()
        }

    async def _call(
        self, method: Method[Request, Response], request: Request, *, is_idempotent: bool = True
    ) -> Response:
        return await self._routing.call_any(
            method, request, timeout_ms=self._request_timeout_ms, is_idempotent=is_idempotent
        )

    async def _ask(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> Response:
        return await self._ports.transport.call(
            address, method, request, timeout_ms=self._request_timeout_ms
        )


def _resource_type(topic: str | None) -> admin_pb2.ConfigResourceType:
    return admin_pb2.CLUSTER if topic is None else admin_pb2.TOPIC
