"""The rows of Kafka's protocol: the same client against our brokers and against Kafka's. Pure.

The peer's program runs both sides; for ours it is given our brokers' addresses. So these groups run
only with a peer, and only when asked for: `--only wire`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.benchmarks.efforts import Effort
from tidelog.benchmarks.plan import HEAP, KIB, SIZES_BYTES, Group, Kind, perf, size_text
from tidelog.benchmarks.rows import NO_AIM, Aim, Row

OURS = "wire."
"""Prefix of our side's measures, which have the peer's names."""


def wire_groups(effort: Effort) -> list[Group]:
    """The groups, in the order in which they run."""
    return [
        _produce(effort, KIB, "none", "default", Aim(times=1)),
        *(_produce(effort, 100, codec, "tuned", Aim(times=1)) for codec in ("none", "lz4")),
        _by_confluent(effort),
        *(_round_trip(effort, size) for size in SIZES_BYTES),
        _latency(),
    ]


def _produce(effort: Effort, size: int, codec: str, profile: str, aim: Aim) -> Group:
    theirs = f"produce.java.{size}B.{codec}.{profile}.acks=all"
    name = f"wire: Java produces {size_text(size)}, {codec}, {profile}"
    arguments = perf("java", size, scale=effort.scale, codec=codec, profile=profile)
    return _group(name, [_row(name, "MiB/s", f"{theirs}.steady_mb_s", aim)], arguments)


def _by_confluent(effort: Effort) -> Group:
    theirs = f"produce.produce.{KIB}B.none.tuned.acks=all"
    name = "wire: confluent-kafka produces 1 KiB, tuned"
    arguments = perf("produce", KIB, scale=effort.scale, profile="tuned")
    return _group(name, [_row(name, "MiB/s", f"{theirs}.mb_s", Aim(times=1.5))], arguments)


def _round_trip(effort: Effort, size: int) -> Group:
    """Records that Java produces, tuned, read back by Java and by confluent-kafka."""
    text, theirs = size_text(size), f"produce.java.{size}B.none.tuned.acks=all"
    rows = list(_reads(text, size))
    if size == KIB:
        written = f"Java produces {text}, tuned"
        rows += [
            _row(f"wire: {written}", "MiB/s", f"{theirs}.steady_mb_s", Aim(times=1.5)),
            _row(
                f"wire: broker CPU, {written}", "s/GiB", f"{theirs}.broker_cpu_per_gib",
                Aim(times=1.5), is_less_better=True,
            ),
        ]  # fmt: skip
    arguments = perf(
        "java", size, scale=effort.consume_scale, profile="tuned", consume="java,python"
    )
    return _group(f"wire: consume {text}", rows, arguments)


def _reads(text: str, size: int) -> Iterator[Row]:
    for client, library in (("Java", "java"), ("confluent-kafka", "python")):
        theirs = f"consume.{library}.{size}B.none"
        yield _row(f"wire: {client} consumes {text}", "MiB/s", f"{theirs}.mb_s", Aim(times=1))
        yield _row(
            f"wire: broker CPU, {client} consumes {text}", "s/GiB", f"{theirs}.broker_cpu_per_gib",
            Aim(times=1.5) if size == KIB else NO_AIM, is_less_better=True,
        )  # fmt: skip


def _latency() -> Group:
    rows = [
        _row("wire: one at a time, to the consumer, p50", "ms", "latency.EndToEndLatency.p50",
             Aim(bound=2), is_less_better=True),
        _row("wire: one at a time, to the consumer, p99", "ms", "latency.EndToEndLatency.p99",
             Aim(times=1), is_less_better=True),
    ]  # fmt: skip
    return _group("wire: latency", rows, ("latency", "--runs", "1", "--heap", HEAP), 90)


def _row(figure: str, unit: str, measure: str, aim: Aim, *, is_less_better: bool = False) -> Row:
    return Row(figure, unit, f"{OURS}{measure}", measure, is_less_better=is_less_better, aim=aim)


def _group(
    name: str, rows: Sequence[Row], arguments: Sequence[str], expected_s: float = 40
) -> Group:
    return Group(name, Kind.WIRE, rows, peer=arguments, expected_s=expected_s)
