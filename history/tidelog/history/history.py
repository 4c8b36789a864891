"""History of clients for the checks: every call that ended, and every call that did not.

Decides nothing. `docs/HISTORY.md` describes the file of one; `history_lines` reads and writes its
lines, `history_file` the file.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

Whole = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Outcome = Literal["ok", "fail", "unknown"]
"""Done, definitely not done, or nobody knows."""

Change = Literal["assigned", "revoked", "lost"]
"""A call of a rebalance listener. The end of a member's process is "lost", too."""

Isolation = Literal["read_uncommitted", "read_committed"]

ACKS_ALL = -1


class Parts(Struct, frozen=True, gc=False, omit_defaults=True):
    """Parts of a record beside its value, as they were sent, or as they were read."""

    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    """None: nobody named or noted it. -1: none (Kafka's NO_TIMESTAMP)."""
    codec: str = ""
    """Codec of the record's batch, by Kafka's name; empty: nobody named or noted it."""
    is_null: bool = False
    """The record's value is null; the value in the call is its name in the history."""


class Keeping(Struct, frozen=True, gc=False, omit_defaults=True):
    """Rules by which a topic's records may go, as it had them for all of its life."""

    is_compacted: bool = False
    """A record may go when a later one has its key, and a tombstone at any time."""
    retention_ms: Whole | None = None
    """A record may go when its timestamp is older than that; None: not by its age."""
    retention_bytes: Whole | None = None
    """A record may go when so many bytes lie above it; None: not by size."""
    skew_ms: Whole = 0
    """Time by which a broker's clock may be ahead of the history's wall clock."""


# Structs are what their JSON says: msgspec checks each field, in a fifth of the time Python takes.
# gc=False: a call refers to no object that could refer to it. Not frozen: an `End` ends a send or
# a commit.
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
    transaction: Whole | None = None
    """Number of the transaction to which the record belongs; None: it belongs to none."""
    parts: Parts | None = None
    """Its other parts; None: nobody noted them, nothing is compared."""


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
    group: str = ""
    """Consumer group of which the consumer is a member; empty: none."""
    member: str = ""
    """Member id."""
    epoch: Whole = 0
    """Member epoch at the poll's end; 0: the member had none."""
    isolation_level: Isolation = "read_uncommitted"
    end: Whole | None = None
    """The next position; None: the one after the last record, or `position` without any."""
    transaction: Whole | None = None
    """Number of its process's open transaction in which it was made; None: in none."""
    parts: tuple[Parts, ...] = ()
    """The other parts of each of `records`; empty: nobody noted them."""

    @property
    def next_position(self) -> int:
        """From where the consumer asks next."""
        if self.end is not None:
            return self.end
        return self.records[-1][0] + 1 if self.records else self.position

    @property
    def is_committed(self) -> bool:
        """True if it may show only what is committed."""
        return self.isolation_level == "read_committed"


class Commit(Struct, tag="commit", gc=False, omit_defaults=True):
    """An offset of one partition, given to a group's coordinator to commit."""

    process: str
    number: Whole
    group: str
    topic: str
    incarnation: Whole
    partition: Whole
    offset: Whole
    """Offset of the next record to read."""
    invoked_s: float
    outcome: Outcome
    ended_s: float | None = None
    """None if it never ended."""
    member: str = ""
    """Member id; empty: committed without membership."""
    epoch: Whole = 0
    """Member epoch when it was invoked."""
    reason: str = ""
    """Why it failed, or why nobody knows."""
    transaction: Whole | None = None
    """Number of the transaction whose commit makes the offset count; None: it counts at once."""


class Committed(Struct, tag="committed", gc=False, omit_defaults=True):
    """A look-up of a group's committed offset of one partition."""

    process: str
    number: Whole
    group: str
    topic: str
    incarnation: Whole
    partition: Whole
    invoked_s: float
    ended_s: float
    offset: Whole | None = None
    """None: nothing is committed."""
    is_final: bool = False
    """Looked up at rest: the group has handed out and committed all there is."""
    is_stable: bool = False
    """Answered only when no transaction's offset was pending (`require_stable`)."""


class Assignment(Struct, tag="assignment", gc=False, omit_defaults=True):
    """A change of what a member of a group owns: one partition that came or went."""

    process: str
    number: Whole
    group: str
    member: str
    epoch: Whole
    topic: str
    incarnation: Whole
    partition: Whole
    at_s: float
    """When the listener was called with what came; when it had returned from what went."""
    change: Change


class Deletion(Struct, tag="deletion", gc=False, omit_defaults=True):
    """A wish to delete the records of a partition below an offset (Kafka's DeleteRecords)."""

    process: str
    number: Whole
    topic: str
    incarnation: Whole
    partition: Whole
    before: Whole
    """Offset of the first record that is to stay."""
    invoked_s: float
    outcome: Outcome
    ended_s: float | None = None
    """None if it never ended."""
    offset: Whole | None = None
    """The acknowledged log start offset: what lies below it is not served any more."""
    reason: str = ""
    """Why it failed, or why nobody knows."""


class Transaction(Struct, tag="transaction", gc=False, omit_defaults=True):
    """A transaction of a producer, from its begin to its commit or abort."""

    process: str
    """The producer: one that is started again under the same id is another process."""
    number: Whole
    transactional_id: str
    invoked_s: float
    """When it began."""
    outcome: Outcome
    """`ok`: committed. `fail`: aborted, on purpose or by an error that says so."""
    commit_begun_s: float | None = None
    """When its commit was asked for; None: it never was, so that it cannot be committed."""
    ended_s: float | None = None
    """When the commit or abort was answered; None if it never was."""
    reason: str = ""
    """Why it was aborted, or why nobody knows."""


GroupCall: TypeAlias = Commit | Committed | Assignment
"""A call about a group that is no poll."""
Call: TypeAlias = Send | Poll | GroupCall | Transaction | Deletion


def began_s(call: Call) -> float:
    """When the call was made, in seconds of the history's clock."""
    return call.at_s if isinstance(call, Assignment) else call.invoked_s


@dataclass(slots=True)
class History:
    """Calls of clients. Records go by unclean elections, by a topic's keeping, and by deletions."""

    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    lossy_topics: set[str] = field(default_factory=set)
    """Unclean elections are allowed: what they lose is counted, not complained about."""
    commits: list[Commit] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    overlaps_s: dict[str, float] = field(default_factory=dict)
    """By group: for how long a member may hand out beside the next owner; without an entry, 0.

    The group's session, where only its coordinator sees connections break (docs/GROUPS.md).
    """

    deletions: list[Deletion] = field(default_factory=list)
    keeping: dict[str, Keeping] = field(default_factory=dict)
    """By topic: rules by which its records may go; without an entry only deletions take some."""
    wall_s: float = 0.0
    """Seconds since the Unix epoch when the history's clock is 0; only `keeping` needs it."""

    def add(self, call: Call) -> None:
        """Add a call of any kind; one that begins and ends in two steps, when it has ended."""
        match call:
            case Send():
                self.sends.append(call)
            case Poll():
                self.polls.append(call)
            case Commit():
                self.commits.append(call)
            case Committed():
                self.committed.append(call)
            case Assignment():
                self.assignments.append(call)
            case Deletion():
                self.deletions.append(call)
            case Transaction():
                self.transactions.append(call)
