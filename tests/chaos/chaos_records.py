"""Made-up records of runs, for tests of reports: one that tells F12, a long one of many faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tidelog.chaos.report.record import (
    Anomaly,
    Band,
    LoadPoint,
    Note,
    PartitionPoint,
    ReplicaPoint,
    RunRecord,
)

HOSTILE = "</script><svg/onload=alert(1)> & \" ' ]]> <!-- \x00\x1b \ud800 𝔘"
"""What a record's strings may hold at worst."""
INTERVAL_S = 0.5


def empty(**changes: object) -> RunRecord:
    """A run of which nothing is known but what has to be."""
    record = RunRecord(
        scenario="F12",
        claim="The tail of a leader that was cut off is truncated when it returns",
        seed=1742,
        verdict="ok",
        began_at="2026-11-22T08:14:03Z",
        commit="f5f5fb0c21aa",
        version="0.1.0",
        machine="AMD EPYC 7B13, 2 cores, 7.8 GiB, Linux 6.1.0",
        command="tidelog chaos run F12 --seed 1742 --duration 40",
        broker_ids=(4, 5, 6),
        controller_ids=(1, 2, 3),
        partition="story-0",
        settings={},
        load_s=0.0,
        interval_s=INTERVAL_S,
        counts={},
        unavailable_s=0.0,
    )
    return replace(record, **changes)  # type: ignore[arg-type]  # fields by name, of tests


CUT_S, KILLED_S, ELECTED_S, RETURNED_S, TRUNCATED_S, EXPANDED_S = 12.0, 18.4, 20.9, 27.0, 27.8, 29.2
_RATE = 420


def truncation(*, sample_s: float = 0.25, load_s: float = 40.0, seed: int = 7) -> RunRecord:
    """Leader 4 is cut from its followers, takes acks=1 records, is killed, returns to follow."""
    random = Random(seed)
    return empty(
        load_s=load_s,
        counts={
            "operations": 21873,
            "acknowledged": 12610,
            "failed": 34,
            "unknown": 212,
            "read": 12788,
            "lost": 0,
            "lost_acks_1": 1213,
            "lost_unclean": 0,
            "duplicated": 0,
            "reordered": 0,
            "worst_lag_ms": 9120,
        },
        unavailable_s=ELECTED_S - CUT_S + 0.3,
        settings={
            "broker.session.timeout.ms": "2000",
            "replica.lag.time.max.ms": "2000",
            "min.insync.replicas": "2",
            "segment.bytes": "1048576",
        },
        bands=[
            Band("cut", "leader 4 from followers 5, 6, both ways", (4,), CUT_S, 26.2),
            Band("kill", "SIGKILL", (4,), KILLED_S, RETURNED_S),
        ],
        replicas=list(_replicas(sample_s, load_s)),
        partitions=[
            PartitionPoint(-1.5, 4, 3, (4, 5, 6), (), 2, 1),
            PartitionPoint(14.4, 4, 3, (4,), (5,), 2, 1),
            PartitionPoint(KILLED_S + 2.1, None, 3, (4,), (5,), 2, 1),
            PartitionPoint(ELECTED_S, 5, 4, (5,), (), 2, 1),
            PartitionPoint(22.3, 5, 4, (5, 6), (), 2, 1),
            PartitionPoint(EXPANDED_S, 5, 4, (4, 5, 6), (), 2, 1),
        ],
        load=list(_load(random, load_s)),
        notes=[
            Note(-1.5, "story", "three replicas are in sync, broker 4 leads in epoch 3"),
            Note(CUT_S, "fault", "cut: leader 4 from followers 5, 6, both ways"),
            Note(14.4, "controller 2", "ISR of story-0 is [4]"),
            Note(KILLED_S, "fault", "kill: broker 4, SIGKILL"),
            Note(ELECTED_S, "controller 2", "broker 5 leads story-0 in epoch 4"),
            Note(26.2, "fault", "healed: cut"),
            Note(RETURNED_S, "fault", "started: broker 4"),
            Note(TRUNCATED_S, "broker 4", "truncated story-0 from 6,253 to 5,040, epoch 4"),
            Note(EXPANDED_S, "controller 2", "ISR of story-0 is [4, 5, 6]"),
        ],
        facts={
            "Truncated by the old leader": "1,213 records",
            "Read by a consumer of what was truncated": "0 records",
            "Replicas below the high watermark": "identical, 12,788 records",
        },
    )


def _replicas(sample_s: float, load_s: float) -> Iterator[ReplicaPoint]:
    for step in range(int((load_s + 4) / sample_s)):
        at_s = round(step * sample_s - 2, 3)
        for node_id in (4, 5, 6):
            yield _replica(at_s + node_id * 0.003, node_id, load_s)


def _replica(at_s: float, node_id: int, load_s: float) -> ReplicaPoint:
    committed = _committed(at_s, load_s)
    lag = 0 if at_s < 0 or at_s > load_s else 18
    if node_id == 4 and KILLED_S <= at_s < RETURNED_S:
        return ReplicaPoint(at_s, 4, False, "none", -1, 0, 0)
    if node_id == 4 and CUT_S <= at_s < TRUNCATED_S:
        tail = int(190 * (min(at_s, KILLED_S) - CUT_S))
        frozen = _committed(CUT_S, load_s)
        role, epoch = ("leader", 3) if at_s < KILLED_S else ("none", 3)
        return ReplicaPoint(at_s, 4, True, role, epoch, frozen, frozen + tail)
    epoch = 3 if at_s < ELECTED_S else 4
    leads = node_id == (4 if epoch == 3 else 5)
    behind = 0 if leads else lag
    if node_id == 4 and at_s < EXPANDED_S and at_s >= TRUNCATED_S:
        share = (at_s - TRUNCATED_S - 0.26) / (EXPANDED_S - TRUNCATED_S)
        low = _committed(CUT_S, load_s)
        end = int(low + (committed - low) * max(0.0, share))
        return ReplicaPoint(at_s, 4, True, "follower", 4, min(end, committed), end)
    role = "leader" if leads else "follower"
    return ReplicaPoint(
        at_s, node_id, True, role, epoch, committed - behind, committed + lag - behind
    )


def _committed(at_s: float, load_s: float) -> int:
    busy = min(max(at_s, 0.0), CUT_S) + max(0.0, min(at_s, load_s) - ELECTED_S)
    return int(_RATE * busy)


def _load(random: Random, load_s: float) -> Iterator[LoadPoint]:
    for step in range(int(load_s / INTERVAL_S)):
        at_s = step * INTERVAL_S
        noise = random.random()
        if CUT_S <= at_s < ELECTED_S:
            leads = at_s < KILLED_S
            count = int(95 * (0.8 + 0.4 * noise)) if leads else 0
            p99_ms = 14 + 9 * noise if leads else None
            unknown = 12 if not leads and step % 3 == 0 else 0
            yield LoadPoint(at_s, count, 17 * (at_s in (14.5, 15.0)), unknown, p99_ms)
        else:
            slow = 8000 if ELECTED_S <= at_s < ELECTED_S + 0.6 else 0
            yield LoadPoint(at_s, int(210 * (0.85 + 0.3 * noise)), 0, 0, 9 + 14 * noise + slow)


def storm(*, load_s: float = 7200.0, sample_s: float = 0.1, seed: int = 3) -> RunRecord:
    """A long run of faults of all kinds, one after the other and together."""
    random = Random(seed)
    bands, partitions, notes = [], [PartitionPoint(-1, 4, 0, (4, 5, 6), (), 1, 1)], []
    at_s, epoch, term = 5.0, 0, 1
    down: list[tuple[int, float, float]] = []
    while at_s < load_s - 20:
        kind = random.choice(["kill", "pause", "cut", "latency", "reset", "flap"])
        node, length = random.choice([1, 2, 3, 4, 5, 6]), 2 + 10 * random.random()
        struck = () if kind in ("latency", "reset") else (node,)
        bands.append(Band(kind, f"node-{node}", struck, at_s, at_s + length))
        notes.append(Note(at_s, "fault", f"{kind}: node-{node} for {length:.1f} s"))
        if kind == "kill" and node > 3:
            down.append((node, at_s, at_s + length))
            epoch += 1
            others = tuple({4, 5, 6} - {node})
            partitions.append(PartitionPoint(at_s + 2, others[0], epoch, others, (), 1, term))
            partitions.append(
                PartitionPoint(at_s + length, others[0], epoch, (4, 5, 6), (), 1, term)
            )
        at_s += 3 + 9 * random.random()
    partitions.sort(key=lambda point: point.at_s)
    return replace(
        truncation(),
        scenario="F62",
        claim="A seeded storm of faults loses, duplicates and reorders nothing",
        load_s=load_s,
        bands=bands,
        partitions=partitions,
        notes=notes,
        replicas=list(_storm_replicas(random, load_s, sample_s, partitions, down)),
        load=[
            LoadPoint(n * INTERVAL_S, random.randrange(0, 400), 0, int(random.random() < 0.02),
                      5 + 1000 * random.random() ** 8)
            for n in range(int(load_s / INTERVAL_S))
        ],
    )  # fmt: skip


def _storm_replicas(
    random: Random,
    load_s: float,
    sample_s: float,
    partitions: list[PartitionPoint],
    down: list[tuple[int, float, float]],
) -> Iterator[ReplicaPoint]:
    present = 0
    for step in range(int(load_s / sample_s)):
        at_s = step * sample_s
        while present + 1 < len(partitions) and partitions[present + 1].at_s <= at_s:
            present += 1
        point, offset = partitions[present], int(600 * at_s)
        dead = {node for node, low, high in down if low <= at_s < high}
        for node in (4, 5, 6):
            if node in dead:
                yield ReplicaPoint(at_s, node, False, "none", -1, 0, 0)
                continue
            role = "leader" if node == point.leader_id else "follower"
            tail = int(random.random() ** 3 * 60)
            epoch = point.leader_epoch
            back_s = max((high for one, _, high in down if one == node and high <= at_s), default=0)
            behind = int(max(0.0, 1500 - 400 * (at_s - back_s)))
            end = offset + tail - behind
            yield ReplicaPoint(at_s, node, True, role, epoch, min(offset, end), end)


def violated() -> RunRecord:
    """The F12 story, with what must not be."""
    lines = tuple(
        f'{{"type":"send","process":"p{n}","number":{n},"topic":"story","acks":-1,"offset":{n}}}'
        for n in range(30)
    )
    return replace(
        truncation(),
        verdict="violation",
        anomalies=[
            Anomaly(
                "lost-write",
                "b'v5123' was acknowledged at story-0/5123, nothing is read there",
                22.4,
                lines,
            ),
            Anomaly(
                "I4", "the ISR [4, 5] holds broker 4, whose log ends at 5,040 below 5,871", 28.3
            ),
            Anomaly("unseen", "1 acknowledged record was read by nobody", None, lines[:1]),
        ],
    )
