"""The lengths of runs with `--quick`, `--full` and neither. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, replace

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Effort:
    """The length of a session: `scale` of the record counts, `runs` of every group.

    With a `limit_s`, the remaining groups of a slow session are shortened, see `shorten`.
    """

    name: str
    runs: int
    scale: float
    consume_scale: float
    opaque_bytes: int
    latency_s: float
    sends: int
    limit_s: float | None = None


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("quick", 1, 0.2, 0.25, 600 * MIB, 8, 2_000, limit_s=500),
        Effort("default", 2, 0.4, 0.5, 1_000 * MIB, 15, 3_000),
        Effort("full", 5, 1.0, 1.0, 3_000 * MIB, 30, 10_000),
    )
}


def shorten(effort: Effort) -> Effort:
    """The effort with every load halved."""
    return replace(
        effort,
        scale=effort.scale / 2,
        consume_scale=effort.consume_scale / 2,
        opaque_bytes=effort.opaque_bytes // 2,
        latency_s=effort.latency_s / 2,
        sends=effort.sends // 2,
    )
