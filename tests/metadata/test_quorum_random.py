"""Whatever happens to two controllers: what is decided is true of all that is committed, and once.

Requests come one after the other, so that the committed image at each answer is the only right one
to have decided on; a log that is never cut off knows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.fake_quorum import CONFIG, FakeRaft, Nodes, creation, registration, start_broker
from tests.virtual_loop import run_virtual

from tidelog.metadata.image import MetadataImage
from tidelog.metadata.state_machine import MetadataStateMachine
from tidelog.raft.replicated_log import CommittedEntry
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse

if TYPE_CHECKING:
    from tests.metadata.conftest import SeededRandom

_NODES, _NAMES, _IDS = st.sampled_from([0, 1]), st.sampled_from("ab"), st.integers(0, 3)
_STEPS = st.one_of(
    st.tuples(st.just("create"), _NODES, _NAMES, _IDS),
    st.tuples(st.just("create"), _NODES, _NAMES, _IDS),
    st.tuples(st.just("delete"), _NODES, _NAMES, _IDS),
    st.tuples(st.just("delete"), _NODES, _NAMES, _IDS),
    st.tuples(st.just("register"), _NODES, st.just(""), _IDS),
    st.tuples(st.just("elect"), _NODES, st.just(""), st.just(0)),
    st.tuples(st.just("isolate"), _NODES, st.just(""), st.sampled_from([0, 1])),
    st.tuples(st.just("create many"), _NODES, _NAMES, _IDS),
    st.tuples(st.just("elect after"), _NODES, st.just(""), st.sampled_from([0, 1, 2])),
    st.tuples(st.just("lose answers"), _NODES, st.just(""), st.sampled_from([0, 1])),
)
_PARTITIONS = 7
"""Of a topic that takes several batches."""
_UNDECIDED = (common_pb2.NOT_CONTROLLER, common_pb2.REQUEST_TIMED_OUT)


class Truth:
    """All that is committed, and what each command was answered when it was followed."""

    def __init__(self, raft: FakeRaft) -> None:
        self.committed = MetadataStateMachine(CONFIG)
        self.raft = raft
        self.is_isolated = False
        raft.logs.append(self)  # type: ignore[arg-type]  # what it needs of a log

    @property
    def image(self) -> MetadataImage:
        return self.committed.image

    def hear(self, entry: CommittedEntry) -> None:
        self.committed.apply(entry)

    def hear_of_leader(self) -> None:
        """It does not matter who leads."""

    def check_created(self, reply: CreateTopicsResponse, name: str, command_id: bytes) -> None:
        """That the reply is right by now."""
        (topic,) = reply.topics
        followed = self.image.commands.get(command_id)
        if topic.error.code == common_pb2.NONE:
            assert followed is not None
            assert not followed.is_unfinished
            created = self.image.topic_by_id(topic.topic_id)
            assert created is None or len(created.partitions) == topic.partitions
            assert topic.topic_id == followed.create_topics.topics[0].topic_id
        else:
            assert topic.error.code == common_pb2.TOPIC_ALREADY_EXISTS
            assert name in self.image.topics
            assert followed is None

    def check_deleted(self, reply: DeleteTopicsResponse, name: str, command_id: bytes) -> None:
        """That the reply is right by now."""
        (topic,) = reply.topics
        is_followed = command_id in self.image.commands
        if topic.error.code == common_pb2.NONE:
            assert is_followed
        else:
            assert topic.error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
            assert name not in self.image.topics
            assert not is_followed


async def _ask(nodes: Nodes, truth: Truth, kind: str, node: int, name: str, number: int) -> None:
    quorum = nodes.quorums[node]
    command_id = f"{kind}{name}{number}".encode().ljust(16)[:16]
    was_followed = command_id in truth.image.commands
    if kind.startswith("create"):
        partitions = _PARTITIONS if kind == "create many" else 1
        request = creation(name, command_id=command_id, partitions=partitions)
        created = await quorum.submit(request)
        code, epoch = created.error.code, created.controller_epoch
        if epoch:
            truth.check_created(created, name, command_id)
    elif kind == "delete":
        deletion = DeleteTopicsRequest(names=[name], command_id=command_id)
        deleted = await quorum.submit(deletion)
        code, epoch = deleted.error.code, deleted.controller_epoch
        if epoch:
            truth.check_deleted(deleted, name, command_id)
    else:
        known = truth.image.brokers.get(2)
        replaced = known.broker_epoch if known else 0
        asked = registration(2, incarnation=number, previous_broker_epoch=replaced)
        registered = await quorum.submit(asked)
        code, epoch = registered.error.code, registered.controller_epoch
        if epoch and code == common_pb2.NONE:
            assert truth.image.brokers[2].broker_epoch == registered.broker_epoch
    assert bool(epoch) is (code not in _UNDECIDED)
    if epoch:
        assert epoch == nodes.raft.term
        assert nodes.raft.leader is nodes.logs[node]
        assert not nodes.logs[node].is_isolated
    if code == common_pb2.NOT_CONTROLLER and not was_followed and not nodes.logs[node].in_limbo:
        assert command_id not in truth.image.commands


async def _run(random: SeededRandom, steps: list[tuple[str, int, str, int]]) -> None:
    nodes = Nodes(random)
    truth = Truth(nodes.raft)
    for quorum in nodes.quorums:
        await quorum.start()
    nodes.raft.elect(nodes.logs[0])
    await start_broker(nodes.quorums[0], 1)
    for kind, node, name, number in steps:
        log = nodes.logs[node]
        if kind == "elect":
            nodes.raft.elect(log)
        elif kind == "elect after":
            log.proposals_left = number
        elif kind == "isolate":
            log.is_isolated = bool(number)
            if not number:
                log.catch_up()
        elif kind == "lose answers":
            log.is_answer_lost = bool(number)
        else:
            await _ask(nodes, truth, kind, node, name, number)
    for log in nodes.logs:
        log.is_isolated = log.is_answer_lost = False
        log.catch_up()
    assert nodes.quorums[0].image == nodes.quorums[1].image == truth.image
    for quorum in nodes.quorums:
        await quorum.stop()


@settings(max_examples=100)
@given(seed=st.integers(0, 1_000), steps=st.lists(_STEPS, min_size=5, max_size=40))
def test_what_is_decided_is_true_and_happens_once(
    new_random: type[SeededRandom], seed: int, steps: list[tuple[str, int, str, int]]
) -> None:
    run_virtual(_run(new_random(seed), steps))
