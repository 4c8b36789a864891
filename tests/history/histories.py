"""Makes histories that a right log could have had, out of a seed; and ways to spoil them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from msgspec.structs import replace

from tidelog.history.history import Deletion, History, Keeping, Outcome, Parts, Poll, Send

TOPICS = ("kept", "lossy", "again")


@dataclass(slots=True)
class _Log:
    """One partition of one incarnation: values by offset; what is below `committed` stays."""

    topic: str
    incarnation: int
    partition: int
    values: list[bytes] = field(default_factory=list)
    committed: int = 0


class HistoryMaker:
    """Plays clients on a few logs. Every call takes some time; several overlap."""

    def __init__(self, seed: int) -> None:
        self.history = History(lossy_topics={"lossy"})
        self._random = random.Random(seed)
        self._now_s = 0.0
        self._number = 0
        self._logs = [_Log(topic, 0, partition) for topic in TOPICS for partition in range(2)]
        self._positions: dict[tuple[str, str, int, int], int] = {}
        self._is_rewound: set[tuple[str, str, int, int]] = set()

    def make(self, calls: int = 150) -> History:
        """A whole history, its final polls last."""
        for step in range(calls):
            self._now_s += self._random.random()
            log = self._random.choice(self._logs)
            draw = self._random.random()
            if draw < 0.55:
                self._send(log)
            elif draw < 0.9:
                self._poll(log, f"reader-{self._random.randrange(2)}", is_final=False)
            else:
                self._lose_tail(log)
            if step == calls // 2:
                self._create_again()
        self._now_s += 10
        for log in self._logs:
            log.committed = len(log.values)
            self._poll(log, "last", is_final=True, limit=7)
            while self._positions["last", log.topic, log.incarnation, log.partition] < len(
                log.values
            ):
                self._poll(log, "last", is_final=True, limit=7)
        return self.history

    def _send(self, log: _Log) -> None:
        number = self._next_number()
        is_idempotent = self._random.random() < 0.5
        acks = -1 if is_idempotent or self._random.random() < 0.5 else 1
        outcome: Outcome = self._random.choice(["ok", "ok", "ok", "fail", "unknown"])
        value = b"%s-%d" % (log.topic.encode(), number)
        copies = 0 if outcome == "fail" else 1
        if outcome == "unknown":
            copies = self._random.randrange(2)
        if copies and not is_idempotent and self._random.random() < 0.1:
            copies = 2
        log.values += [value] * copies
        offset = len(log.values) - 1
        if acks == -1 and outcome == "ok":
            log.committed = len(log.values)
        duration_s = self._random.random()
        send = Send(
            process=("idempotent" if is_idempotent else "plain") + f"-{self._random.randrange(2)}",
            number=number,
            topic=log.topic,
            incarnation=log.incarnation,
            partition=log.partition,
            value=value,
            acks=acks,
            is_idempotent=is_idempotent,
            invoked_s=self._now_s,
            ended_s=None if outcome == "unknown" and duration_s < 0.5 else self._now_s + duration_s,
            outcome=outcome,
            offset=offset if outcome == "ok" else None,
            reason="" if outcome == "ok" else "the test says so",
            parts=parts_of(value) if number % 2 else None,
        )
        self.history.sends.append(send)

    def _poll(self, log: _Log, process: str, *, is_final: bool, limit: int = 5) -> None:
        reader = (process, log.topic, log.incarnation, log.partition)
        position = self._positions.get(reader, 0)
        end = min(position + self._random.randrange(1, limit + 1), log.committed)
        records = tuple((offset, log.values[offset]) for offset in range(position, end))
        poll = Poll(
            process=process,
            number=self._next_number(),
            topic=log.topic,
            incarnation=log.incarnation,
            partition=log.partition,
            invoked_s=self._now_s,
            ended_s=self._now_s + 0.1,
            position=position,
            records=records,
            is_final=is_final,
            is_rewound=reader in self._is_rewound,
            parts=tuple(parts_of(value) for _, value in records) if self._number % 2 else (),
        )
        self._is_rewound.discard(reader)
        self._positions[reader] = position + len(records)
        self.history.polls.append(poll)

    def _lose_tail(self, log: _Log) -> None:
        """A clean election loses what is not committed, an unclean one anything."""
        start = log.committed
        if log.topic == "lossy":
            start = log.committed = self._random.randrange(log.committed + 1)
        del log.values[start:]
        for reader, position in self._positions.items():
            if reader[1:] == (log.topic, log.incarnation, log.partition) and position > start:
                self._positions[reader] = start
                self._is_rewound.add(reader)

    def _create_again(self) -> None:
        self._now_s += 2
        self._logs = [log for log in self._logs if log.topic != "again"]
        self._logs += [_Log("again", 1, partition) for partition in range(2)]

    def _next_number(self) -> int:
        self._number += 1
        return self._number


def spoil(kind: str, history: History, seed: int) -> bool:
    """Put one anomaly of this kind into the history; False where there is no place for it."""
    return _SPOILERS[kind](_Spoiler(history, random.Random(seed)))


class _Spoiler:
    def __init__(self, history: History, random_: random.Random) -> None:
        self.history = history
        self.random = random_

    def pick_send(self, **wanted: object) -> int | None:
        """The index of an acknowledged acks=all send of the kept topic with these fields."""
        wanted = {"topic": "kept", "acks": -1, "outcome": "ok", **wanted}
        return self._pick(
            [
                index
                for index, send in enumerate(self.history.sends)
                if all(getattr(send, name) == value for name, value in wanted.items())
            ]
        )

    def pick_poll(self, *, least: int, is_final: bool | None = None) -> int | None:
        """The index of a poll of the kept topic with so many records."""
        return self._pick(
            [
                index
                for index, poll in enumerate(self.history.polls)
                if poll.topic == "kept"
                and len(poll.records) >= least
                and is_final in (None, poll.is_final)
            ]
        )

    def _pick(self, indexes: list[int]) -> int | None:
        return self.random.choice(indexes) if indexes else None

    def change_records(self, at: int, records: list[tuple[int, bytes]]) -> None:
        poll = self.history.polls[at]
        parts = tuple(parts_of(value) for _, value in records) if poll.parts else ()
        self.history.polls[at] = replace(poll, records=tuple(records), parts=parts)

    # One anomaly each

    def lose(self) -> bool:
        """Others' values move down into the place of an acknowledged one."""
        at = self.pick_poll(least=2, is_final=True)
        if at is None:
            return False
        records = list(self.history.polls[at].records)
        sure = {(s.offset, s.value) for s in self.history.sends if s.acks == -1}
        if records[0] not in sure:
            return False
        records[0] = (records[0][0], records[1][1])
        self.change_records(at, records)
        return True

    def end_early(self) -> bool:
        at = self.pick_send()
        if at is None:
            return False
        send = self.history.sends[at]
        self.history.polls = [
            poll
            for poll in self.history.polls
            if not (poll.is_final and _key(poll) == _key(send) and poll.position >= 0)
        ]
        return True

    def vanish(self) -> bool:
        at = self.pick_poll(least=1, is_final=False)
        if at is None:
            return False
        shown = self.history.polls[at]
        gone = shown.records[-1][0]
        for index, poll in enumerate(self.history.polls):
            if poll.is_final and _key(poll) == _key(shown):
                self.change_records(index, [r for r in poll.records if r[0] < gone])
        return True

    def delete(self) -> bool:
        """A deletion was acknowledged whose records the final polls show."""
        at = self.pick_poll(least=1, is_final=True)
        if at is None:
            return False
        shown = self.history.polls[at]
        self.history.deletions.append(
            Deletion(
                process="admin",
                number=10**6,
                topic=shown.topic,
                incarnation=shown.incarnation,
                partition=shown.partition,
                before=shown.records[0][0] + 1,
                invoked_s=0.0,
                outcome="ok",
                ended_s=shown.invoked_s - 0.1,
                offset=shown.records[0][0] + 1,
            )
        )
        return True

    def resurrect(self) -> bool:
        """A tombstone that nobody is shown follows the last record of its key."""
        at = self.pick_poll(least=1, is_final=True)
        if at is None or not self.history.polls[at].parts:
            return False
        self.history.keeping["kept"] = Keeping(is_compacted=True)
        shown = self.history.polls[at]
        end = shown.position + 10**6
        tombstone = a_send(shown, parts=replace(shown.parts[0], is_null=True), offset=end)
        self.history.sends.append(tombstone)
        passing = replace(
            shown,
            process="passing",
            number=10**6,
            invoked_s=tombstone.invoked_s + 0.2,
            ended_s=tombstone.invoked_s + 0.3,
            position=end,
            records=(),
            parts=(),
            is_final=False,
            end=end + 1,
        )
        self.history.polls = [
            replace(one, invoked_s=one.invoked_s + 100, ended_s=one.ended_s + 100)
            if one.is_final
            else one
            for one in self.history.polls
        ]
        self.history.polls.append(passing)
        return True

    def contradict(self) -> bool:
        at, other = self.pick_poll(least=1), self.pick_send()
        if at is None or other is None:
            return False
        records = list(self.history.polls[at].records)
        if records[-1][1] == self.history.sends[other].value:
            return False
        # Where another poll or an acknowledgement says otherwise: the final polls all do.
        records[-1] = (records[-1][0], self.history.sends[other].value)
        self.history.polls.append(
            replace(
                self.history.polls[at],
                process="contrary",
                records=(records[-1],),
                parts=(),
                position=records[-1][0],
            )
        )
        return True

    def store_twice(self) -> bool:
        at = self.pick_send(is_idempotent=True)
        if at is None:
            return False
        send = self.history.sends[at]
        last = max(
            (i for i, poll in enumerate(self.history.polls) if poll.is_final),
            key=lambda i: (_key(self.history.polls[i]) == _key(send), i),
        )
        poll = self.history.polls[last]
        end = poll.position + len(poll.records)
        self.change_records(last, [*poll.records, (end, send.value)])
        return True

    def refuse(self) -> bool:
        at = self.pick_poll(least=1)
        if at is None:
            return False
        _, value = self.history.polls[at].records[0]
        for index, send in enumerate(self.history.sends):
            if send.value == value:
                self.history.sends[index] = replace(send, outcome="fail", offset=None)
        return True

    def invent(self) -> bool:
        at = self.pick_poll(least=1)
        if at is None:
            return False
        records = list(self.history.polls[at].records)
        self.change_records(at, [*records[:-1], (records[-1][0], b"nobody's")])
        return True

    def reincarnate(self) -> bool:
        old = [
            send
            for send in self.history.sends
            if (send.topic, send.incarnation, send.outcome) == ("again", 0, "ok")
        ]
        new = [i for i, p in enumerate(self.history.polls) if p.incarnation == 1 and p.records]
        if not old or not new:
            return False
        at = new[0]
        records = list(self.history.polls[at].records)
        self.change_records(at, [*records[:-1], (records[-1][0], old[0].value)])
        return True

    def alter(self) -> bool:
        """Two records of a poll change their keys."""
        known = {send.value for send in self.history.sends if send.parts}
        for at, poll in enumerate(self.history.polls):
            if poll.parts and poll.records[0][1] in known:
                altered = replace(poll.parts[0], key=b"another's")
                self.history.polls[at] = replace(poll, parts=(altered, *poll.parts[1:]))
                return True
        return False

    def skip(self) -> bool:
        at = self.pick_poll(least=3)
        if at is None:
            return False
        records = list(self.history.polls[at].records)
        del records[1]
        self.change_records(at, records)
        return True

    def go_back(self) -> bool:
        at = self.pick_poll(least=2)
        if at is None:
            return False
        poll = self.history.polls[at]
        self.history.polls.append(replace(poll, number=10**6, position=poll.position))
        return True

    def swap_sends(self) -> bool:
        """Two acknowledged offsets of one idempotent producer change places."""
        first = self.pick_send(is_idempotent=True)
        if first is None:
            return False
        a = self.history.sends[first]
        for second, b in enumerate(self.history.sends):
            if second > first and b.outcome == "ok" and _writer(a) == _writer(b):
                self.history.sends[first] = replace(a, offset=b.offset)
                self.history.sends[second] = replace(b, offset=a.offset)
                return True
        return False

    def overtake(self) -> bool:
        first = self.pick_send()
        if first is None:
            return False
        a = self.history.sends[first]
        for second, b in enumerate(self.history.sends):
            is_later = a.ended_s is not None and b.invoked_s > a.ended_s
            is_sure = b.outcome == "ok" and b.acks == -1
            if is_later and is_sure and a.process != b.process and _key(a) == _key(b):
                self.history.sends[first] = replace(a, offset=b.offset)
                self.history.sends[second] = replace(b, offset=a.offset)
                return True
        return False


def a_send(like: Poll, *, parts: Parts, offset: int) -> Send:
    """An acknowledged send to the partition of a poll, made just before."""
    return Send(
        process="late",
        number=10**6,
        topic=like.topic,
        incarnation=like.incarnation,
        partition=like.partition,
        value=b"tombstone",
        acks=-1,
        is_idempotent=True,
        invoked_s=like.invoked_s - 1.0,
        ended_s=like.invoked_s - 0.9,
        outcome="ok",
        offset=offset,
        parts=parts,
    )


def parts_of(value: bytes) -> Parts:
    """Parts of the record of a value."""
    return Parts(key=value[:3], headers=((value.decode(), value),), timestamp_ms=len(value))


def _key(call: Send | Poll) -> tuple[str, int, int]:
    return call.topic, call.incarnation, call.partition


def _writer(send: Send) -> tuple[object, ...]:
    return (*_key(send), send.process)


_SPOILERS = {
    "lost-write": _Spoiler.lose,
    "unseen": _Spoiler.end_early,
    "vanished": _Spoiler.vanish,
    "undeleted": _Spoiler.delete,
    "resurrected": _Spoiler.resurrect,
    "inconsistent-offsets": _Spoiler.contradict,
    "duplicate": _Spoiler.store_twice,
    "G1a": _Spoiler.refuse,
    "unwritten": _Spoiler.invent,
    "altered-record": _Spoiler.alter,
    "old-incarnation": _Spoiler.reincarnate,
    "poll-skip": _Spoiler.skip,
    "nonmonotonic-poll": _Spoiler.go_back,
    "nonmonotonic-send": _Spoiler.swap_sends,
    "realtime-order": _Spoiler.overtake,
}
KINDS = tuple(_SPOILERS)
