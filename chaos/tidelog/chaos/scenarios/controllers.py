"""Stories: the quorum of controllers. Brokers are nodes of their own, and lead on without it."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.slow_disks import SlowDisks
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scenario_run import ON_THE_WAY_S, ScenarioRun
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
async def controller_killed(run: ScenarioRun) -> None:
    """The active controller is killed, thrice: another one takes over, and writes go on."""
    for _ in range(KILLS):
        await run.last(0.3, 1.0)
        controller, others = await quorum(run)
        await run.kill(controller)
        await takes_over(run, others)
        await writes_go_on(run, 1.0)
        await decides(run)
        await run.start(controller)
        await follows(run, controller)


@scenario("F22")
async def controller_cut_off(run: ScenarioRun) -> None:
    """The active controller is cut from the others, not from brokers: another one decides."""
    await run.last(0.5, 1.5)
    zombie, others = await quorum(run)
    paths = run.between([zombie], others)
    await run.cut(paths)
    is_active = run.cluster.is_active
    await run.comes(
        lambda: any(map(is_active, others)) or not is_active(zombie), "the quorum notices"
    )
    await takes_over(run, others)
    await run.must_come(lambda: not is_active(zombie), "the old one steps down")
    await decides(run)
    await writes_go_on(run, 2.0)
    await run.mend(paths)
    await follows(run, zombie)
    await run.in_sync()


@scenario("F23")
async def controller_paused(run: ScenarioRun) -> None:
    """The active controller is paused for 10 s and goes on as a zombie: it decides nothing."""
    await run.last(0.5, 1.5)
    zombie, others = await quorum(run)
    await run.pause(zombie)
    await takes_over(run, others)
    await decides(run)
    await writes_go_on(run, PAUSED_S)
    run.expect(run.cluster.is_active(zombie), "it believes to be active when it goes on")
    await run.resume(zombie)
    await follows(run, zombie)
    await run.in_sync()


@scenario("F24")
async def two_controllers_deaf(run: ScenarioRun) -> None:
    """Two controllers do not hear each other, the third hears both: one stays active, few terms."""
    await run.last(0.5, 1.5)
    controller, (deaf, _) = await quorum(run)
    term = run.cluster.term(controller)
    paths = run.between([controller], [deaf])
    await run.cut(paths)
    await writes_go_on(run, 10.0)
    await run.must_come(lambda: run.cluster.controller_id is not None, "one is active")
    await decides(run)
    terms = max(map(run.cluster.term, run.cluster.controller_ids)) - term
    run.facts["terms"] = str(terms)
    await run.comes(
        lambda: terms or run.cluster.metadata_offset(deaf) < run.image.offset,
        "one of them missed what was decided",
    )
    run.promise(terms <= TERMS_MAX, f"few terms: {terms}")
    await run.mend(paths)
    await follows(run, deaf)
    await run.in_sync()


@scenario("F25")
async def no_quorum(run: ScenarioRun) -> None:
    """Two of three controllers are gone: known leaders take writes on, and nothing is decided."""
    await run.last(0.5, 1.5)
    controller, (other, alone) = await quorum(run)
    await run.kill(controller, other)
    await run.last(ON_THE_WAY_S, ON_THE_WAY_S)
    offset = run.image.offset
    await writes_go_on(run, 2.0)
    is_decided = await run.load.decide(run.topic, within_s=UNDECIDED_S)
    run.promise(not is_decided, "a metadata operation is not answered")
    run.promise(run.cluster.metadata_offset(alone) == offset, "nothing is committed")
    await run.start(controller, other)
    await takes_over(run, [controller, other, alone])
    await decides(run)
    await run.in_sync()
    await run.acknowledged_again()


@scenario("F26")
async def controllers_restart(run: ScenarioRun) -> None:
    """The controllers are killed and start together: no term decreases, no metadata is lost."""
    for _ in run.rounds(reduced=3, full=1000):
        await run.last(0.3, 1.0)
        controller, others = await quorum(run)
        offset, term = run.image.offset, run.cluster.term(controller)
        await run.kill(controller, *others)
        for node_id in run.shuffled([controller, *others]):
            await run.start(node_id)
            await run.last(0.0, 0.5)
        await takes_over(run, [controller, *others])
        for node_id in (controller, *others):
            await follows(run, node_id)
        run.promise(run.image.offset >= offset, f"metadata up to {offset} is there")
        now_term = run.cluster.term(controller)
        run.promise(now_term > term, f"no term goes back: {term}, {now_term}")
        await decides(run)
    await run.in_sync()
    await run.acknowledged_again()


@scenario("F29", Needs(is_damaging=True))
async def spoilt_journal(run: ScenarioRun) -> None:
    """A journal has a torn tail: that is cleared; then a wrong bit: it is refused, and replaced."""
    _, (victim, _) = await quorum(run)
    journal = run.cluster.journal(victim)
    await run.kill(victim)
    end, piece = _half_a_frame(run.content(victim, journal))
    await run.tear(victim, journal, end, piece)
    await decides(run)
    await run.start(victim)
    await follows(run, victim)
    await run.kill(victim)
    written = len(run.content(victim, journal).rstrip(b"\0"))
    await run.flip(victim, journal, run.random.randrange(0, written))
    await run.start(victim)
    await run.must_come(lambda: not run.is_up(victim), "it does not start on a damaged journal")
    await run.kill(victim)
    await run.wipe(victim)
    await run.start(victim)
    await follows(run, victim)
    await decides(run)


@scenario("slow-majority", Needs(is_flushed=False))
async def slow_majority(run: ScenarioRun) -> None:
    """Disks take 0.2, 0.3, 1, 2 s a sync: nobody is elected, topics are created, writes go on."""
    await run.last(0.5, 1.5)
    controller, others = await quorum(run)
    for node_id in others:
        await follows(run, node_id)
    voters, term, fenced = (
        [controller, *others],
        run.cluster.term(controller),
        len(_find_fenced(run)),
    )
    for sync_s in SLOW_SYNC_S:
        async with lasting(run, SlowDisks(tuple(run.cluster.node_ids), sync_s)):
            slowest_s = await _changes_go_on(run, sync_s)
            await run.acknowledged_again()
        terms = {run.cluster.term(node_id) for node_id in voters}
        run.promise(terms == {term}, f"term {term} goes on with {sync_s} s a sync: {terms}")
        run.promise(len(_find_fenced(run)) == fenced, f"no broker is fenced with {sync_s} s a sync")
        run.expect(slowest_s >= sync_s, f"changes wait for {sync_s} s a sync: {slowest_s:.2f} s")
    await run.in_sync()
    await run.acknowledged_again()


async def _changes_go_on(run: ScenarioRun, sync_s: float) -> float:
    """A topic is created, a configuration changed again and again; how long the slowest took."""
    began_s = run.now_s
    await creates(run, f"slow-{sync_s:g}")
    slowest_s = run.now_s - began_s
    while run.now_s < began_s + SLOW_S:
        slowest_s = max(slowest_s, await decides(run))
        await run.last(0.0, 0.3)
    return slowest_s


def _find_fenced(run: ScenarioRun) -> list[LogLine]:
    return run.find_log_lines("silent brokers fenced")


def _half_a_frame(journal: bytes) -> tuple[int, bytes]:
    """Position of the next frame, and the beginning of one."""
    frames = [
        frame for frame, _ in read_wal(lambda at, length: journal[at : at + length], len(journal))
    ]
    last = frames[-1]
    return last.end, journal[last.position : last.position + TORN_BYTES]


async def quorum(run: ScenarioRun) -> tuple[int, list[int]]:
    """Wait for a controller; the active controller and the others."""
    await run.comes(lambda: run.cluster.controller_id is not None, "a controller is active")
    controller = run.cluster.controller_id
    assert controller is not None
    return controller, [one for one in run.cluster.controller_ids if one != controller]


async def takes_over(run: ScenarioRun, candidates: list[int]) -> None:
    """Wait until a candidate becomes active."""
    await run.must_come(
        lambda: any(map(run.cluster.is_active, candidates)),
        "a controller is active again",
        within_s=ACTIVE_S_MAX,
    )


async def follows(run: ScenarioRun, node_id: int) -> None:
    """It has the metadata of the others, in their term."""
    await run.must_come(partial(_has_caught_up, run, node_id), "a controller has caught up")


def _has_caught_up(run: ScenarioRun, node_id: int) -> bool:
    cluster = run.cluster
    is_one = cluster.controller_id == node_id or not cluster.is_active(node_id)
    terms = {cluster.term(one) for one in cluster.controller_ids}
    return is_one and len(terms) == 1 and cluster.metadata_offset(node_id) >= run.image.offset


async def decides(run: ScenarioRun) -> float:
    """A metadata operation is done; how many seconds that took."""
    began_s = run.now_s
    within_s = DECIDED_S_MAX * run.cluster.patience
    run.promise(await run.load.decide(run.topic, within_s=within_s), "metadata changes")
    took_s = run.now_s - began_s
    run.took("metadata changes", took_s)
    return took_s


async def creates(run: ScenarioRun, topic: str) -> None:
    """A topic is created, and controllers know it."""
    within_s = DECIDED_S_MAX * run.cluster.patience
    run.promise(await run.load.create(topic, within_s=within_s), f"{topic} is created")
    await run.must_come(lambda: topic in run.image.topics, f"{topic} is known")


async def writes_go_on(run: ScenarioRun, for_s: float) -> None:
    """With acks=all: brokers need no controller for that. The longest silence is a fact."""
    since_s = run.now_s
    await run.last(for_s, for_s)
    good = [one for one in run.cluster.answers if one.code == common_pb2.NONE]
    at_s = [one.at_s for one in good if one.acks == ACKS_ALL and one.at_s >= since_s]
    ends = [since_s, *at_s, run.now_s]
    silence_s = max(later - sooner for sooner, later in pairwise(ends))
    run.took("longest silence", silence_s)
    run.promise(silence_s <= SILENCE_S_MAX * run.cluster.patience, f"silent for {silence_s} s")
