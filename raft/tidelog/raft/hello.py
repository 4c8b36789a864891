"""First message of a stream between two voters, and its check by the receiver.

Decides whether a stream may continue; never acts. The cluster is compared before anything else: a
node of another one may listen at a voter's address, with a log that looks alike (decision 0024).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Collection

from tidelog.core.errors import InvalidRequestError
from tidelog.net import own_cluster
from tidelog.net.strangers import Strangers
from tidelog.raft.config import ENGINE_KEY, RaftConfig
from tidelog.v1.raft_pb2 import RaftHello, RaftMessage

ENGINE_SHOWN_MAX = 50


def hello_of(node_id: int, *, receiver_id: int, config: RaftConfig) -> RaftMessage:
    """Build the message with which `node_id` begins a stream to `receiver_id`."""
    return RaftMessage(
        sender_id=node_id,
        receiver_id=receiver_id,
        cluster_id=config.cluster_id,
        hello=RaftHello(engine=config.engine),
    )


def check_cluster(message: RaftMessage, config: RaftConfig, strangers: Strangers) -> None:
    """Raise `KafkaError` INCONSISTENT_CLUSTER_ID for a message from another cluster's node."""
    if not own_cluster.is_of_this_cluster(message.cluster_id, config.cluster_id):
        who = f"the node that claims to be voter {message.sender_id}"
        raise strangers.refuse(message.cluster_id, config.cluster_id, who=who)


def check_hello(
    message: RaftMessage, *, node_id: int, peer_ids: Collection[int], config: RaftConfig
) -> None:
    """Check the first message of a stream, after its cluster was compared.

    Raises `KafkaError` INVALID_REQUEST, which says what the opener's operator has to change.
    """
    what = _fault(message, node_id=node_id, peer_ids=peer_ids, config=config)
    if what is not None:
        raise InvalidRequestError(what)


def _fault(
    message: RaftMessage, *, node_id: int, peer_ids: Collection[int], config: RaftConfig
) -> str | None:
    sender_id, engine = message.sender_id, message.hello.engine
    if not message.HasField("hello"):
        return f"the stream of node {sender_id} to node {node_id} does not begin with a hello"
    if message.receiver_id != node_id or sender_id not in peer_ids:
        return (
            f"node {sender_id} opens a raft stream to node {message.receiver_id}, and reached node "
            f"{node_id} with the peers {sorted(peer_ids)}: check controller voters"
        )
    if engine != config.engine:
        return (
            f"controller {sender_id} runs the raft engine {engine[:ENGINE_SHOWN_MAX]!r}, "
            f"controller {node_id} {config.engine!r}: configure one {ENGINE_KEY} for all"
        )
    return None
