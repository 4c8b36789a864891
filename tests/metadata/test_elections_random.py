"""Whoever is in ISR or ELR holds all that is committed, whatever happens (I3, I6, I14).

The logs of the replicas are modelled here as numbers: where each ends, and where the committed part
does. Only a loss that the controller knows of, and elects somebody in spite of, may lower the last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.metadata.brokers import ExpireSessions
from tidelog.metadata.settling import SettlePartitions
from tidelog.v1.admin_pb2 import PREFERRED, UNCLEAN
from tidelog.v1.controller_pb2 import NOTHING, UNFLUSHED, ReportReplicaStateRequest

if TYPE_CHECKING:
    from tests.metadata.conftest import World

_BROKERS = st.sampled_from([1, 2, 3])
_STEPS = st.one_of(
    st.tuples(st.just("produce"), st.booleans()),
    st.tuples(st.just("join"), _BROKERS),
    st.tuples(st.just("leave"), _BROKERS),
    st.tuples(st.just("kill"), _BROKERS),
    st.tuples(st.just("return"), _BROKERS),
    st.tuples(st.just("return after a power cut"), _BROKERS),
    st.tuples(st.just("begins to return"), _BROKERS),
    st.tuples(st.just("shut down"), _BROKERS),
    st.tuples(st.just("damage"), _BROKERS),
    st.tuples(st.just("disk fails"), _BROKERS),
    st.tuples(st.just("sync fails"), _BROKERS),
    st.tuples(st.just("disk works"), _BROKERS),
    st.tuples(st.just("session"), st.none()),
    st.tuples(st.just("new controller"), st.none()),
    st.tuples(st.just("settle"), st.none()),
    st.tuples(st.just("min isr"), st.sampled_from([1, 2, 3])),
    st.tuples(st.just("elect"), st.sampled_from([PREFERRED, PREFERRED, UNCLEAN])),
)


class Model:
    """Three replicas of one partition."""

    def __init__(self, world: World, *, min_isr: int, before: int = 0) -> None:
        """`before`: partitions that go first, where a batch has room for a single one."""
        self.world = world
        if before:
            world.start_controller(replace(world.config, partitions_per_batch_max=1))
            world.activate()
        self.min_isr = min_isr
        self.up = {1, 2, 3}
        self.failed: set[int] = set()
        """Whose disk failed; not the same as offline: a start mends it."""
        self.unsynced: set[int] = set()
        """Where a sync failed: that disk is not used again in this life."""
        self.ends = dict.fromkeys(self.up, 0)
        self.committed = 0
        self.incarnation = 1
        world.start(1, 2, 3)
        for number in range(before):
            world.create(f"before-{number}")
        world.create("t", configs={"min.insync.replicas": str(min_isr)})

        self.before = world.partition("t")

    def take(self, step: tuple[str, object]) -> None:
        self._do(step)
        self.check()

    def check(self) -> None:
        """What became of the last change."""
        before, after = self.before, self.world.partition("t")
        self.before = after
        leader_id = after.leader_id
        if leader_id is not None and after.leader_epoch > before.leader_epoch:
            if leader_id not in before.isr and leader_id not in before.elr:
                self.committed = min(self.committed, self.ends[leader_id])
            assert self.ends[leader_id] >= self.committed, (before, after)
            for one in after.isr:
                self.ends[one] = min(self.ends[one], self.ends[leader_id])
        assert leader_id not in self.failed
        assert not self.failed & {*after.isr}
        for one in (*after.isr, *after.elr):
            assert self.ends[one] >= self.committed, (one, before, after)

    def _do(self, step: tuple[str, object]) -> None:
        match step:
            case ("produce", bool(is_replicated)):
                self._produce(is_replicated=is_replicated)
            case (what, int(number)):
                self._do_with(what, number)
            case ("session", None):
                world = self.world
                world.now_ms += world.config.session_timeout_ms
                for broker in sorted(self.up):
                    world.beat(broker)
                world.do(ExpireSessions())
            case ("new controller", None):
                self.world.activate()
            case ("settle", None):
                self.world.do(SettlePartitions())

    def _do_with(self, what: str, number: int) -> None:
        match what:
            case "join":
                self._join(number)
            case "leave":
                self._leave(number)
            case "kill":
                self.up.discard(number)
            case "shut down" if number in self.up:
                self.world.beat(number, want_shut_down=True)
                self.up.discard(number)
            case "return" | "return after a power cut":
                self._return(number, is_power_cut=what != "return")
            case "begins to return" if number not in self.up:
                self.world.begin_to_register(number, incarnation=self.incarnation + 1)
            case "min isr":
                self.min_isr = number
                self.world.configure("t", "min.insync.replicas", str(number))
            case "elect":
                self.world.elect("t", kind=PREFERRED if number == PREFERRED else UNCLEAN)
            case _ if number in self.up:
                self._do_to_disk(what, number)

    def _do_to_disk(self, what: str, number: int) -> None:
        match what:
            case "damage":
                self.ends[number] = 0
                self.world.report_damage(number, "t")
            case "disk fails":
                self.failed.add(number)
                self.world.report_damage(number, "t", condition=ReportReplicaStateRequest.OFFLINE)
            case "sync fails":
                self.failed.add(number)
                self.unsynced.add(number)
                before = self.world.partition("t")
                if {*before.isr, *before.elr} - {number}:
                    self.ends[number] //= 2
                self.world.report_damage(
                    number, "t", condition=ReportReplicaStateRequest.SYNC_FAILED
                )
            case "disk works" if number in self.failed - self.unsynced:
                self.failed.discard(number)
                self.world.report_damage(number, "t", condition=ReportReplicaStateRequest.ONLINE)

    def _leave(self, broker: int) -> None:
        partition = self.world.partition("t")
        if partition.leader_id in self.up:
            self.world.alter("t", [one for one in partition.isr if one != broker])

    def _produce(self, *, is_replicated: bool) -> None:
        partition = self.world.partition("t")
        if partition.leader_id not in self.up:
            return
        self.ends[partition.leader_id] += 1
        is_possible = all(one in self.up for one in partition.isr)
        if is_replicated and is_possible and len(partition.isr) >= self.min_isr:
            self.committed = self.ends[partition.leader_id]
            self.ends.update(dict.fromkeys(partition.isr, self.committed))

    def _join(self, broker: int) -> None:
        partition = self.world.partition("t")
        if {broker, partition.leader_id} <= self.up and partition.leader_id is not None:
            if broker not in partition.isr and broker not in self.failed:
                self.ends[broker] = self.ends[partition.leader_id]
            self.world.alter("t", [*{*partition.isr, broker}])

    def _return(self, broker: int, *, is_power_cut: bool) -> None:
        if broker in self.up:
            return
        self.incarnation += 1
        loss = UNFLUSHED if is_power_cut else NOTHING
        reply = self.world.register(broker, incarnation=self.incarnation, start_loss=loss)
        if reply.error.code:  # its last session still runs
            return
        if is_power_cut:
            self.ends[broker] //= 2
        self.up.add(broker)
        self.failed.discard(broker)
        self.unsynced.discard(broker)
        self.check()
        self.world.beat(broker)


@settings(max_examples=300)
@given(
    seed=st.integers(0, 1_000),
    min_isr=st.sampled_from([1, 2]),
    before=st.sampled_from([0, 1, 3]),
    steps=st.lists(_STEPS, max_size=40),
)
def test_who_may_lead_holds_all_that_is_committed(
    new_world: type[World], seed: int, min_isr: int, before: int, steps: list[tuple[str, object]]
) -> None:
    model = Model(new_world(seed), min_isr=min_isr, before=before)
    for step in steps:
        model.take(step)
