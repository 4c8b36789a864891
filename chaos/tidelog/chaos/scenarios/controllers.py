"""Stories: the quorum of controllers. Brokers are nodes of their own, and lead on without it."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.slow_disks import SlowDisks
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scene import ON_THE_WAY_S, Scene
from tidelog.history.history import ACKS_ALL
from tidelog.raft.wal import read_wal
from tidelog.v1 import common_pb2

KILLS = 3
ACTIVE_S_MAX = 6.0
DECIDED_S_MAX = 10.0
UNDECIDED_S = 4.0
PAUSED_S = 10.0
SLOW_SYNC_S = (0.2, 0.3, 1.0, 2.0)
SLOW_S = 6.0
"""With disks that are as slow as each of these."""
SILENCE_S_MAX = 3.0
"""Between two acknowledgements, while only controllers are gone."""
TERMS_MAX = 3
"""Terms of a quorum that two members make restless, in ten seconds."""
TORN_BYTES = 100


@scenario("F21")
async def controller_killed(scene: Scene) -> None:
    """The active controller is killed, thrice: another one takes over, and writes go on."""
    for _ in range(KILLS):
        await scene.last(0.3, 1.0)
        controller, others = await quorum(scene)
        await scene.kill(controller)
        await takes_over(scene, others)
        await writes_go_on(scene, 1.0)
        await decides(scene)
        await scene.start(controller)
        await follows(scene, controller)


@scenario("F22")
async def controller_cut_off(scene: Scene) -> None:
    """The active controller is cut from the others, not from brokers: another one decides."""
    await scene.last(0.5, 1.5)
    zombie, others = await quorum(scene)
    paths = scene.between([zombie], others)
    await scene.cut(paths)
    is_active = scene.cluster.is_active
    await scene.comes(
        lambda: any(map(is_active, others)) or not is_active(zombie), "the quorum notices"
    )
    await takes_over(scene, others)
    await scene.must_come(lambda: not is_active(zombie), "the old one steps down")
    await decides(scene)
    await writes_go_on(scene, 2.0)
    await scene.mend(paths)
    await follows(scene, zombie)
    await scene.in_sync()


@scenario("F23")
async def controller_paused(scene: Scene) -> None:
    """The active controller is paused for 10 s and goes on as a zombie: it decides nothing."""
    await scene.last(0.5, 1.5)
    zombie, others = await quorum(scene)
    await scene.pause(zombie)
    await takes_over(scene, others)
    await decides(scene)
    await writes_go_on(scene, PAUSED_S)
    scene.expect(scene.cluster.is_active(zombie), "it believes to be active when it goes on")
    await scene.resume(zombie)
    await follows(scene, zombie)
    await scene.in_sync()


@scenario("F24")
async def two_controllers_deaf(scene: Scene) -> None:
    """Two controllers do not hear each other, the third hears both: one stays active, few terms."""
    await scene.last(0.5, 1.5)
    controller, (deaf, _) = await quorum(scene)
    term = scene.cluster.term(controller)
    paths = scene.between([controller], [deaf])
    await scene.cut(paths)
    await writes_go_on(scene, 10.0)
    await scene.must_come(lambda: scene.cluster.controller_id is not None, "one is active")
    await decides(scene)
    terms = max(map(scene.cluster.term, scene.cluster.controller_ids)) - term
    scene.facts["terms"] = str(terms)
    await scene.comes(
        lambda: terms or scene.cluster.metadata_offset(deaf) < scene.image.offset,
        "one of them missed what was decided",
    )
    scene.promise(terms <= TERMS_MAX, f"few terms: {terms}")
    await scene.mend(paths)
    await follows(scene, deaf)
    await scene.in_sync()


@scenario("F25")
async def no_quorum(scene: Scene) -> None:
    """Two of three controllers are gone: known leaders take writes on, and nothing is decided."""
    await scene.last(0.5, 1.5)
    controller, (other, alone) = await quorum(scene)
    await scene.kill(controller, other)
    await scene.last(ON_THE_WAY_S, ON_THE_WAY_S)
    offset = scene.image.offset
    await writes_go_on(scene, 2.0)
    is_decided = await scene.load.decide(scene.topic, within_s=UNDECIDED_S)
    scene.promise(not is_decided, "a metadata operation is not answered")
    scene.promise(scene.cluster.metadata_offset(alone) == offset, "nothing is committed")
    await scene.start(controller, other)
    await takes_over(scene, [controller, other, alone])
    await decides(scene)
    await scene.in_sync()
    await scene.acknowledged_again()


@scenario("F26")
async def controllers_restart(scene: Scene) -> None:
    """The controllers are killed and start together: no term decreases, no metadata is lost."""
    for _ in scene.rounds(reduced=3, full=1000):
        await scene.last(0.3, 1.0)
        controller, others = await quorum(scene)
        offset, term = scene.image.offset, scene.cluster.term(controller)
        await scene.kill(controller, *others)
        for node_id in scene.shuffled([controller, *others]):
            await scene.start(node_id)
            await scene.last(0.0, 0.5)
        await takes_over(scene, [controller, *others])
        for node_id in (controller, *others):
            await follows(scene, node_id)
        scene.promise(scene.image.offset >= offset, f"metadata up to {offset} is there")
        now_term = scene.cluster.term(controller)
        scene.promise(now_term > term, f"no term goes back: {term}, {now_term}")
        await decides(scene)
    await scene.in_sync()
    await scene.acknowledged_again()


@scenario("F29", Needs(is_damaging=True))
async def spoilt_journal(scene: Scene) -> None:
    """A journal has a torn tail: that is cleared; then a wrong bit: it is refused, and replaced."""
    _, (victim, _) = await quorum(scene)
    journal = scene.cluster.journal(victim)
    await scene.kill(victim)
    end, piece = _half_a_frame(scene.content(victim, journal))
    await scene.tear(victim, journal, end, piece)
    await decides(scene)
    await scene.start(victim)
    await follows(scene, victim)
    await scene.kill(victim)
    written = len(scene.content(victim, journal).rstrip(b"\0"))
    await scene.flip(victim, journal, scene.random.randrange(0, written))
    await scene.start(victim)
    await scene.must_come(lambda: not scene.is_up(victim), "it does not start on a damaged journal")
    await scene.kill(victim)
    await scene.wipe(victim)
    await scene.start(victim)
    await follows(scene, victim)
    await decides(scene)


@scenario("slow-majority", Needs(is_flushed=False))
async def slow_majority(scene: Scene) -> None:
    """Disks take 0.2, 0.3, 1, 2 s a sync: nobody is elected, topics are created, writes go on."""
    await scene.last(0.5, 1.5)
    controller, others = await quorum(scene)
    for node_id in others:
        await follows(scene, node_id)
    voters, term, fenced = (
        [controller, *others],
        scene.cluster.term(controller),
        len(_fenced(scene)),
    )
    for sync_s in SLOW_SYNC_S:
        async with lasting(scene, SlowDisks(tuple(scene.cluster.node_ids), sync_s)):
            slowest_s = await _changes_go_on(scene, sync_s)
            await scene.acknowledged_again()
        terms = {scene.cluster.term(node_id) for node_id in voters}
        scene.promise(terms == {term}, f"term {term} goes on with {sync_s} s a sync: {terms}")
        scene.promise(len(_fenced(scene)) == fenced, f"no broker is fenced with {sync_s} s a sync")
        scene.expect(slowest_s >= sync_s, f"changes wait for {sync_s} s a sync: {slowest_s:.2f} s")
    await scene.in_sync()
    await scene.acknowledged_again()


async def _changes_go_on(scene: Scene, sync_s: float) -> float:
    """A topic is created, a configuration changed again and again; how long the slowest took."""
    began_s = scene.now_s
    await creates(scene, f"slow-{sync_s:g}")
    slowest_s = scene.now_s - began_s
    while scene.now_s < began_s + SLOW_S:
        slowest_s = max(slowest_s, await decides(scene))
        await scene.last(0.0, 0.3)
    return slowest_s


def _fenced(scene: Scene) -> list[LogLine]:
    return scene.logged("silent brokers fenced")


def _half_a_frame(journal: bytes) -> tuple[int, bytes]:
    """Position of the next frame, and the beginning of one."""
    frames = [
        frame for frame, _ in read_wal(lambda at, length: journal[at : at + length], len(journal))
    ]
    last = frames[-1]
    return last.end, journal[last.position : last.position + TORN_BYTES]


async def quorum(scene: Scene) -> tuple[int, list[int]]:
    """Wait for a controller; the active controller and the others."""
    await scene.comes(lambda: scene.cluster.controller_id is not None, "a controller is active")
    controller = scene.cluster.controller_id
    assert controller is not None
    return controller, [one for one in scene.cluster.controller_ids if one != controller]


async def takes_over(scene: Scene, candidates: list[int]) -> None:
    """Wait until a candidate becomes active."""
    await scene.must_come(
        lambda: any(map(scene.cluster.is_active, candidates)),
        "a controller is active again",
        within_s=ACTIVE_S_MAX,
    )


async def follows(scene: Scene, node_id: int) -> None:
    """It has the metadata of the others, in their term."""
    await scene.must_come(partial(_has_caught_up, scene, node_id), "a controller has caught up")


def _has_caught_up(scene: Scene, node_id: int) -> bool:
    cluster = scene.cluster
    is_one = cluster.controller_id == node_id or not cluster.is_active(node_id)
    terms = {cluster.term(one) for one in cluster.controller_ids}
    return is_one and len(terms) == 1 and cluster.metadata_offset(node_id) >= scene.image.offset


async def decides(scene: Scene) -> float:
    """A metadata operation is done; how many seconds that took."""
    began_s = scene.now_s
    within_s = DECIDED_S_MAX * scene.cluster.patience
    scene.promise(await scene.load.decide(scene.topic, within_s=within_s), "metadata changes")
    took_s = scene.now_s - began_s
    scene.took("metadata changes", took_s)
    return took_s


async def creates(scene: Scene, topic: str) -> None:
    """A topic is created, and controllers know it."""
    within_s = DECIDED_S_MAX * scene.cluster.patience
    scene.promise(await scene.load.create(topic, within_s=within_s), f"{topic} is created")
    await scene.must_come(lambda: topic in scene.image.topics, f"{topic} is known")


async def writes_go_on(scene: Scene, for_s: float) -> None:
    """With acks=all: brokers need no controller for that. The longest silence is a fact."""
    since_s = scene.now_s
    await scene.last(for_s, for_s)
    good = [one for one in scene.cluster.answers if one.code == common_pb2.NONE]
    at_s = [one.at_s for one in good if one.acks == ACKS_ALL and one.at_s >= since_s]
    ends = [since_s, *at_s, scene.now_s]
    silence_s = max(later - sooner for sooner, later in pairwise(ends))
    scene.took("longest silence", silence_s)
    scene.promise(silence_s <= SILENCE_S_MAX * scene.cluster.patience, f"silent for {silence_s} s")
