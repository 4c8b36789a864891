"""Makes sends as histories have them."""

from __future__ import annotations

from tidelog.history.history import Outcome, Send


def send(
    number: int = 0,
    *,
    acks: int = -1,
    is_idempotent: bool = True,
    outcome: Outcome = "ok",
    ended_s: float | None = 1.0,
    took_s: float = 0.01,
) -> Send:
    """Of one partition; its offset, if it was acknowledged, is its number."""
    return Send(
        process=f"p{acks}",
        number=number,
        topic="t",
        incarnation=0,
        partition=0,
        value=b"%d" % number,
        acks=acks,
        is_idempotent=is_idempotent,
        invoked_s=0.0 if ended_s is None else ended_s - took_s,
        ended_s=ended_s,
        outcome=outcome,
        offset=number if outcome == "ok" else None,
    )
