"""Stories: what TCP may do to a connection. On sockets only, by Toxiproxy's toxics."""

from __future__ import annotations

from functools import partial
from typing import Protocol, runtime_checkable

from tidelog.chaos.faults.cut import Cut
from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.reach import Reach, both_ways, one_way
from tidelog.chaos.faults.stored_batches import spans
from tidelog.chaos.faults.together import Together
from tidelog.chaos.faults.toxics import (
    Bandwidth,
    Latency,
    LimitData,
    ResetPeer,
    Slicer,
    SlowClose,
    Timeout,
)
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.story.samples import NodeSample
from tidelog.chaos.story.scenario import EVERY_CLIENT, SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ON_THE_WAY_S, ScenarioRun, UnsupportedFaultError
from tidelog.history.history import ACKS_ALL
from tidelog.log.file_names import LOG
from tidelog.v1 import common_pb2

SLOW = "slow"
"""A second group of clients: a consumer whose link is bad."""
HEARTBEAT_MS, HEARTBEAT_JITTER_MS = 1400, 200
LATE_S = (HEARTBEAT_MS - HEARTBEAT_JITTER_MS) / 1000
FENCES_MAX = 1
"""Fencings of a broker in one story: late is not gone."""
BLACKHOLE_S = 1.5
RESET_SHARE = 0.3
SLOW_KILOBYTES_PER_S = 5
SLOW_BEHIND_RECORDS = 500
FAST_BEHIND_RECORDS = 2000
"""Records the producers send within some seconds: a reader that stands still exceeds it soon."""
MEMORY_GROWTH_BYTES_MAX = 64 << 20
LIMIT_BYTES_MIN, LIMIT_BYTES_MAX = 500, 3000
SLOW_CLOSE_MS = 300_000
"""Longer than anybody waits."""
DEAD_PEER_S_MAX = 30.0
"""HTTP/2 keepalive asks after 10 s of silence and waits 5 s for the answer; twice that."""
FILES_SLACK = 8


@runtime_checkable
class Inspected(Protocol):
    """A cluster whose nodes report their memory and files."""

    def sample(self, node_id: int) -> NodeSample | None:
        """The newest; None: it is down."""


@scenario("F31", Needs(runs_on=SOCKETS_ONLY))
async def late_heartbeats(run: ScenarioRun) -> None:
    """Heartbeats reach controllers 1.4 s late: decisions take longer, and no broker flaps."""
    await run.last(0.5, 1.5)
    leader, (follower, _) = run.cast()
    before = len(run.find_log_lines("fenced"))
    paths = one_way(run.cluster.broker_ids, run.cluster.controller_ids)
    reach = Reach(paths, roles=frozenset({"controller"}))
    async with lasting(run, Latency(reach, HEARTBEAT_MS, HEARTBEAT_JITTER_MS)):
        await run.last(2 * run.session_s, 3 * run.session_s)
        async with lasting(run, Cut(both_ways([leader], [follower]))):
            await run.comes(lambda: run.proposed_isr(leader), "the leader asks for another ISR")
            asked_s = run.now_s
            await run.comes(partial(run.is_out, follower), "it is decided")
        took_s = run.now_s - asked_s
        run.expect(took_s >= LATE_S / 2, f"it took {took_s:.2f} s, as long as ever")
        await run.acknowledged_again()
    fences = len(run.find_log_lines("fenced")) - before
    run.facts["brokers fenced"] = str(fences)
    limit = FENCES_MAX * len(run.cluster.broker_ids)
    run.promise(fences <= limit, f"{fences} times a broker was fenced")
    await run.in_sync()


@scenario("F40", Needs(runs_on=SOCKETS_ONLY, clients=EVERY_CLIENT))
async def lost_acks(run: ScenarioRun) -> None:
    """Acks are lost, connections reset: producers retry, and each record is there exactly once."""
    answers = one_way(run.cluster.broker_ids, run.clients)
    for _ in run.rounds(reduced=2, full=20):
        await run.last(0.5, 1.0)
        leader = run.leader
        async with lasting(run, Timeout(Reach(answers))):
            await _appends_unheard(run, leader)
        await run.acknowledged_again()
        async with lasting(run, ResetPeer(Reach(answers, toxicity=RESET_SHARE))):
            await run.last(BLACKHOLE_S, 2 * BLACKHOLE_S)
        await run.acknowledged_again()
    await run.in_sync()


async def _appends_unheard(run: ScenarioRun, leader: int) -> None:
    """The leader appends, and no producer hears of it."""
    end, since_s = run.end(leader), run.now_s + ON_THE_WAY_S
    await run.comes(partial(run.ends_after, leader, end), "appended")
    await run.last(BLACKHOLE_S, 2 * BLACKHOLE_S)
    heard = run.count_answers(common_pb2.NONE, since_s=since_s, acks=ACKS_ALL)
    run.expect(not heard, f"{heard} answers came through")


@scenario("F48", Needs(runs_on=SOCKETS_ONLY, reader_groups=(SLOW,)))
async def slow_consumer(run: ScenarioRun) -> None:
    """A consumer's link carries 5 KB/s in pieces: others read along, brokers' memory stays flat."""
    brokers = run.cluster.broker_ids
    await run.last(0.5, 1.5)
    before = {one: _sample(run, one).rss_bytes for one in brokers}
    reach = Reach(one_way(brokers, [SLOW]))
    slow = Together((Bandwidth(reach, SLOW_KILOBYTES_PER_S), Slicer(reach)))
    async with lasting(run, slow):
        await run.comes(
            lambda: _behind(run, SLOW) > SLOW_BEHIND_RECORDS, "the slow reader falls behind"
        )
        for _ in run.rounds(reduced=5, full=30):
            await run.last(1.0, 1.0)
            others = [one for one in run.cluster.client_groups if one != SLOW]
            behind = max(_behind(run, one) for one in others)
            run.promise(behind < FAST_BEHIND_RECORDS, f"another reader is {behind} behind")
        for one in brokers:
            grown = _sample(run, one).rss_bytes - before[one]
            run.facts[f"node {one} grew by"] = f"{grown >> 20} MiB"
            run.promise(grown < MEMORY_GROWTH_BYTES_MAX, f"node {one} grew by {grown} bytes")
        await run.acknowledged_again()
    await run.must_come(lambda: _behind(run, SLOW) < SLOW_BEHIND_RECORDS, "it catches up")


def _behind(run: ScenarioRun, group: str) -> int:
    """Committed records that the group's reader has not read."""
    name = f"reader-of-{group}-"
    polls = (poll for poll in reversed(run.cluster.history.polls) if poll.process.startswith(name))
    last = next((poll for poll in polls if poll.records), None)
    read = 0 if last is None else last.records[-1][0] + 1
    return run.high_watermark(run.leader) - read


@scenario("F49", Needs(runs_on=SOCKETS_ONLY))
async def sliced_links(run: ScenarioRun) -> None:
    """Everything on every link comes in pieces of 7 ± 3 bytes: all works, slower."""
    await run.last(1.0, 2.0)
    epoch, before_s = run.now.leader_epoch, _median_ack_s(run, 0.0)
    reach = Reach(both_ways(run.cluster.node_ids, [*run.cluster.node_ids, *run.clients]))
    async with lasting(run, Slicer(reach, average_bytes=7, variation_bytes=3, delay_us=100)):
        began_s = run.now_s
        await run.last(3.0, 4.0)
        await run.acknowledged_again()
        after_s = _median_ack_s(run, began_s)
        run.facts["median ack"] = f"{before_s * 1000:.1f} ms, then {after_s * 1000:.1f} ms"
        run.expect(after_s > before_s, "acknowledgements take longer")
    run.promise(run.now.leader_epoch == epoch, "the leader's epoch stands")
    await run.in_sync()


def _median_ack_s(run: ScenarioRun, since_s: float) -> float:
    took_s = sorted(
        send.ended_s - send.invoked_s
        for send in run.cluster.history.sends
        if send.outcome == "ok" and send.ended_s is not None and send.invoked_s >= since_s
    )
    return took_s[len(took_s) // 2] if took_s else 0.0


@scenario("F50", Needs(runs_on=SOCKETS_ONLY))
async def torn_connections(run: ScenarioRun) -> None:
    """Connections end in the midst of requests and fetches: no part of a batch is ever appended."""
    for _ in run.rounds(reduced=3, full=20):
        await run.last(0.5, 1.0)
        leader, followers = run.cast()
        limit_bytes = run.random.randrange(LIMIT_BYTES_MIN, LIMIT_BYTES_MAX)
        heard = len(run.find_log_lines("fetch failed"))
        paths: tuple[Path, ...] = (
            *one_way(run.clients, [leader]),
            *one_way([leader], followers),
        )
        async with lasting(run, LimitData(Reach(paths), limit_bytes)):
            await run.comes(partial(_failed_more, run, heard), "fetches failed")
            await run.last(0.5, 1.0)
        await run.acknowledged_again()
    await run.in_sync()
    await run.hush()
    for node_id in run.now.replicas:
        for path in run.files(node_id, LOG):
            content = run.content(node_id, path)
            whole = max((one.end for one in spans(content)), default=0)
            run.promise(whole == len(content), f"{path} ends in {len(content) - whole} bytes")
    run.load.is_held = False
    await run.acknowledged_again()


def _failed_more(run: ScenarioRun, failed: int) -> bool:
    return len(run.find_log_lines("fetch failed")) > failed


@scenario("F51", Needs(runs_on=SOCKETS_ONLY))
async def half_open_connections(run: ScenarioRun) -> None:
    """A peer is gone and its connections stay, half open: keepalive finds out, and they end."""
    for _ in run.rounds(reduced=1, full=3):
        await run.hush()  # Else segments are opened meanwhile.
        await run.last(0.5, 1.0)
        leader, (follower, _) = run.cast()
        before = _sample(run, leader).open_files
        reach = Reach(both_ways([leader], [follower]))
        async with lasting(run, SlowClose(reach, SLOW_CLOSE_MS)):
            await run.kill(follower)
            await run.last(1.0, 1.0)
            files = _sample(run, leader).open_files
            run.expect(files >= before, f"{before} files, then {files}: they were noticed")
            gone_s = run.now_s
            await run.must_come(partial(_has_files, run, leader, before - 1), "dead peer found")
            took_s = run.now_s - gone_s
            run.promise(took_s < DEAD_PEER_S_MAX, f"found after {took_s:.1f} s")
        await run.start(follower)
        await run.in_sync()
        await run.must_come(
            partial(_has_files, run, leader, before + FILES_SLACK), "files come back"
        )
        run.load.is_held = False
        await run.acknowledged_again()


def _has_files(run: ScenarioRun, node_id: int, limit: int) -> bool:
    """So many open at most."""
    return _sample(run, node_id).open_files <= limit


def _sample(run: ScenarioRun, node_id: int) -> NodeSample:
    if not isinstance(run.cluster, Inspected):
        raise UnsupportedFaultError("only processes report their memory and files")
    sample = run.cluster.sample(node_id)
    if sample is None:
        raise LookupError(f"node {node_id} does not answer")
    return sample
