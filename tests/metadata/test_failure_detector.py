"""Reports about brokers: one dial each for many, a bounded number, and answers that are proven."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.metadata.broker_endpoints import reached_at
from tests.metadata.fake_quorum import FakeClock, Nodes, registration, start_broker, until
from tests.stubborn import Stubborn

from tidelog.core.errors import KafkaError
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.failure_detector import FailureDetector
from tidelog.metadata.image import BrokerImage, MetadataImage
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.raft.replicated_log import CommittedEntry, NotLeaderError
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import (
    ReportUnreachableBrokerRequest,
    ReportUnreachableBrokerResponse,
)

REFUSED = Dialled(DialOutcome.REFUSED)
SILENT = Dialled(DialOutcome.SILENT)


class Stage:
    """A detector, dials that wait at a gate, and fencings that commit at once."""

    def __init__(self, brokers: int = 1, **limits: Any) -> None:  # of ControllerConfig
        self.clock = FakeClock()
        self.answer = REFUSED
        self.gate = asyncio.Event()
        self.gate.set()
        self.dialled: list[str] = []
        self.fenced: list[tuple[int, int]] = []
        self.answered: list[tuple[int, int]] = []
        self.in_flight = self.most_in_flight = 0
        self.image = MetadataImage(
            brokers={one: self._broker(one, epoch=7) for one in range(1, brokers + 1)}
        )
        self.detector = FailureDetector(
            image=lambda: self.image,
            dial=self._dial,
            fence=self._fence,
            answered=lambda broker_id, epoch: self.answered.append((broker_id, epoch)),
            clock=self.clock,
            config=ControllerConfig(cluster_id="tide", **limits),
        )

    def register_again(self, broker_id: int, *, epoch: int) -> None:
        self._set(self._broker(broker_id, epoch=epoch))

    def report(self, broker_id: int = 1, epoch: int = 7) -> asyncio.Task[bool]:
        return asyncio.create_task(self.detector.report(broker_id, epoch))

    def _broker(self, broker_id: int, *, epoch: int, is_fenced: bool = False) -> BrokerImage:
        return BrokerImage(
            broker_id=broker_id,
            incarnation_id=epoch.to_bytes(16, "big"),
            broker_epoch=epoch,
            endpoints=reached_at(f"h:{broker_id}"),
            rack="",
            is_fenced=is_fenced,
        )

    def _set(self, broker: BrokerImage) -> None:
        self.image = MetadataImage(brokers={**self.image.brokers, broker.broker_id: broker})

    async def _dial(self, address: str, timeout_ms: int) -> Dialled:
        assert timeout_ms == 500
        self.dialled.append(address)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        answer = self.answer
        await self.gate.wait()
        self.in_flight -= 1
        return answer

    async def _fence(self, broker_id: int, broker_epoch: int, _: str) -> None:
        self.fenced.append((broker_id, broker_epoch))
        if self.image.has_live(broker_id, broker_epoch):
            self._set(self._broker(broker_id, epoch=broker_epoch, is_fenced=True))


async def test_a_broker_that_refuses_is_fenced_and_the_reporter_told_when_it_is() -> None:
    stage = Stage()
    assert await stage.report()
    assert stage.fenced == [(1, 7)]


async def test_a_silent_broker_is_left_to_its_session() -> None:
    stage = Stage()
    stage.answer = SILENT
    assert not await stage.report()
    assert stage.fenced == []


async def test_reports_about_one_broker_share_a_dial() -> None:
    stage = Stage()
    reports = [stage.report() for _ in range(20)]
    assert all(await asyncio.gather(*reports))
    assert stage.dialled == ["h:1"]
    assert stage.fenced == [(1, 7)]


async def test_a_stale_or_unfounded_report_causes_no_dial() -> None:
    stage = Stage()
    stage.register_again(1, epoch=9)
    assert await stage.report(epoch=7), "it is not alive: another one is"
    assert await stage.report(broker_id=5)
    assert stage.dialled == []


async def test_what_breaks_during_a_dial_is_dialled_for_again() -> None:
    stage = Stage(vain_dial_wait_ms=1)
    stage.gate.clear()
    stage.answer = Dialled(DialOutcome.ANSWERED, (7).to_bytes(16, "big"))
    first = stage.report()
    await until(lambda: stage.in_flight == 1)
    stage.answer = REFUSED  # killed, a moment after it answered
    second = stage.report()
    await asyncio.sleep(0)
    stage.gate.set()
    assert not await first
    assert await second
    assert stage.dialled == ["h:1", "h:1"]
    assert stage.most_in_flight == 1


async def test_a_broker_that_registered_during_the_dial_is_not_fenced() -> None:
    stage = Stage()
    stage.gate.clear()
    report = stage.report()
    await until(lambda: stage.in_flight == 1)
    stage.register_again(1, epoch=9)
    stage.gate.set()
    assert await report
    assert stage.image.is_alive(1)
    assert (1, 9) not in stage.fenced


async def test_a_dial_for_the_next_incarnation_waits_for_that_of_the_last() -> None:
    stage = Stage(fenced_dial_wait_ms=1)
    stage.gate.clear()
    first = stage.report()
    await until(lambda: stage.in_flight == 1)
    stage.register_again(1, epoch=9)
    second = stage.report(epoch=9)
    await asyncio.sleep(0)
    assert stage.in_flight == 1
    stage.gate.set()
    await asyncio.gather(first, second)
    assert stage.most_in_flight == 1
    assert stage.fenced[-1] == (1, 9)


async def test_dials_at_one_time_are_bounded() -> None:
    stage = Stage(brokers=6, dials_max=2)
    stage.gate.clear()
    reports = [stage.report(broker_id) for broker_id in stage.image.brokers]
    await until(lambda: stage.in_flight == 2)
    stage.gate.set()
    await asyncio.gather(*reports)
    assert stage.most_in_flight == 2
    assert len(stage.fenced) == 6


async def test_reports_that_wait_are_bounded() -> None:
    stage = Stage(reports_waiting_max=3)
    stage.gate.clear()
    waiting = [stage.report() for _ in range(3)]
    await until(lambda: stage.in_flight == 1)
    with pytest.raises(KafkaError) as refused:
        await stage.report()
    assert refused.value.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
    stage.gate.set()
    assert all(await asyncio.gather(*waiting))
    stage.register_again(1, epoch=9)
    assert await stage.report(epoch=7), "there is room again"


async def test_a_broker_fenced_a_moment_ago_is_not_dialled_before_its_wait_is_over() -> None:
    stage = Stage(fenced_dial_wait_ms=20)
    await stage.report()
    stage.register_again(1, epoch=9)
    report = stage.report(epoch=9)
    for _ in range(5):
        await asyncio.sleep(0)
    assert stage.dialled == ["h:1"]
    stage.clock.now_ms += 20
    assert await report
    assert stage.dialled == ["h:1", "h:1"]


async def test_the_dial_goes_on_when_its_reporter_is_gone() -> None:
    stage = Stage()
    stage.gate.clear()
    report = stage.report()
    await until(lambda: stage.in_flight == 1)
    report.cancel()
    stage.gate.set()
    await until(lambda: stage.fenced == [(1, 7)])


# In the controller


@pytest.fixture
async def active(nodes: Nodes) -> QuorumController:
    await start_broker(nodes.quorums[0], 1)
    return nodes.quorums[0]


async def report(quorum: QuorumController, broker_id: int = 1) -> ReportUnreachableBrokerResponse:
    epoch = quorum.image.brokers[broker_id].broker_epoch
    return await quorum.report_unreachable_broker(
        ReportUnreachableBrokerRequest(broker_id=broker_id, broker_epoch=epoch, reporter_id=2)
    )


async def test_a_report_is_answered_when_the_fencing_has_committed(
    nodes: Nodes, active: QuorumController
) -> None:
    nodes.answers["h:1"] = REFUSED
    answer = await report(active)
    assert answer.is_fenced
    assert answer.controller_epoch == nodes.raft.term
    assert not nodes.quorums[1].image.is_alive(1)


async def test_a_report_that_changes_nothing_is_answered_after_a_barrier(
    nodes: Nodes, active: QuorumController
) -> None:
    before = nodes.logs[0].barriers
    assert not (await report(active)).is_fenced
    assert nodes.logs[0].barriers == before + 1
    assert active.image.is_alive(1)


async def test_a_replaced_controller_dials_nobody(nodes: Nodes, active: QuorumController) -> None:
    nodes.raft.elect(None)
    answer = await report(active)
    assert answer.error.code == common_pb2.NOT_CONTROLLER
    assert nodes.dialled == []


async def test_a_fencing_that_was_not_committed_is_an_error_to_the_reporter(
    nodes: Nodes, active: QuorumController
) -> None:
    nodes.answers["h:1"] = REFUSED
    nodes.logs[0].gate.clear()
    asked = asyncio.create_task(report(active))
    proposed = len(nodes.logs[0].proposed)
    await until(lambda: len(nodes.logs[0].proposed) > proposed)
    nodes.raft.elect(nodes.logs[1])
    nodes.logs[0].gate.set()
    assert (await asked).error.code == common_pb2.NOT_CONTROLLER
    assert nodes.quorums[1].image.is_alive(1)


async def test_a_refused_registration_has_the_predecessor_dialled(
    nodes: Nodes, active: QuorumController
) -> None:
    nodes.answers["h:1"] = Dialled(DialOutcome.ANSWERED, bytes([2]) * 16)
    epoch = active.image.brokers[1].broker_epoch
    successor = registration(1, incarnation=2, previous_broker_epoch=epoch)
    refused = await active.submit(successor)
    assert refused.error.code == common_pb2.DUPLICATE_BROKER_REGISTRATION
    await until(lambda: not active.image.is_alive(1))
    assert not (await active.submit(successor)).error.code


async def test_a_stop_does_not_wait_for_a_dial_that_heeds_no_cancellation() -> None:
    stage, stubborn = Stage(), Stubborn()

    async def dial(*_: object) -> Dialled:
        await stubborn.work()
        return SILENT

    stage.detector._dial = dial
    stage.detector.doubt(1)
    await stubborn.began.wait()
    async with asyncio.timeout(3600):
        await stage.detector.stop()
    assert stubborn.cancellations == 1
    stubborn.released.set()
    await asyncio.sleep(0)


async def test_a_controllers_stop_does_not_wait_for_a_proposal_that_heeds_no_cancellation(
    nodes: Nodes,
) -> None:
    quorum, log, stubborn = nodes.quorums[0], nodes.logs[0], Stubborn()

    async def propose(*_: object, **__: object) -> CommittedEntry:
        await stubborn.work()
        raise NotLeaderError("released", leader_id=None)

    log.propose = propose  # type: ignore[method-assign]
    submitted = asyncio.create_task(quorum.submit(registration(1)))
    await stubborn.began.wait()
    async with asyncio.timeout(3600):
        await quorum.stop()
    assert stubborn.cancellations == 1
    stubborn.released.set()
    await submitted
