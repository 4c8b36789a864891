"""Verdict on a seed: whether Tidelog kept what it promised to the clients of the test.

The records that lie in the leaders' logs at rest are the end of the history, and the checks are
those of the product's own suites. They know records by values that occur once; those of a user
may repeat, so an acknowledged record is known by its offset. What nobody can tell apart is counted.
The logs hold aborted records, too: each reading is judged by its reader's isolation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.chaos.node_inside import held_by, log_of
from tidelog.client import TopicPartition
from tidelog.history.checks.delivery import judge
from tidelog.history.history import History, Poll, Send
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import TopicImage
from tidelog.metadata.topic_rules import effective_config
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG
from tidelog.records.records import iter_records
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.inside import Cursor, active_controller, broker_epoch, walk
from tidelog.testing.sim.errors import BrokenPromiseError, NotSettledError
from tidelog.testing.sim.recording import Recording, Seen, Sent
from tidelog.testing.sim.target import SimulatedTarget

Content: TypeAlias = tuple[bytes | None, bytes | None, bool]
"""Key and value of a record, and whether it belongs to a transaction."""

COMPLAINTS_SHOWN_MAX = 5


def check(recording: Recording, target: SimulatedTarget) -> dict[str, int]:
    """Judge all that was sent and read; return the counts of the history.

    Raises `BrokenPromiseError`, or `NotSettledError` while the cluster is not at rest.
    """
    restless = next(find_restless(recording, target), None)
    if restless is not None:  # records would seem to be lost, or topics deleted
        raise NotSettledError(
            f"{restless}, so nobody knows what the logs hold: `await sim.settle()` before "
            "`sim.check()`"
        )
    verdict = _Verdict(recording, target)
    complaints, counts = judge(verdict.history)
    if complaints:
        shown = "\n".join(f"  {one}" for one in complaints[:COMPLAINTS_SHOWN_MAX])
        raise BrokenPromiseError(
            f"{len(complaints)} promises of Tidelog were broken: this is a bug of Tidelog and not "
            f"of the test, please report it with the seed and the test\n{shown}"
        )
    return {
        **counts,
        "matched_by_value": verdict.matched_by_value,
        "unrecorded": verdict.unrecorded,
    }


def find_restless(recording: Recording, target: SimulatedTarget) -> Iterator[str]:
    """Yield what does not know yet what clients were promised, as nodes that have just started."""
    image = target.image
    if active_controller(target.cluster) is None:
        yield "no controller is active"
    for node_id in target.config.broker_ids:
        known = image.brokers.get(node_id)
        epoch = broker_epoch(target.machine(node_id))
        if target.is_up(node_id) and (known is None or known.broker_epoch != epoch):
            yield f"broker {node_id} has not registered since its start"
    promised: dict[TopicPartition, int] = {}
    for one in recording.sent:
        if one.outcome == "ok" and one.offset is not None:
            promised[one.tp] = max(one.offset, promised.get(one.tp, -1))
    for topic, partition in image.partitions():
        tp = TopicPartition(topic.name, partition.partition)
        led = _led(target, tp)
        if led is None:
            yield f"{_name_of(tp)} has no leader"
        elif led[1].high_watermark < min(promised.get(tp, -1) + 1, led[1].log_end_offset):
            yield f"{_name_of(tp)} has a leader that does not know yet what is committed"


@dataclass(slots=True)
class _Place:
    """A partition at rest."""

    log_start: int
    end: int
    records: dict[int, Content]
    """By offset; those of aborted transactions, too."""


@dataclass(slots=True)
class _Tokens:
    """Names of a partition's records that occur once."""

    by_offset: dict[int, bytes] = field(default_factory=dict)
    of: dict[Sent, bytes] = field(default_factory=dict)
    others: list[bytes] = field(default_factory=list)
    """Names of records that no recorded producer sent."""


class _Verdict:
    def __init__(self, recording: Recording, target: SimulatedTarget) -> None:
        self.matched_by_value = 0
        """Records without an acknowledgement that equal others: taken for the first that fits."""
        self.unrecorded = 0
        """Records that no recorded producer sent."""
        self._target = target
        self._recording = recording
        self.history = History()
        self.history.transactions.extend(recording.transactions)
        sent: dict[TopicPartition, list[Sent]] = defaultdict(list)
        for one in recording.sent:
            if self._is_of_now(one):
                sent[one.tp].append(one)
        seen: dict[TopicPartition, list[Seen]] = defaultdict(list)
        replaced = {one.tp.topic for one in recording.sent if not self._is_of_now(one)}
        for look in recording.seen:
            # a consumer may hand out late what it fetched of a topic that is another one by now
            if self._is_of_now(look) and look.tp.topic not in replaced:
                seen[look.tp].append(look)
        for tp in sorted({*sent, *seen}):
            self._add(tp, sent[tp], seen[tp])

    def _is_of_now(self, one: Sent | Seen) -> bool:
        """True for the topic as it is now: of one that was deleted nothing is promised any more."""
        return one.topic_id is not None and one.topic_id == self._target.topic_id(one.tp.topic)

    def _add(self, tp: TopicPartition, sent: list[Sent], seen: list[Seen]) -> None:
        place = _at_rest(self._target, tp)
        if _may_drop(self._target, self._target.image.topics[tp.topic]):
            self.history.lossy_topics.add(tp.topic)
        kept = [one for one in sent if one.offset is None or one.offset >= place.log_start]
        tokens = self._name_all(kept, place)
        self.history.sends.extend(_send(one, tokens.of[one]) for one in kept)
        self._add_reads(tp, seen, place, tokens)
        self.history.sends.extend(self._others(tp, tokens))
        records = tuple((offset, tokens.by_offset[offset]) for offset in sorted(place.records))
        self.history.polls.append(self._final_poll(tp, records, place))

    def _name_all(self, sent: list[Sent], place: _Place) -> _Tokens:
        tokens = _Tokens()
        for one in sent:
            tokens.of[one] = _token(one.value, f"#{one.number}")
        at = {one.offset: one for one in sent if one.offset is not None and one.outcome == "ok"}
        free: dict[Content, list[Sent]] = defaultdict(list)
        for one in sorted(sent, key=lambda one: one.outcome == "fail"):  # the last to be there
            if one.offset is None:
                free[_content(one)].append(one)
        repeated = {_content(one) for one in sent if not one.is_idempotent}
        stored = {_content(one): one for one in at.values() if one.is_idempotent}
        for content in repeated & stored.keys():
            del stored[content]  # a producer without idempotence may store it again
        unmatched: list[int] = []
        for offset, content in sorted(place.records.items()):
            there = at.get(offset)
            if there is not None and _content(there) == content:
                tokens.by_offset[offset] = tokens.of[there]
            elif candidates := free[content]:
                self.matched_by_value += len(candidates) > 1
                tokens.by_offset[offset] = tokens.of[candidates.pop(0)]
            else:
                unmatched.append(offset)
        self._name_unmatched(unmatched, place, stored, tokens)
        return tokens

    def _name_unmatched(
        self,
        offsets: list[int],
        place: _Place,
        stored: dict[Content, Sent],
        tokens: _Tokens,
    ) -> None:
        """Take a record that was stored before for a duplicate, if nobody unknown writes here."""
        has_others = any(place.records[offset] not in stored for offset in offsets)
        for offset in offsets:
            again = stored.get(place.records[offset])
            if again is not None and not has_others:
                tokens.by_offset[offset] = tokens.of[again]
                continue
            self.unrecorded += 1
            token = _token(place.records[offset][1], f"@{offset}")
            tokens.by_offset[offset] = token
            tokens.others.append(token)

    def _add_reads(
        self, tp: TopicPartition, seen: list[Seen], place: _Place, tokens: _Tokens
    ) -> None:
        last: dict[str, tuple[int, int]] = {}
        for one in seen:
            if one.offset < place.log_start:
                continue
            run, following = last.get(one.process, (0, one.offset))
            # a seek, a rebalance: another reader, as far as the checks are concerned
            run += one.offset != following
            last[one.process] = run, one.offset + 1
            token = self._token_of(one, place, tokens)
            self.history.polls.append(
                Poll(
                    process=f"{one.process}.{run}",
                    number=one.number,
                    topic=tp.topic,
                    incarnation=0,
                    partition=tp.partition,
                    invoked_s=one.at_s,
                    ended_s=one.at_s,
                    position=one.offset,
                    records=((one.offset, token),),
                    isolation_level=one.isolation,
                )
            )

    def _token_of(self, one: Seen, place: _Place, tokens: _Tokens) -> bytes:
        known = tokens.by_offset.get(one.offset)
        is_raw = one.value is None or isinstance(one.value, bytes)
        if known is not None and (not is_raw or place.records[one.offset][1] == one.value):
            return known
        for sent, token in tokens.of.items():
            if sent.offset == one.offset and sent.value == one.value:
                return token
        token = _token(one.value if isinstance(one.value, bytes) else None, f"read@{one.offset}")
        if token not in tokens.others:
            tokens.others.append(token)
        return token

    def _others(self, tp: TopicPartition, tokens: _Tokens) -> Iterator[Send]:
        for token in tokens.others:
            yield Send(
                process=f"others {tp.topic}-{tp.partition}",
                number=self._recording.next_number(),
                topic=tp.topic,
                incarnation=0,
                partition=tp.partition,
                value=token,
                acks=-1,
                is_idempotent=False,
                invoked_s=0.0,
                outcome="unknown",
            )

    def _final_poll(
        self, tp: TopicPartition, records: tuple[tuple[int, bytes], ...], place: _Place
    ) -> Poll:
        now_s = self._target.now_s
        return Poll(
            process="the leader's log",
            number=self._recording.next_number(),
            topic=tp.topic,
            incarnation=0,
            partition=tp.partition,
            invoked_s=now_s,
            ended_s=now_s,
            position=place.log_start,
            records=records,
            is_final=True,
            end=place.end,
        )


def _at_rest(target: SimulatedTarget, tp: TopicPartition) -> _Place:
    led = _led(target, tp)
    assert led is not None  # the cluster is at rest
    machine, log = led
    records: dict[int, Content] = {}
    for found in walk(log, machine.disk, Cursor(), end=log.high_watermark):
        header = found.header
        if header is None or header.attributes & CONTROL_FLAG:
            continue
        batch = machine.disk.look(found.path, found.position, header.size_in_bytes)
        for record in iter_records(batch):
            if record.offset >= log.log_start_offset:
                is_transactional = bool(header.attributes & TRANSACTIONAL_FLAG)
                records[record.offset] = record.key, record.value, is_transactional
    return _Place(log.log_start_offset, log.high_watermark, records)


def _led(target: SimulatedTarget, tp: TopicPartition) -> tuple[Machine, PartitionLog] | None:
    """Find the machine that leads a partition, and its log."""
    state = target.image.partition(*tp)
    if state is None or state.leader_id is None:
        return None
    machine = target.machine(state.leader_id)
    hosted = None if machine.node is None else held_by(machine.node).get((tp.topic, tp.partition))
    log = None if hosted is None else log_of(hosted)
    return None if log is None else (machine, log)


def _may_drop(target: SimulatedTarget, topic: TopicImage) -> bool:
    """True if its configuration lets records of it go: compaction, or an unclean election."""
    config = effective_config(topic, target.image)
    return config.is_compacted or config.unclean_leader_election_enable


def _send(one: Sent, token: bytes) -> Send:
    return Send(
        process=one.process,
        number=one.number,
        topic=one.tp.topic,
        incarnation=0,
        partition=one.tp.partition,
        value=token,
        acks=one.acks,
        is_idempotent=one.is_idempotent,
        invoked_s=one.invoked_s,
        outcome=one.outcome,
        ended_s=one.ended_s,
        offset=one.offset,
        reason=one.reason,
        transaction=one.transaction,
    )


def _content(one: Sent) -> Content:
    return one.key, one.value, one.transaction is not None


def _name_of(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"


def _token(value: bytes | None, place: str) -> bytes:
    return (b"null" if value is None else value) + b" " + place.encode()
