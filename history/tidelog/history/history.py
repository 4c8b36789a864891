"""History of clients for the checks: every call that ended, and every call that did not.

Decides nothing. `docs/HISTORY.md` describes the file of one; `history_lines` reads and writes its
lines, `history_file` the file.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta, Struct

Whole = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Outcome = Literal["ok", "fail", "unknown"]
"""Done, definitely not done, or nobody knows."""

ACKS_ALL = -1


# Structs are what their JSON says: msgspec checks each field, in a fifth of the time Python takes.
# gc=False: a call refers to no object that could refer to it. Not frozen: an `End` ends a send.
class Send(Struct, tag="send", gc=False, omit_defaults=True):
    """A record given to a producer. Times are seconds of one clock for the whole history."""

    process: str
    """The producer; its sends to one partition are in sent order by `number`."""
    number: Whole
    """The place in the order of all calls."""
    topic: str
    incarnation: Whole
    """Grows each time the topic is created again."""
    partition: Whole
    value: bytes
    """Unique in the whole history."""
    acks: Annotated[int, Meta(ge=-1, le=1)]
    """-1 all, 1 leader, 0 none."""
    is_idempotent: bool
    invoked_s: float
    outcome: Outcome
    ended_s: float | None = None
    """None if it never ended."""
    offset: Whole | None = None
    """The acknowledged offset."""
    reason: str = ""
    """Why it failed, or why nobody knows."""


class Poll(Struct, tag="poll", gc=False, omit_defaults=True):
    """Records that one call of a consumer returned of one partition; may be none."""

    process: str
    number: Whole
    topic: str
    incarnation: Whole
    partition: Whole
    invoked_s: float
    ended_s: float
    position: Whole
    """Asked from this offset on."""
    records: tuple[tuple[Whole, bytes], ...]
    """(offset, value) in the order served."""
    is_final: bool = False
    """Read in the calm at the end; a process's last final poll reached the high watermark."""
    is_rewound: bool = False
    """The consumer learned before this poll that its position is gone."""


@dataclass(slots=True)
class History:
    """Sends and polls. Only unclean elections may delete records of any topic."""

    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    lossy_topics: set[str] = field(default_factory=set)
    """Unclean elections are allowed: what they lose is counted, not complained about."""
