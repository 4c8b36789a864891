"""Stories: strangers at the ports, who send what no client sends. On sockets alone.

Nothing they do may change anything, and clients go on all the while. The metadata but for the ids
that were given out, the processes, their memory and their connections are compared with what they
were before; that no record of a stranger's is ever read is the history's to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tidelog.chaos.scenarios.strangers import HasStrangers, Strangers, Vitals
from tidelog.chaos.story.scenario import SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun, UnsupportedFaultError
from tidelog.chaos.workloads.tally import Tally
from tidelog.metadata.image import MetadataImage
from tidelog.net.unread_responses import UnreadLimits

IMPATIENT: Mapping[str, object] = {"connections.max.idle.ms": 3_000}
"""So that a run sees who is idle hung up on."""
UNHURRIED: Mapping[str, object] = {
    **IMPATIENT,
    "broker.session.timeout.ms": 9_000,
    "replica.lag.time.max.ms": 30_000,
}
"""As Kafka has them by default: strangers who reset calls by the hundred take all of two cores, and
heartbeats are seconds late then. That is a busy machine's, and another scenario's."""
UNREAD_TIMEOUT_S = 4.0
FORGETFUL: Mapping[str, object] = {"unread.response.timeout.ms": int(UNREAD_TIMEOUT_S * 1000)}
"""So that a run sees who reads nothing hung up on."""
MIB = 1 << 20
GROWTH_BYTES_MAX = 96 * MIB
"""Growth of a node's memory from after the first requests to the end, however many came between."""
PEAK_BYTES_MAX = 320 * MIB
"""Above what it was: requests of 16 MiB, of which a few are worked on at one time."""
HELD_BYTES_MIN = 8 * MIB
"""Unread: fewer prove nothing."""
HELD_BYTES_MAX = UnreadLimits().bytes_max + UnreadLimits().of_others.bytes_max
"""Responses to fetches and to other calls, as nodes are configured by default."""
CONNECTIONS_MORE_MAX = 40
WARM_UP = 2_000
REDUCED_ROUND, FULL_ROUND = (10_000, 500), (97_000, 3_000)
"""Malformed requests, and connections on which noise is made."""
REDUCED_FRAMES, FULL_FRAMES = 10_000, 100_000
"""Malformed frames of Kafka's protocol in a round."""
WIDE_S, WIDE_WARM_UP_S = 15.0, 5.0
OPEN_CONNECTIONS = 2_000
KAFKA_CONNECTIONS = 10_000
"""Half-open, at listeners of Kafka's protocol; a fifth of them in reduced rounds."""
SHED_SHARE_MAX = 0.01
"""Share of calls: noise opens thousands at once, and a full queue takes no more."""
UNREAD_CALLS, UNREAD_BYTES_MAX = 300, 128 * MIB
"""Fetches of 8 MiB, and all that a broker's memory may grow by for them."""
HOLDING_CONNECTIONS, HOLDING_S = 300, 15.0
"""Connections of all kinds, over all brokers."""
HOLDING_BYTES_MAX = 256 * MIB
"""As docs/GUARANTEES.md says."""
SETTLED_S_MAX = 20.0
P99_TIMES_MAX, P99_S_MAX = 2.0, 1.0
"""While strangers wait; the second is what a machine with two cores and no rest may take anyway."""
FLOODED_S_MAX = 10.0
"""While ten thousand connect at once: they, the nodes and the clients share two cores."""
_P99 = 0.99


@scenario("F55", Needs(runs_on=SOCKETS_ONLY, settings=UNHURRIED, has_kafka_listeners=True))
async def malformed_requests(run: ScenarioRun) -> None:
    """A million malformed requests and raw bytes change nothing, stop nothing, and stay with none.

    Each is answered with a typed error, within a bound, while clients go on.
    """
    strangers, seed = _strangers(run), run.random.randrange(0, 2**32)
    before = run.image
    run.cluster.count("malformed", f"seed {seed}")
    warm_up, place = await strangers.send_malformed(seed=seed, first=0, requests=WARM_UP)
    settled = _vitals(run, strangers)
    tallies = [warm_up]
    connections = frames = 0
    kafka_place = 0
    malformed, noisy = FULL_ROUND if run.cluster.is_full else REDUCED_ROUND
    for _ in run.rounds(reduced=1, full=10):
        (sent, place), noise = await asyncio.gather(
            strangers.send_malformed(seed=seed, first=place, requests=malformed),
            strangers.make_noise(seed=seed, first=connections, connections=noisy),
        )
        framed, kafka_place = await strangers.at_kafka.send_malformed(
            seed=seed,
            first=kafka_place,
            frames=FULL_FRAMES if run.cluster.is_full else REDUCED_FRAMES,
        )
        frames += framed.requests
        run.facts["malformed frames of Kafka's protocol"] = f"{frames:,}"
        run.expect(framed.by_status["answered"], "some frames were answered")
        run.expect(framed.by_status["hung up"], "some were hung up on")
        _all_is_well(run, [framed])
        connections += noisy
        tallies += [sent, noise]
        run.facts["malformed requests"] = f"{sum(one.requests for one in tallies):,}"
        run.facts["noisy connections"] = f"{connections:,}"
        shed, calls = (sum(getattr(one, name) for one in tallies) for name in ("shed", "calls"))
        run.facts["calls shed by full queues"] = f"{shed:,} of {calls:,}"
        run.promise(shed <= SHED_SHARE_MAX * calls, f"{shed} of {calls} calls were shed")
        decided = sum(one.decided for one in tallies)
        run.facts["looked into by controllers"] = f"{decided:,}"
        run.expect(decided, "controllers looked further than at the cluster's id")
        _all_is_well(run, [sent, noise])
        await run.acknowledged_again()
    run.cluster.over("malformed", f"seed {seed}")
    _all_is_well(run, tallies)
    await _is_as_before(run, strangers, before, settled)


@scenario("F56", Needs(runs_on=SOCKETS_ONLY, has_kafka_listeners=True))
async def oversized_requests(run: ScenarioRun) -> None:
    """Requests for too much are refused with a definite error, in bounded memory."""
    strangers, before = _strangers(run), run.image
    settled = _vitals(run, strangers)
    for _ in run.rounds(reduced=1, full=10):
        run.cluster.count("oversized")
        tally = await strangers.ask_too_much()
        run.cluster.over("oversized")
        run.facts["oversized requests"] = f"{tally.requests}"
        at_kafka = await strangers.at_kafka.ask_too_much()
        run.facts["oversized frames of Kafka's protocol"] = f"{at_kafka.requests}"
        _all_is_well(run, [tally, at_kafka])
        await run.acknowledged_again()
    peak = max(
        strangers.vitals(node_id).peak_rss_bytes - vitals.rss_bytes
        for node_id, vitals in settled.items()
    )
    run.facts["peak of memory above before"] = f"{peak / MIB:.0f} MiB"
    run.promise(peak <= PEAK_BYTES_MAX, f"a node took {peak / MIB:.0f} MiB more at its peak")
    await _is_as_before(run, strangers, before, settled)


@scenario("F57", Needs(runs_on=SOCKETS_ONLY, settings=UNHURRIED, has_kafka_listeners=True))
async def wide_requests(run: ScenarioRun) -> None:
    """Strangers name 30,000 partitions in each request: no broker is fenced, sends go on.

    They ask on both kinds of listeners of every broker, and all are answered.
    """
    strangers, before = _strangers(run), run.image
    # The first ones have a node take memory that it keeps for the next ones.
    await asyncio.gather(
        strangers.ask_widely(seconds=WIDE_WARM_UP_S),
        strangers.at_kafka.ask_widely(seconds=WIDE_WARM_UP_S),
    )
    settled = _vitals(run, strangers)
    fenced = len(run.find_log_lines("silent brokers fenced"))
    answered = 0
    for _ in run.rounds(reduced=1, full=10):
        run.cluster.count("wide", f"{WIDE_S:.0f} s")
        began_s = run.now_s
        tallies = await asyncio.gather(
            strangers.ask_widely(seconds=WIDE_S), strangers.at_kafka.ask_widely(seconds=WIDE_S)
        )
        run.cluster.over("wide", f"{WIDE_S:.0f} s")
        answered += sum(one.by_status["answered"] for one in tallies)
        run.facts["wide requests"] = f"{answered:,}"
        run.expect(all(one.by_status["answered"] for one in tallies), "both kinds are answered")
        run.promise(list(_durations_s(run, since_s=began_s)), "sends go on")
        _all_is_well(run, tallies)
        await run.acknowledged_again()
    now = len(run.find_log_lines("silent brokers fenced"))
    run.promise(now == fenced, "no broker is fenced")
    await _is_as_before(run, strangers, before, settled)


@scenario("F58", Needs(runs_on=SOCKETS_ONLY, settings=IMPATIENT, has_kafka_listeners=True))
async def slow_loris(run: ScenarioRun) -> None:
    """Two thousand connections that say nothing, or half of a greeting: clients go on, they go."""
    strangers, before = _strangers(run), run.image
    settled = _vitals(run, strangers)
    await run.last(3.0, 3.0)
    usual_s = _p99_s(run, _durations_s(run, since_s=run.now_s - 3.0))
    waiting: list[float] = []
    flooded: list[float] = []
    for _ in run.rounds(reduced=1, full=5):
        began_s = run.now_s
        run.cluster.count("slow-loris", f"{OPEN_CONNECTIONS} connections")
        tally = await strangers.connect_and_wait(connections=OPEN_CONNECTIONS)
        run.cluster.over("slow-loris", f"{OPEN_CONNECTIONS} connections")
        _all_is_well(run, [tally])
        run.expect(tally.requests == OPEN_CONNECTIONS, "all were connected")
        waiting += _durations_s(run, since_s=began_s)
        began_s = run.now_s
        half_open = KAFKA_CONNECTIONS // (1 if run.cluster.is_full else 5)
        at_kafka = await strangers.at_kafka.connect_and_wait(connections=half_open)
        run.facts["half-open connections of Kafka's protocol"] = f"{at_kafka.requests:,}"
        _all_is_well(run, [at_kafka])
        flooded += _durations_s(run, since_s=began_s)
    then_s, flooded_s = _p99_s(run, waiting), _p99_s(run, flooded)
    run.facts["p99 of sends before"] = f"{usual_s * 1000:.0f} ms"
    run.facts["p99 of sends while strangers wait"] = f"{then_s * 1000:.0f} ms"
    run.facts["p99 of sends while Kafka's listeners are flooded"] = f"{flooded_s * 1000:.0f} ms"
    limit_s = max(P99_TIMES_MAX * usual_s, P99_S_MAX)
    run.promise(then_s <= limit_s, f"p99 was {then_s:.2f} s, before {usual_s:.2f} s")
    run.promise(flooded_s <= FLOODED_S_MAX, f"p99 was {flooded_s:.2f} s, before {usual_s:.2f} s")
    await _is_as_before(run, strangers, before, settled)


@scenario("unread", Needs(runs_on=SOCKETS_ONLY, settings=FORGETFUL))
async def unread_answers(run: ScenarioRun) -> None:
    """300 fetches of 8 MiB that nobody reads: memory stays bounded, clients go on, they are cut."""
    strangers = _strangers(run)
    await run.last(3.0, 3.0)
    began_s = run.now_s
    usual_s = _p99_s(run, _durations_s(run, since_s=began_s - 3.0))
    for _ in run.rounds(reduced=1, full=5):
        run.cluster.count("unread", f"{UNREAD_CALLS} fetches")
        unread = await strangers.leave_unread(calls=UNREAD_CALLS, within_s=15 * UNREAD_TIMEOUT_S)
        run.cluster.over("unread", f"{UNREAD_CALLS} fetches")
        run.facts["peak of memory above before"] = f"{unread.peak_bytes / MIB:.0f} MiB"
        run.facts["growth of memory"] = f"{unread.left_bytes / MIB:.0f} MiB"
        run.facts["answers that waited"] = f"{unread.held_bytes / MIB:.0f} MiB"
        run.expect(unread.held_bytes >= HELD_BYTES_MIN, "answers waited to be read")
        held = f"{unread.held_bytes / MIB:.0f} MiB of answers waited"
        run.promise(unread.held_bytes <= HELD_BYTES_MAX, held)
        grown = f"memory grew by {unread.peak_bytes / MIB:.0f} MiB"
        run.promise(unread.peak_bytes <= UNREAD_BYTES_MAX, grown)
        all_closed = unread.closed == unread.connections
        run.promise(all_closed, f"{unread.closed} of {unread.connections} were hung up on")
        await run.acknowledged_again()
    then_s = _p99_s(run, _durations_s(run, since_s=began_s))
    run.facts["p99 of sends before"] = f"{usual_s * 1000:.0f} ms"
    run.facts["p99 of sends while answers lie unread"] = f"{then_s * 1000:.0f} ms"
    limit_s = max(P99_TIMES_MAX * usual_s, P99_S_MAX)
    run.promise(then_s <= limit_s, f"p99 was {then_s:.2f} s, before {usual_s:.2f} s")


@scenario(
    "F59",
    Needs(
        runs_on=SOCKETS_ONLY,
        settings={**FORGETFUL, "unfinished.request.timeout.ms": 4_000},
        has_kafka_listeners=True,
    ),
)
async def held_rooms(run: ScenarioRun) -> None:
    """Slow frames, unread answers, joins that wait: memory is bounded, all others are answered."""
    strangers = _strangers(run)
    settled = _vitals(run, strangers)
    for _ in run.rounds(reduced=1, full=5):
        run.cluster.count("holding", f"{HOLDING_CONNECTIONS} connections")
        tally = await strangers.at_kafka.hold(connections=HOLDING_CONNECTIONS, for_s=HOLDING_S)
        run.cluster.over("holding", f"{HOLDING_CONNECTIONS} connections")
        run.facts["answered beside"] = f"{tally.calls:,}"
        run.expect(tally.calls, "others asked beside")
        run.expect(tally.by_status["hung up"], "some were hung up on")
        _all_is_well(run, [tally])
        await run.acknowledged_again()
    peak = max(
        strangers.vitals(node_id).peak_rss_bytes - vitals.rss_bytes
        for node_id, vitals in settled.items()
    )
    run.facts["peak of memory above before"] = f"{peak / MIB:.0f} MiB"
    run.promise(peak <= HOLDING_BYTES_MAX, f"a node took {peak / MIB:.0f} MiB more at its peak")


def _strangers(run: ScenarioRun) -> Strangers:
    if not isinstance(run.cluster, HasStrangers):
        raise UnsupportedFaultError("only a cluster of processes has ports for strangers")
    return run.cluster.strangers


def _vitals(run: ScenarioRun, strangers: Strangers) -> dict[int, Vitals]:
    return {node_id: strangers.vitals(node_id) for node_id in run.cluster.node_ids}


def _all_is_well(run: ScenarioRun, tallies: Sequence[Tally]) -> None:
    findings = [finding for one in tallies for finding in one.findings]
    count = sum(one.findings_count for one in tallies)
    run.promise(not count, f"{count} requests were not answered well: {findings[:5]}")
    failed = run.find_log_lines("request failed")
    run.promise(not failed, f"handlers failed: {failed[:3]}")


async def _is_as_before(
    run: ScenarioRun, strangers: Strangers, before: MetadataImage, settled: Mapping[int, Vitals]
) -> None:
    """Metadata, processes, memory and connections."""
    await run.cluster.look()
    now = run.image
    run.promise(_essence(now) == _essence(before), f"metadata is {now}, was {before}")

    def has_few_connections() -> bool:
        return all(
            strangers.vitals(node_id).connections <= one.connections + CONNECTIONS_MORE_MAX
            for node_id, one in settled.items()
        )

    await run.must_come(has_few_connections, "connections are closed", within_s=SETTLED_S_MAX)
    vitals = _vitals(run, strangers)
    are_same = all(vitals[node_id].pid == one.pid for node_id, one in settled.items())
    run.promise(are_same, "no process ended")
    growth = max(vitals[one].rss_bytes - settled[one].rss_bytes for one in settled)
    run.facts["growth of memory"] = f"{growth / MIB:.0f} MiB"
    run.promise(growth <= GROWTH_BYTES_MAX, f"a node's memory grew by {growth / MIB:.0f} MiB")


def _essence(image: MetadataImage) -> MetadataImage:
    """The image without its offset and the producer ids that were given out."""
    return replace(image, offset=0, next_producer_id=0)


def _p99_s(run: ScenarioRun, took_s: Iterable[float]) -> float:
    """The 99th percentile of sends that were acknowledged."""
    took = sorted(took_s)
    run.expect(took, "sends to measure")
    return took[int(len(took) * _P99)]


def _durations_s(run: ScenarioRun, *, since_s: float) -> Iterable[float]:
    for send in reversed(run.cluster.history.sends):
        if send.invoked_s >= since_s and send.ended_s is not None:
            yield send.ended_s - send.invoked_s
