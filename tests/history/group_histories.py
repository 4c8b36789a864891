"""Makes histories of a group that a right coordinator could have had; and ways to spoil them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from tidelog.history.history import (
    Assignment,
    Change,
    Commit,
    Committed,
    History,
    Outcome,
    Poll,
    Send,
)

GROUP, TOPIC, PARTITIONS, MEMBERS = "g", "t", 2, 3


@dataclass(slots=True)
class _Shared:
    """A partition: its records, its owner, what is committed and up to where the owner has read."""

    number: int
    end: int = 0
    owner: str = ""
    position: int = 0
    committed: int | None = None


class GroupHistoryMaker:
    """Plays one group; each call takes some time. Members are paused, killed and asked to go."""

    def __init__(self, seed: int) -> None:
        self.history = History()
        self._random = random.Random(seed)
        self._now_s = 0.0
        self._number = 0
        self._epoch = 1
        self._epochs: dict[str, int] = {}
        self._shared = [_Shared(number) for number in range(PARTITIONS)]

    def make(self, steps: int = 120) -> History:
        """A whole history: at its end all is handed out, committed, and read by a last reader."""
        for shared in self._shared:
            self._assign(shared)
        for _ in range(steps):
            shared = self._random.choice(self._shared)
            self._random.choice(
                [self._send, self._send, self._poll, self._poll, self._commit, self._look, self._go]
            )(shared)
        for shared in self._shared:
            self._send(shared)
            while shared.position < shared.end:
                self._poll(shared)
            self._end_commit(shared, "ok")
            self._look(shared, is_final=True)
            self._read(shared)
        return self.history

    def _pass(self) -> float:
        self._now_s += 0.1 + self._random.random()
        return self._now_s

    def _next_number(self) -> int:
        self._number += 2  # room for one between two
        return self._number

    def _send(self, shared: _Shared) -> None:
        value = b"%d-%d" % (shared.number, shared.end)
        where = TOPIC, 0, shared.number
        begun_s, number = self._pass(), self._next_number()
        self.history.add(
            Send("p", number, *where, value, -1, True, begun_s, "ok", self._pass(), shared.end)
        )
        shared.end += 1

    def _poll(self, shared: _Shared) -> None:
        end = min(shared.end, shared.position + self._random.randrange(1, 4))
        records = tuple(
            (offset, b"%d-%d" % (shared.number, offset)) for offset in range(shared.position, end)
        )
        if records:
            self._add_poll(shared, records)
            shared.position = end

    def _add_poll(self, shared: _Shared, records: tuple[tuple[int, bytes], ...]) -> None:
        owner, began_s = shared.owner, self._pass()
        self.history.add(
            Poll(
                *(owner, self._next_number(), TOPIC, 0, shared.number, began_s, self._pass()),
                *(shared.position, records),
                group=GROUP,
                member=f"id-{owner}",
                epoch=self._epochs[owner],
            )
        )

    def _commit(self, shared: _Shared) -> None:
        self._end_commit(shared, self._random.choice(["ok", "ok", "unknown"]))

    def _end_commit(self, shared: _Shared, outcome: Outcome) -> None:
        if outcome == "ok" or self._random.random() < 0.5:
            shared.committed = shared.position
        self._add_commit(shared.owner, shared.number, shared.position, outcome)

    def _add_commit(self, process: str, partition: int, offset: int, outcome: Outcome) -> None:
        began_s, number = self._pass(), self._next_number()
        self.history.add(
            Commit(
                *(process, number, GROUP, TOPIC, 0, partition, offset, began_s, outcome),
                ended_s=None if outcome == "unknown" else self._pass(),
                member=f"id-{process}",
                epoch=self._epochs[process],
                reason="" if outcome == "ok" else "the test says so",
            )
        )

    def _look(self, shared: _Shared, *, is_final: bool = False) -> None:
        began_s, number = self._pass(), self._next_number()
        where = GROUP, TOPIC, 0, shared.number
        self.history.add(
            Committed(
                *("admin", number, *where, began_s, self._pass(), shared.committed),
                is_final=is_final,
            )
        )

    def _go(self, shared: _Shared) -> None:
        """The partition goes to another member: in order, or since its owner is cut off."""
        before, epoch = shared.owner, self._epoch
        if self._random.random() < 0.5:
            self._end_commit(shared, "ok")
            self._change(shared, before, "revoked")
            self._assign(shared)
            return
        self._assign(shared)
        # It wakes up, is refused, and notices.
        self._epochs[before] = max(epoch, self._epochs[before])
        if shared.owner != before:
            self._add_commit(before, shared.number, shared.end + 7, "fail")
            self._change(shared, before, "lost")

    def _assign(self, shared: _Shared) -> None:
        self._epoch += 1
        others = [f"m{one}" for one in range(MEMBERS) if f"m{one}" != shared.owner]
        shared.owner = self._random.choice(others)
        self._epochs[shared.owner] = self._epoch
        self._change(shared, shared.owner, "assigned")
        shared.position = shared.committed or 0

    def _change(self, shared: _Shared, process: str, change: Change) -> None:
        member, number, at_s = f"id-{process}", self._next_number(), self._pass()
        epoch = self._epochs[process]
        where = TOPIC, 0, shared.number
        self.history.add(Assignment(process, number, GROUP, member, epoch, *where, at_s, change))

    def _read(self, shared: _Shared) -> None:
        records = tuple((one, b"%d-%d" % (shared.number, one)) for one in range(shared.end))
        where = "last", self._next_number(), TOPIC, 0, shared.number
        self.history.add(Poll(*where, self._pass(), self._pass(), 0, records, is_final=True))


# One anomaly each; False where there is no place for it


def _hand_out_late(history: History, random_: random.Random) -> bool:
    """A member that lost a partition is handed out a record after the next owner was given it."""
    lost = [one for one in history.assignments if one.change == "lost"]
    if not lost:
        return False
    gone = random_.choice(lost)
    history.add(_poll_of(gone, number=gone.number - 1, at_s=gone.at_s - 0.01))
    return True


def _hand_out_after(history: History, random_: random.Random) -> bool:
    """A member is handed out a record of a partition that it never has again."""
    last = {(one.process, one.partition): one for one in history.assignments}
    gone = [one for one in last.values() if one.change != "assigned"]
    if not gone:
        return False
    one = random_.choice(gone)
    history.add(_poll_of(one, number=one.number + 10_000, at_s=one.at_s + 0.01))
    return True


def _poll_of(change: Assignment, *, number: int, at_s: float) -> Poll:
    value = b"%d-0" % change.partition
    return Poll(
        *(change.process, number, TOPIC, 0, change.partition, at_s, at_s, 0, ((0, value),)),
        group=GROUP,
        member=change.member,
        epoch=change.epoch,
        is_rewound=True,
    )


def _go_back_an_epoch(history: History, random_: random.Random) -> bool:
    commit = random_.choice(history.commits)
    history.commits.append(
        replace(commit, number=10_000, epoch=1, outcome="fail", offset=10**6, ended_s=10.0**6)
    )
    return True


def _lose_commit(history: History, random_: random.Random) -> bool:
    looks = [one for one in history.committed if one.is_final and (one.offset or 0) > 0]
    if not looks:
        return False
    look = random_.choice(looks)
    history.committed[history.committed.index(look)] = replace(look, offset=None)
    return True


def _show_refused(history: History, random_: random.Random) -> bool:
    refused = [one for one in history.commits if one.outcome == "fail"]
    if not refused:
        return False
    commit = random_.choice(refused)
    end_s = (commit.ended_s or 0.0) + 0.001
    history.add(
        Committed(
            *("admin", 10_000, GROUP, TOPIC, 0, commit.partition, end_s, end_s, commit.offset)
        )
    )
    return True


def _commit_as_zombie(history: History, random_: random.Random) -> bool:
    refused = [one for one in history.commits if one.outcome == "fail"]
    if not refused:
        return False
    at = history.commits.index(random_.choice(refused))
    history.commits[at] = replace(history.commits[at], outcome="ok")
    return True


def _commit_ahead(history: History, random_: random.Random) -> bool:
    at = random_.randrange(len(history.commits))
    history.commits[at] = replace(history.commits[at], offset=10**6, outcome="unknown")
    return True


def _hand_out_nothing(history: History, random_: random.Random) -> bool:
    number = random_.randrange(PARTITIONS)
    history.polls = [
        one
        for one in history.polls
        if not (one.group and one.partition == number and one.records[0][0] == 0)
    ]
    return True


_SPOILERS: dict[str, Callable[[History, random.Random], bool]] = {
    "two-owners": _hand_out_late,
    "handed-out-after": _hand_out_after,
    "epoch-back": _go_back_an_epoch,
    "commit-lost": _lose_commit,
    "refused-commit": _show_refused,
    "stale-commit": _commit_as_zombie,
    "commit-ahead": _commit_ahead,
    "not-handed-out": _hand_out_nothing,
}
GROUP_KINDS = tuple(_SPOILERS)


def spoil_group(kind: str, history: History, seed: int) -> bool:
    """Put one anomaly of this kind into the history; False where there is no place for it."""
    return _SPOILERS[kind](history, random.Random(seed))
