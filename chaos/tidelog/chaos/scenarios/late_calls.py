"""Stories: calls to the controllers that arrive after their callers gave them up and asked again.

In the simulation only: there a single call can be held. A proxy on sockets holds a connection,
on which the call's cancellation is right behind the call.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol, runtime_checkable

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scene import ON_THE_WAY_S, Scene, UnsupportedFaultError

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
async def late_isr_attempt(scene: Scene) -> None:
    """An ISR change arrives after its leader was refused another: it is refused, none is lost.

    By the controller that said no, and by the next one.
    """
    for is_replaced in (False, True):
        await _late_once(scene, is_replaced=is_replaced)


async def _late_once(scene: Scene, *, is_replaced: bool) -> None:
    holder = scene.cluster
    if not isinstance(holder, CallHolder):
        raise UnsupportedFaultError("only a simulated network holds single calls")
    await scene.last(0.3, 1.0)
    await scene.comes(
        lambda: scene.is_led_by(scene.now.replicas[0]), "no leadership is to be moved back"
    )
    leader, (other, follower) = scene.cast()
    registered = scene.image.brokers[follower].broker_epoch
    paths = scene.between([leader], [follower])
    await scene.cut(paths)
    await scene.comes(partial(scene.is_out, follower), "it left the ISR")
    scene.strike("hold_calls", f"node {follower} BrokerHeartbeat", follower)
    silenced = holder.hold_calls(follower, "BrokerHeartbeat", most=HEARTBEATS_MAX)
    scene.strike("hold_calls", f"node {leader} AlterPartition", leader)
    # The third attempt comes 3.75 s after the first: no session is as long.
    change = holder.hold_calls(leader, "AlterPartition", most=2)
    await scene.mend(paths)
    await scene.comes(lambda: change.count, "its return is proposed, and the attempt is held")
    asked_in = scene.now.partition_epoch
    await scene.comes(partial(scene.is_fenced, follower), "it is fenced")
    await scene.cut(paths)
    await scene.comes(lambda: not scene.proposed_isr(leader), "a later attempt was refused")
    at_least = scene.end(follower) + ACKNOWLEDGED_WITHOUT_IT_MIN
    await scene.comes(
        lambda: scene.high_watermark(leader) >= at_least, "records are acknowledged without it"
    )
    if is_replaced:
        await _replace_controller(scene)
    holder.deliver_late(silenced)
    scene.over("hold_calls", f"node {follower} BrokerHeartbeat", follower)
    await scene.comes(lambda: scene.image.is_alive(follower), "it is heard of again")
    scene.expect(
        scene.image.brokers[follower].broker_epoch == registered, "it is the same incarnation"
    )
    scene.expect(scene.is_led_by(leader), "the leader is still the one that asked")
    scene.expect(scene.now.partition_epoch == asked_in, "the ISR is still the one it was to change")
    refused = _refused(scene, leader)
    holder.deliver_late(change)
    scene.over("hold_calls", f"node {leader} AlterPartition", leader)
    await scene.comes(
        lambda: _refused(scene, leader) > refused or scene.is_in_sync(follower),
        "a held attempt arrived",
    )
    await scene.kill(leader, other)
    await scene.last(scene.session_s + 1.0, scene.failover_s)
    scene.promise(not scene.is_led_by(follower), "who lacks records does not lead")
    await scene.mend(paths)
    await scene.start(leader, other)
    await scene.in_sync()
    await scene.acknowledged_again()


def _refused(scene: Scene, leader: int) -> int:
    lines = scene.logged("late attempt refused", request="AlterPartitionRequest", broker_id=leader)
    return len(lines)


async def _replace_controller(scene: Scene) -> None:
    """Another one is active, and the one before knows it."""
    before = scene.cluster.controller_id
    scene.expect(before is not None, "a controller is active")
    others = [one for one in scene.cluster.controller_ids if one != before]
    paths = scene.between([before or 0], others)
    await scene.cut(paths)
    await scene.comes(lambda: scene.cluster.controller_id in others, "another controller decides")
    await scene.mend(paths)
    await scene.comes(
        lambda: len({scene.cluster.term(one) for one in scene.cluster.controller_ids}) == 1,
        "all controllers know it",
    )
    await scene.last(ON_THE_WAY_S, ON_THE_WAY_S)
