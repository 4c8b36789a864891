"""Every RPC as a typed value: callers and servers share one list and need no generated stubs.

A `Method` names the path on the wire and its message types; `tests/test_protocol.py` holds the
list against the service descriptors. Which methods stream is part of the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from tidelog.v1 import (
    admin_pb2,
    controller_pb2,
    coordinator_pb2,
    data_pb2,
    raft_pb2,
    transactions_pb2,
)

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True)
class Method(Generic[Request, Response]):
    """An RPC: `service` is the full service name, `name` the RPC's."""

    service: str
    name: str
    request_type: type[Request]
    response_type: type[Response]
    is_request_stream: bool = False
    is_response_stream: bool = False

    @property
    def path(self) -> str:
        """The gRPC path, such as `/tidelog.v1.Broker/Produce`."""
        return f"/{self.service}/{self.name}"


_BROKER = "tidelog.v1.Broker"
PRODUCE = Method(_BROKER, "Produce", data_pb2.ProduceRequest, data_pb2.ProduceResponse)
FETCH = Method(_BROKER, "Fetch", data_pb2.FetchRequest, data_pb2.FetchResponse)
PRODUCE_STREAM = Method(
    _BROKER,
    "ProduceStream",
    data_pb2.ProduceRequest,
    data_pb2.ProduceAnswers,
    is_request_stream=True,
    is_response_stream=True,
)
FETCH_STREAM = Method(
    _BROKER,
    "FetchStream",
    data_pb2.FetchRequest,
    data_pb2.FetchResponse,
    is_request_stream=True,
    is_response_stream=True,
)
LIST_OFFSETS = Method(
    _BROKER, "ListOffsets", data_pb2.ListOffsetsRequest, data_pb2.ListOffsetsResponse
)
DELETE_RECORDS = Method(
    _BROKER, "DeleteRecords", data_pb2.DeleteRecordsRequest, data_pb2.DeleteRecordsResponse
)
OFFSET_FOR_LEADER_EPOCH = Method(
    _BROKER,
    "OffsetForLeaderEpoch",
    data_pb2.OffsetForLeaderEpochRequest,
    data_pb2.OffsetForLeaderEpochResponse,
)
METADATA = Method(_BROKER, "Metadata", data_pb2.MetadataRequest, data_pb2.MetadataResponse)
INIT_PRODUCER_ID = Method(
    _BROKER, "InitProducerId", data_pb2.InitProducerIdRequest, data_pb2.InitProducerIdResponse
)
DESCRIBE_LOG_DIRS = Method(
    _BROKER, "DescribeLogDirs", data_pb2.DescribeLogDirsRequest, data_pb2.DescribeLogDirsResponse
)
DESCRIBE_PRODUCERS = Method(
    _BROKER,
    "DescribeProducers",
    data_pb2.DescribeProducersRequest,
    data_pb2.DescribeProducersResponse,
)
WRITE_TRANSACTION_MARKERS = Method(
    _BROKER,
    "WriteTransactionMarkers",
    transactions_pb2.WriteTransactionMarkersRequest,
    transactions_pb2.WriteTransactionMarkersResponse,
)
ABORT_HANGING_TRANSACTION = Method(
    _BROKER,
    "AbortHangingTransaction",
    transactions_pb2.AbortHangingTransactionRequest,
    transactions_pb2.AbortHangingTransactionResponse,
)

_ADMIN = "tidelog.v1.Admin"
CREATE_TOPICS = Method(
    _ADMIN, "CreateTopics", admin_pb2.CreateTopicsRequest, admin_pb2.CreateTopicsResponse
)
DELETE_TOPICS = Method(
    _ADMIN, "DeleteTopics", admin_pb2.DeleteTopicsRequest, admin_pb2.DeleteTopicsResponse
)
DESCRIBE_TOPICS = Method(
    _ADMIN, "DescribeTopics", admin_pb2.DescribeTopicsRequest, admin_pb2.DescribeTopicsResponse
)
DESCRIBE_CLUSTER = Method(
    _ADMIN, "DescribeCluster", admin_pb2.DescribeClusterRequest, admin_pb2.DescribeClusterResponse
)
DESCRIBE_CONFIGS = Method(
    _ADMIN, "DescribeConfigs", admin_pb2.DescribeConfigsRequest, admin_pb2.DescribeConfigsResponse
)
ALTER_CONFIGS = Method(
    _ADMIN, "AlterConfigs", admin_pb2.AlterConfigsRequest, admin_pb2.AlterConfigsResponse
)
ELECT_LEADERS = Method(
    _ADMIN, "ElectLeaders", admin_pb2.ElectLeadersRequest, admin_pb2.ElectLeadersResponse
)
CREATE_PARTITIONS = Method(
    _ADMIN,
    "CreatePartitions",
    admin_pb2.CreatePartitionsRequest,
    admin_pb2.CreatePartitionsResponse,
)

_NODE = "tidelog.v1.Node"
NODE_STATUS = Method(_NODE, "Status", admin_pb2.NodeStatusRequest, admin_pb2.NodeStatusResponse)
PREPARE_STOP = Method(
    _NODE, "PrepareStop", admin_pb2.PrepareStopRequest, admin_pb2.PrepareStopResponse
)
LIST_EVENTS = Method(_NODE, "ListEvents", admin_pb2.ListEventsRequest, admin_pb2.ListEventsResponse)

_CONTROLLER = "tidelog.v1.Controller"
REGISTER_BROKER = Method(
    _CONTROLLER,
    "RegisterBroker",
    controller_pb2.RegisterBrokerRequest,
    controller_pb2.RegisterBrokerResponse,
)
BROKER_HEARTBEAT = Method(
    _CONTROLLER,
    "BrokerHeartbeat",
    controller_pb2.BrokerHeartbeatRequest,
    controller_pb2.BrokerHeartbeatResponse,
)
ALTER_PARTITION = Method(
    _CONTROLLER,
    "AlterPartition",
    controller_pb2.AlterPartitionRequest,
    controller_pb2.AlterPartitionResponse,
)
REPORT_REPLICA_STATE = Method(
    _CONTROLLER,
    "ReportReplicaState",
    controller_pb2.ReportReplicaStateRequest,
    controller_pb2.ReportReplicaStateResponse,
)
FOLLOW_METADATA = Method(
    _CONTROLLER,
    "FollowMetadata",
    controller_pb2.FollowMetadataRequest,
    controller_pb2.FollowMetadataResponse,
    is_response_stream=True,
)
DESCRIBE_QUORUM = Method(
    _CONTROLLER,
    "DescribeQuorum",
    controller_pb2.DescribeQuorumRequest,
    controller_pb2.DescribeQuorumResponse,
)

ALLOCATE_PRODUCER_IDS = Method(
    _CONTROLLER,
    "AllocateProducerIds",
    controller_pb2.AllocateProducerIdsRequest,
    controller_pb2.AllocateProducerIdsResponse,
)
REPORT_UNREACHABLE_BROKER = Method(
    _CONTROLLER,
    "ReportUnreachableBroker",
    controller_pb2.ReportUnreachableBrokerRequest,
    controller_pb2.ReportUnreachableBrokerResponse,
)

_COORDINATOR = "tidelog.v1.Coordinator"
FIND_COORDINATOR = Method(
    _COORDINATOR,
    "FindCoordinator",
    coordinator_pb2.FindCoordinatorRequest,
    coordinator_pb2.FindCoordinatorResponse,
)
CONSUMER_GROUP_HEARTBEAT = Method(
    _COORDINATOR,
    "ConsumerGroupHeartbeat",
    coordinator_pb2.ConsumerGroupHeartbeatRequest,
    coordinator_pb2.ConsumerGroupHeartbeatResponse,
)
GROUP_STREAM = Method(
    _COORDINATOR,
    "GroupStream",
    coordinator_pb2.ConsumerGroupHeartbeatRequest,
    coordinator_pb2.ConsumerGroupHeartbeatResponse,
    is_request_stream=True,
    is_response_stream=True,
)
OFFSET_COMMIT = Method(
    _COORDINATOR,
    "OffsetCommit",
    coordinator_pb2.OffsetCommitRequest,
    coordinator_pb2.OffsetCommitResponse,
)
TRANSACTIONAL_OFFSET_COMMIT = Method(
    _COORDINATOR,
    "TransactionalOffsetCommit",
    coordinator_pb2.TransactionalOffsetCommitRequest,
    coordinator_pb2.TransactionalOffsetCommitResponse,
)
OFFSET_FETCH = Method(
    _COORDINATOR,
    "OffsetFetch",
    coordinator_pb2.OffsetFetchRequest,
    coordinator_pb2.OffsetFetchResponse,
)
OFFSET_DELETE = Method(
    _COORDINATOR,
    "OffsetDelete",
    coordinator_pb2.OffsetDeleteRequest,
    coordinator_pb2.OffsetDeleteResponse,
)
LIST_GROUPS = Method(
    _COORDINATOR,
    "ListGroups",
    coordinator_pb2.ListGroupsRequest,
    coordinator_pb2.ListGroupsResponse,
)
DESCRIBE_GROUPS = Method(
    _COORDINATOR,
    "DescribeGroups",
    coordinator_pb2.DescribeGroupsRequest,
    coordinator_pb2.DescribeGroupsResponse,
)
DELETE_GROUPS = Method(
    _COORDINATOR,
    "DeleteGroups",
    coordinator_pb2.DeleteGroupsRequest,
    coordinator_pb2.DeleteGroupsResponse,
)

_TRANSACTIONS = "tidelog.v1.TransactionCoordinator"
INIT_TRANSACTIONAL_PRODUCER = Method(
    _TRANSACTIONS,
    "InitTransactionalProducer",
    transactions_pb2.InitTransactionalProducerRequest,
    transactions_pb2.InitTransactionalProducerResponse,
)
ADD_PARTITIONS_TO_TRANSACTIONS = Method(
    _TRANSACTIONS,
    "AddPartitionsToTransactions",
    transactions_pb2.AddPartitionsToTransactionsRequest,
    transactions_pb2.AddPartitionsToTransactionsResponse,
)
END_TRANSACTION = Method(
    _TRANSACTIONS,
    "EndTransaction",
    transactions_pb2.EndTransactionRequest,
    transactions_pb2.EndTransactionResponse,
)
END_TRANSACTIONS = Method(
    _TRANSACTIONS,
    "EndTransactions",
    transactions_pb2.EndTransactionsRequest,
    transactions_pb2.EndTransactionsResponse,
)
ABORT_TRANSACTION = Method(
    _TRANSACTIONS,
    "AbortTransaction",
    transactions_pb2.AbortTransactionRequest,
    transactions_pb2.AbortTransactionResponse,
)
LIST_TRANSACTIONS = Method(
    _TRANSACTIONS,
    "ListTransactions",
    transactions_pb2.ListTransactionsRequest,
    transactions_pb2.ListTransactionsResponse,
)
DESCRIBE_TRANSACTIONS = Method(
    _TRANSACTIONS,
    "DescribeTransactions",
    transactions_pb2.DescribeTransactionsRequest,
    transactions_pb2.DescribeTransactionsResponse,
)

RAFT_EXCHANGE = Method(
    "tidelog.v1.RaftPeer",
    "Exchange",
    raft_pb2.RaftMessage,
    raft_pb2.RaftExchangeEnd,
    is_request_stream=True,
)


def rpcs_of(service: str) -> list[Method[Message, Message]]:
    """Every RPC of a service by its full name, in the order of this file."""
    listed = (value for value in globals().values() if isinstance(value, Method))
    return [method for method in listed if method.service == service]
