"""The rows of the benchmark, with their aims, and the runs that fill them. Pure.

A group is measured by one run of ours and one run of the peer; its rows name measures of both.
Record counts are the peer's at `--scale 1`, so that both sides send the same number.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tidelog.benchmarks.efforts import Effort
from tidelog.benchmarks.rows import NO_AIM, Aim, Row

KIB, MIB = 1 << 10, 1 << 20
MB_PER_MIB = MIB / 1e6
SIZES_BYTES = (100, KIB)
RECORDS_AT_SCALE_1 = {100: 4_000_000, KIB: 800_000}
SINGLES_AT_SCALE_1 = {100: 2_000_000, KIB: 600_000}
DELETED_S = 12
"""Time until a deleted topic's files are gone: delay 1 s, and brokers check every 10 s."""
HEAP = "stock"
"""The heap of Kafka's start script."""

Job = Mapping[str, str | int | float]
"""The input of a worker: the load's name under `load`, and its arguments."""


class Kind(Enum):
    """The way in which a group's own side is measured."""

    START = "start"
    """Start a separate cluster, leave it idle, stop it and start it again."""
    LOAD = "load"
    """Put a load on the cluster from a worker process."""
    WIRE = "wire"
    """Have the peer's program put its load on our cluster."""
    MEMORY = "memory"
    """Run nothing: memory was measured after every load."""


@dataclass(frozen=True, slots=True)
class Group:
    """The rows measured in one run of each side."""

    name: str
    kind: Kind
    rows: Sequence[Row]
    job: Job = field(default_factory=dict)
    peer: Sequence[str] = ()
    """The arguments of the peer's command; empty: the peer does not run."""
    expected_s: float = 10
    """The seconds of a quick run with the peer on a machine with two cores."""

    @property
    def is_on_the_cluster(self) -> bool:
        """True if the group needs the cluster that all loads share."""
        return self.kind is not Kind.START


def groups(effort: Effort) -> list[Group]:
    """The groups, in the order in which they run."""
    return [
        _start(),
        *_produce(effort),
        *(_single(effort, size) for size in SIZES_BYTES),
        _opaque(effort, "1 MiB", MIB, bundled=1, aim=Aim(bound=250)),
        _opaque(effort, "16 KiB", 16 * KIB, bundled=16, aim=Aim(bound=120)),
        *(_consume(effort, size) for size in SIZES_BYTES),
        _latency(effort),
        _memory(),
    ]


def warm_up(effort: Effort) -> Group:
    """The load that both sides run before any counted run: first runs on new nodes are slower."""
    scale = max(effort.scale, 0.25)
    return Group(
        "warm-up",
        Kind.LOAD,
        (),
        _produce_job(int(RECORDS_AT_SCALE_1[100] * scale), 100, "none", "all", "tuned"),
        perf("java", 100, scale=scale, profile="tuned"),
    )


def size_text(size_bytes: int) -> str:
    """The size as text for people."""
    return f"{size_bytes // KIB} KiB" if size_bytes % KIB == 0 else f"{size_bytes} B"


def _less(
    figure: str,
    unit: str,
    ours: str,
    kafka: str | None = None,
    *,
    aim: Aim = NO_AIM,
    kafka_factor: float = 1.0,
) -> Row:
    """A row where less is better."""
    return Row(figure, unit, ours, kafka, is_less_better=True, aim=aim, kafka_factor=kafka_factor)


def _start() -> Group:
    start, idle = f"start.{HEAP}", f"idle.{HEAP}"
    return Group(
        "start",
        Kind.START,
        (
            _less("start: empty, to the first ack", "s", "start.fresh", f"{start}.fresh"),
            _less("start: with data, to the first ack", "s", "start.again", f"{start}.again"),
            _less(
                "memory: a node, idle", "MB", "idle.mb", f"{idle}.VmRSS_per_node",
                kafka_factor=MB_PER_MIB,
            ),
            _less("CPU: three idle nodes", "% of a core", "idle.cpu", f"{idle}.cpu_3_nodes"),
        ),
        peer=("start", "--runs", "1", "--heaps", HEAP),
        expected_s=60,
    )  # fmt: skip


def _produce(effort: Effort) -> Iterator[Group]:
    for size in SIZES_BYTES:
        for acks in ("1", "all"):
            for codec in ("none", "lz4"):
                for profile in ("default", "tuned"):
                    yield _produce_one(effort, size, codec, acks, profile)


def _produce_one(effort: Effort, size: int, codec: str, acks: str, profile: str) -> Group:
    is_named = (codec, acks) == ("none", "all")
    key = f"produce.{size}B.{codec}.{profile}.acks={acks}"
    theirs = f"produce.java.{size}B.{codec}.{profile}.acks={acks}"
    name = f"produce {size_text(size)}, {codec}, acks={acks}, {profile}"
    aim = NO_AIM
    if is_named and profile == "tuned":
        aim = Aim(times=1 if size == 100 else 2)
    rows = [_rate_row(name, size, key, f"{theirs}.steady_mb_s", aim)]
    if is_named and size == KIB:
        cpu_aim = Aim(times=2) if profile == "tuned" else NO_AIM
        rows.append(
            _less(
                f"broker CPU: produce {size_text(size)}, acks=all, {profile}", "s/GiB",
                f"{key}.cpu_per_gib", f"{theirs}.broker_cpu_per_gib", aim=cpu_aim,
            )
        )  # fmt: skip
    return Group(
        name,
        Kind.LOAD,
        rows,
        _produce_job(int(RECORDS_AT_SCALE_1[size] * effort.scale), size, codec, acks, profile),
        perf("java", size, scale=effort.scale, codec=codec, acks=acks, profile=profile),
    )


def _rate_row(name: str, size: int, key: str, kafka: str, aim: Aim) -> Row:
    """A row in records/s for 100 B and in MiB/s otherwise; the peer's measure is in MiB/s."""
    if size == 100:
        return Row(name, "records/s", f"{key}.rec_s", kafka, aim=aim, kafka_factor=MIB / size)
    return Row(name, "MiB/s", f"{key}.mib_s", kafka, aim=aim)


def _produce_job(records: int, size: int, codec: str, acks: str, profile: str) -> Job:
    return {
        "load": "produce", "key": f"produce.{size}B.{codec}.{profile}.acks={acks}",
        "records": records, "size_bytes": size, "codec": codec, "acks": acks, "profile": profile,
    }  # fmt: skip


def perf(
    client: str,
    size: int,
    *,
    scale: float,
    codec: str = "none",
    acks: str = "all",
    profile: str = "default",
    consume: str = "",
) -> tuple[str, ...]:
    """The peer's arguments for a load; `consume` names the clients that read it back."""
    chosen = {
        "--runs": "1", "--heap": HEAP, "--clients": client, "--sizes": str(size), "--acks": acks,
        "--codecs": codec, "--profiles": profile, "--scale": f"{scale:g}", "--consume": consume,
    }  # fmt: skip
    return ("perf", *(part for pair in chosen.items() if pair[1] for part in pair))


def _single(effort: Effort, size: int) -> Group:
    name = f"produce {size_text(size)}, a call a record"
    return Group(
        name,
        Kind.LOAD,
        [
            Row(
                f"{name} (Kafka: confluent-kafka's produce)", "records/s", f"single.{size}B.rec_s",
                f"produce.produce.{size}B.none.default.acks=all.rec_s",
            )
        ],
        {
            "load": "single", "key": f"single.{size}B", "size_bytes": size,
            "records": int(SINGLES_AT_SCALE_1[size] * effort.scale),
        },
        perf("produce", size, scale=effort.scale),
    )  # fmt: skip


def _opaque(effort: Effort, text: str, batch_bytes: int, *, bundled: int, aim: Aim) -> Group:
    key = f"opaque.{batch_bytes}"
    name = f"opaque batches of {text}" + (", bundled" if bundled > 1 else "")
    return Group(
        name,
        Kind.LOAD,
        [
            Row(name, "MB/s", f"{key}.mb_s", aim=aim),
            _less(f"broker CPU: {name}", "s/GiB", f"{key}.cpu_per_gib"),
        ],
        {
            "load": "opaque", "key": key, "batch_bytes": batch_bytes, "bundled": bundled,
            "total_bytes": effort.opaque_bytes, "settle_s": DELETED_S,
        },
        expected_s=25,
    )  # fmt: skip


def _consume(effort: Effort, size: int) -> Group:
    text, key = size_text(size), f"consume.{size}B"
    confluent, java = f"consume.python.{size}B.none.mb_s", f"consume.java.{size}B.none.mb_s"
    bound = 150 if size == KIB else 69
    return Group(
        f"consume {text}",
        Kind.LOAD,
        [
            Row(
                f"consume {text}, batches (Kafka: confluent-kafka)", "MiB/s",
                f"{key}.batches.mib_s", confluent, aim=Aim(bound=bound),
            ),
            Row(
                f"consume {text}, batches (Kafka: Java)", "MiB/s", f"{key}.batches.mib_s", java
            ),
            Row(
                f"consume {text}, record by record (Kafka: confluent-kafka)", "MiB/s",
                f"{key}.single.mib_s", confluent,
            ),
        ],
        {
            "load": "consume", "key": key, "size_bytes": size,
            "records": int(RECORDS_AT_SCALE_1[size] * effort.consume_scale),
        },
        perf("java", size, scale=effort.consume_scale, profile="tuned", consume="java,python"),
        expected_s=30,
    )  # fmt: skip


def _latency(effort: Effort) -> Group:
    java, librdkafka = "latency.java.1000rps", "latency.librdkafka.1000rps.linger0.ack"
    whole = "latency.EndToEndLatency"
    rows: list[Row] = []
    for rank in ("p50", "p99"):
        rate = f"latency at 1,000 records/s, {rank}"
        rows += [
            _less(f"{rate} (Kafka: Java)", "ms", f"rate.{rank}", f"{java}.{rank}"),
            _less(
                f"{rate} (Kafka: confluent-kafka, linger 0)", "ms", f"rate.{rank}",
                f"{librdkafka}_{rank}",
            ),
        ]  # fmt: skip
    for rank, bound in (("p50", 2), ("p99", 10)):
        there = f"one at a time, to the consumer, {rank}"
        rows += [
            _less(f"one at a time, to the ack, {rank}", "ms", f"alone.{rank}", aim=Aim(bound)),
            _less(there, "ms", f"there.{rank}", f"{whole}.{rank}"),
        ]
    return Group(
        "latency",
        Kind.LOAD,
        rows,
        {"load": "latency", "key": "", "seconds": effort.latency_s, "sends": effort.sends},
        ("latency", "--runs", "1", "--heap", HEAP),
        expected_s=90,
    )


def _memory() -> Group:
    return Group(
        "memory",
        Kind.MEMORY,
        expected_s=0,
        rows=[
            Row(
                "memory: a node, loaded", "MB", "loaded.mb", f"loaded.{HEAP}.VmRSS_per_node",
                is_less_better=True, aim=Aim(bound=160), kafka_factor=MB_PER_MIB, is_worst=True,
            )
        ],
    )  # fmt: skip
