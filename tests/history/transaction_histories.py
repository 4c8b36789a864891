"""Makes histories of transactions that a right cluster could have had; and ways to spoil them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from tidelog.history.history import Commit, Committed, History, Outcome, Poll, Send, Transaction

TOPIC, GROUP, PARTITIONS, PRODUCERS, INPUTS = "t", "g", 3, 3, 50


@dataclass(slots=True)
class _Log:
    """A partition: by offset a record with its transaction, or None for a marker."""

    number: int
    entries: list[tuple[bytes, int] | None] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A transaction under way, with its appends and the offset that it commits."""

    call: Transaction
    logs: set[int] = field(default_factory=set)
    commit: Commit | None = None


class TransactionHistoryMaker:
    """Plays producers that interleave, a committed reader, and one that is shown everything."""

    def __init__(self, seed: int) -> None:
        self.history = History()
        self._random = random.Random(seed)
        self._now_s = 0.0
        self._number = 0
        self._logs = [_Log(number) for number in range(PARTITIONS)]
        self._open: dict[str, _Open] = {}
        self._is_committed: dict[int, bool] = {}
        """By transaction, once it is decided."""
        self._positions: dict[tuple[str, int], int] = {}
        self._input = 0
        self._committed_input: int | None = None

    def make(self, steps: int = 150) -> History:
        """A whole history: at its end all is decided, and a committed reader reads all of it."""
        for _ in range(steps):
            name = f"p{self._random.randrange(PRODUCERS)}"
            if name not in self._open:
                self._begin(name)
            else:
                self._random.choice([self._append, self._append, self._end, self._offset])(name)
            for reader in ("committed", "all"):
                if self._random.random() < 0.3:
                    self._poll(reader, self._random.choice(self._logs))
        for name in list(self._open):
            self._end(name)
        for log in self._logs:
            self._poll("last", log, is_final=True)
        self._look(is_final=True)
        return self.history

    def _pass(self) -> float:
        self._now_s += 0.1 + self._random.random()
        return self._now_s

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _begin(self, name: str) -> None:
        call = Transaction(name, self._next(), f"id-{name}", self._pass(), "unknown")
        self._open[name] = _Open(call)
        self.history.add(call)

    def _append(self, name: str) -> None:
        one, log = self._open[name], self._random.choice(self._logs)
        if self._random.random() < 0.3:
            self._poll(name, log, transaction=one.call.number)  # it depends on what it reads
        number, value = self._next(), b"v%d" % self._number
        log.entries.append((value, one.call.number))
        one.logs.add(log.number)
        begun_s = self._pass()
        where: Any = TOPIC, 0, log.number, value, -1, True, begun_s, "ok", self._pass()
        where = *where, len(log.entries) - 1
        self.history.add(replace(Send(name, number, *where), transaction=one.call.number))

    def _offset(self, name: str) -> None:
        if any(one.commit is not None for one in self._open.values()):
            return  # The input has one owner.
        one = self._open[name]
        self._input += 1
        begun_s, number = self._pass(), self._next()
        where: Any = GROUP, "in", 0, 0, self._input, begun_s, "ok", self._pass()
        one.commit = replace(Commit(name, number, *where), transaction=one.call.number)
        self.history.add(one.commit)

    def _end(self, name: str) -> None:
        one = self._open.pop(name)
        call, wish = one.call, self._random.random() < 0.7
        call.outcome = self._random.choice(["ok", "ok", "unknown"]) if wish else "fail"
        call.commit_begun_s = self._pass() if wish else None
        is_committed = call.outcome == "ok" or (wish and self._random.random() < 0.5)
        self._is_committed[call.number] = is_committed
        for number in one.logs:
            self._logs[number].entries.append(None)
        if one.commit is not None and is_committed:
            self._committed_input = one.commit.offset
        call.ended_s = None if call.outcome == "unknown" else self._pass()
        if self._random.random() < 0.5:
            self._look()

    def _poll(
        self, name: str, log: _Log, *, is_final: bool = False, transaction: int | None = None
    ) -> None:
        entries = log.entries
        if name != "all":  # up to the last stable offset
            open_ = {one.call.number for one in self._open.values()}
            for at, entry in enumerate(entries):
                if entry is not None and entry[1] in open_:
                    entries = entries[:at]
                    break
        start = self._positions.get((name, log.number), 0)
        records = tuple(
            (offset, entry[0])
            for offset, entry in enumerate(entries[start:], start)
            if entry is not None and (name == "all" or self._is_committed[entry[1]])
        )
        end = max(start, len(entries))
        self._positions[name, log.number] = end
        where = name, self._next(), TOPIC, 0, log.number, self._pass(), self._pass(), start
        self.history.add(
            Poll(
                *where,
                records,
                is_final=is_final,
                isolation_level="read_uncommitted" if name == "all" else "read_committed",
                end=end,
                transaction=transaction,
            )
        )

    def _look(self, *, is_final: bool = False) -> None:
        if any(one.commit is not None for one in self._open.values()):
            return  # UNSTABLE_OFFSET_COMMIT
        where = "admin", self._next(), GROUP, "in", 0, 0, self._pass(), self._pass()
        self.history.add(
            Committed(*where, self._committed_input, is_final=is_final, is_stable=True)
        )


# One anomaly each; False where there is no place for it


def _tear(history: History, random_: random.Random) -> bool:
    """Of a transaction of which two records were read at the end one is read nowhere."""
    finals = [poll for poll in history.polls if poll.is_final]
    shown = {value for poll in finals for _, value in poll.records}
    by_transaction: dict[int, list[bytes]] = {}
    for send in history.sends:
        if send.value in shown and send.transaction is not None:
            by_transaction.setdefault(send.transaction, []).append(send.value)
    torn = [values for values in by_transaction.values() if len(values) > 1]
    if not torn:
        return False
    _hide(history, random_.choice(random_.choice(torn)))
    return True


def _hide(history: History, value: bytes) -> None:
    history.polls = [
        replace(poll, records=tuple(one for one in poll.records if one[1] != value))
        if poll.is_committed
        else poll
        for poll in history.polls
    ]


def _show_aborted(history: History, random_: random.Random) -> bool:
    aborted = {one.number for one in history.transactions if one.outcome == "fail"}
    sends = [send for send in history.sends if send.transaction in aborted]
    if not sends:
        return False
    _show(history, random_.choice(sends))
    return True


def _show(history: History, send: Send) -> None:
    at, poll = next(
        (at, poll)
        for at, poll in enumerate(history.polls)
        if poll.is_final and poll.partition == send.partition
    )
    records = sorted([*poll.records, (send.offset or 0, send.value)])
    history.polls[at] = replace(poll, records=tuple(records))


def _show_early(history: History, random_: random.Random) -> bool:
    shown = {value: poll for poll in history.polls if poll.is_final for _, value in poll.records}
    calls = {one.number: one for one in history.transactions}
    sends = [send for send in history.sends if send.value in shown]
    if not sends:
        return False
    send = random_.choice(sends)
    call = calls[send.transaction or 0]
    at_s = (call.commit_begun_s or 0.0) - 0.01
    history.add(
        replace(
            shown[send.value],
            process="early",
            number=100_000,
            is_final=False,
            invoked_s=at_s,
            ended_s=at_s,
            position=send.offset or 0,
            end=(send.offset or 0) + 1,
            records=((send.offset or 0, send.value),),
        )
    )
    return True


def _depend_on_a_successor(history: History, random_: random.Random) -> bool:
    """A transaction reads, before it appends, what another wrote behind its append."""
    partitions: dict[int, list[Send]] = {}
    finals = {value for poll in history.polls if poll.is_final for _, value in poll.records}
    for send in history.sends:
        if send.value in finals:
            partitions.setdefault(send.partition, []).append(send)
    pairs = [
        (before, after)
        for sends in partitions.values()
        for before, after in pairwise(sends)
        if before.transaction != after.transaction
    ]
    if not pairs:
        return False
    before, after = random_.choice(pairs)
    offset = after.offset or 0
    history.add(
        Poll(
            *("reads-ahead", 100_000, TOPIC, 0, after.partition),
            *(before.invoked_s - 0.01, before.invoked_s - 0.01),
            *(offset, ((offset, after.value),)),
            isolation_level="read_committed",
            transaction=before.transaction,
        )
    )
    return True


_SPOILERS: dict[str, Callable[[History, random.Random], bool]] = {
    "torn-transaction": _tear,
    "aborted-read": _show_aborted,
    "precommitted-read": _show_early,
    "G1c": _depend_on_a_successor,
}
TRANSACTION_KINDS = tuple(_SPOILERS)


def spoil_transaction(kind: str, history: History, seed: int) -> bool:
    """Put one anomaly of this kind into the history; False where there is no place for it."""
    return _SPOILERS[kind](history, random.Random(seed))


def outcomes(history: History) -> set[Outcome]:
    """Outcomes of the transactions."""
    return {one.outcome for one in history.transactions}
