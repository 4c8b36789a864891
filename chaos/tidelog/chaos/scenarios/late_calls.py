"""Stories: calls to the controllers that arrive after their callers gave them up and asked again.

In the simulation only: there a single call can be held. A proxy on sockets holds a connection,
on which the call's cancellation is right behind the call.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol, runtime_checkable

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ON_THE_WAY_S, ScenarioRun, UnsupportedFaultError

ACKNOWLEDGED_WITHOUT_IT_MIN = 5
HEARTBEATS_MAX = 1_000


class HeldCalls(Protocol):
    """Calls of one kind that are held."""

    @property
    def count(self) -> int:
        """Calls caught so far."""


@runtime_checkable
class CallHolder(Protocol):
    """Port: what only the simulated network does to single calls."""

    def hold_calls(self, node_id: int, method: str, *, most: int) -> HeldCalls:
        """Hold the node's next calls of this method, while others pass."""

    def deliver_late(self, held: HeldCalls) -> None:
        """Let them arrive; nobody hears what they are answered."""


@scenario("late-isr-attempt", Needs(runs_on=SIM_ONLY))
async def late_isr_attempt(run: ScenarioRun) -> None:
    """An ISR change arrives after its leader was refused another: it is refused, none is lost.

    By the controller that said no, and by the next one.
    """
    for is_replaced in (False, True):
        await _late_once(run, is_replaced=is_replaced)


async def _late_once(run: ScenarioRun, *, is_replaced: bool) -> None:
    holder = run.cluster
    if not isinstance(holder, CallHolder):
        raise UnsupportedFaultError("only a simulated network holds single calls")
    await run.last(0.3, 1.0)
    await run.comes(lambda: run.is_led_by(run.now.replicas[0]), "no leadership is to be moved back")
    leader, (other, follower) = run.cast()
    registered = run.image.brokers[follower].broker_epoch
    paths = run.between([leader], [follower])
    await run.cut(paths)
    await run.comes(partial(run.is_out, follower), "it left the ISR")
    run.strike("hold_calls", f"node {follower} BrokerHeartbeat", follower)
    silenced = holder.hold_calls(follower, "BrokerHeartbeat", most=HEARTBEATS_MAX)
    run.strike("hold_calls", f"node {leader} AlterPartition", leader)
    # The third attempt comes 3.75 s after the first: no session is as long.
    change = holder.hold_calls(leader, "AlterPartition", most=2)
    await run.mend(paths)
    await run.comes(lambda: change.count, "its return is proposed, and the attempt is held")
    asked_in = run.now.partition_epoch
    await run.comes(partial(run.is_fenced, follower), "it is fenced")
    await run.cut(paths)
    await run.comes(lambda: not run.proposed_isr(leader), "a later attempt was refused")
    at_least = run.end(follower) + ACKNOWLEDGED_WITHOUT_IT_MIN
    await run.comes(
        lambda: run.high_watermark(leader) >= at_least, "records are acknowledged without it"
    )
    if is_replaced:
        await _replace_controller(run)
    holder.deliver_late(silenced)
    run.over("hold_calls", f"node {follower} BrokerHeartbeat", follower)
    await run.comes(lambda: run.image.is_alive(follower), "it is heard of again")
    run.expect(run.image.brokers[follower].broker_epoch == registered, "it is the same incarnation")
    run.expect(run.is_led_by(leader), "the leader is still the one that asked")
    run.expect(run.now.partition_epoch == asked_in, "the ISR is still the one it was to change")
    refused = _count_refused(run, leader)
    holder.deliver_late(change)
    run.over("hold_calls", f"node {leader} AlterPartition", leader)
    await run.comes(
        lambda: _count_refused(run, leader) > refused or run.is_in_sync(follower),
        "a held attempt arrived",
    )
    await run.kill(leader, other)
    await run.last(run.session_s + 1.0, run.failover_s)
    run.promise(not run.is_led_by(follower), "who lacks records does not lead")
    await run.mend(paths)
    await run.start(leader, other)
    await run.in_sync()
    await run.acknowledged_again()


def _count_refused(run: ScenarioRun, leader: int) -> int:
    lines = run.find_log_lines(
        "late attempt refused", request="AlterPartitionRequest", broker_id=leader
    )
    return len(lines)


async def _replace_controller(run: ScenarioRun) -> None:
    """Another one is active, and the one before knows it."""
    before = run.cluster.controller_id
    run.expect(before is not None, "a controller is active")
    others = [one for one in run.cluster.controller_ids if one != before]
    paths = run.between([before or 0], others)
    await run.cut(paths)
    await run.comes(lambda: run.cluster.controller_id in others, "another controller decides")
    await run.mend(paths)
    await run.comes(
        lambda: len({run.cluster.term(one) for one in run.cluster.controller_ids}) == 1,
        "all controllers know it",
    )
    await run.last(ON_THE_WAY_S, ON_THE_WAY_S)
