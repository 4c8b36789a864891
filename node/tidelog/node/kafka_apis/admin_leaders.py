"""ElectLeaders, a command to the controllers: null names all partitions, an empty list none."""

from __future__ import annotations

from tidelog.core.turns import PER_PIECE, Turns
from tidelog.kafka.messages.elect_leaders_request import ElectLeadersRequest
from tidelog.kafka.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from tidelog.node.kafka_apis.admin_refusals import (
    Refusal,
    given_time_ms,
    invalid,
    refusal,
    too_many,
)
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.error_codes import throttle_ms
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import admin_pb2, common_pb2
from tidelog.v1.methods import ELECT_LEADERS

_KINDS = {0: admin_pb2.PREFERRED, 1: admin_pb2.UNCLEAN}


class ElectLeadersHandler:
    """Handler of ElectLeaders. Elections of all partitions tell those alone that needed one."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(self, request: ElectLeadersRequest, call: ApiCall) -> ElectLeadersResponse:
        """See `ApiHandler`."""
        del call
        kind = _KINDS.get(request.election_type)
        if kind is None:
            return await _failed(
                request, invalid(f"no election is of the type {request.election_type}")
            )
        most = self._ports.config.controller.partitions_max
        asked = sum(len(one.partitions) for one in request.topic_partitions or ())
        if fault := too_many(asked, most, "partitions"):
            return await _failed(request, fault)
        turns = Turns(PER_PIECE)
        command = admin_pb2.ElectLeadersRequest(
            election_type=kind,
            topics=[
                admin_pb2.ElectLeadersRequest.Topic(name=one.topic, partitions=one.partitions)
                async for one in turns.of(request.topic_partitions or ())
                if one.partitions
            ],
            timeout_ms=given_time_ms(request.timeout_ms),
        )
        if request.topic_partitions is not None and not command.topics:
            return ElectLeadersResponse()
        answer = await self._ports.forwarder.forward(ELECT_LEADERS, command)
        if answer.error.code != common_pb2.NONE:
            failed = await _failed(request, refusal(answer.error))
            failed.throttle_time_ms = throttle_ms({answer.error.code})
            return failed
        results: dict[str, ReplicaElectionResult] = {}
        async for one in turns.of(answer.partitions):
            of_topic = results.setdefault(one.topic, ReplicaElectionResult(one.topic, []))
            result = PartitionResult(one.partition, *refusal(one.error))
            of_topic.partition_result.append(result)
        return ElectLeadersResponse(replica_election_results=list(results.values()))


async def _failed(request: ElectLeadersRequest, fault: Refusal) -> ElectLeadersResponse:
    """The error of the whole and, since version 0 has no place for it, of each partition."""
    turns = Turns(PER_PIECE)
    return ElectLeadersResponse(
        error_code=fault.code,
        replica_election_results=[
            ReplicaElectionResult(
                one.topic,
                [PartitionResult(number, *fault) async for number in turns.of(one.partitions)],
            )
            async for one in turns.of(request.topic_partitions or ())
        ],
    )
