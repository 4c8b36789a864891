"""The checks of the Raft suite: each finds what was planted for it, and nothing in its twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tidelog.raft import rules
from tidelog.raft.durable_state import WalEntry
from tidelog.raft.replicated_log import CommittedEntry
from tidelog.simulation.raft.contact_checks import ContactChecks
from tidelog.simulation.raft.log_checks import LogChecks
from tidelog.simulation.raft.machine import Command, KeyValueMachine, Outcome
from tidelog.simulation.raft.state_checks import StateChecks
from tidelog.simulation.raft.wire_checks import WireChecks
from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import RaftMessage


@dataclass
class FakeLog:
    """A log by the terms of its entries; entry `index` of `term` says `index.term`."""

    terms: list[int] = field(default_factory=list)
    base_index: int = 0
    base_term: int = 0
    says: Callable[[int, int], bytes] = lambda index, term: b"%d.%d" % (index, term)

    @property
    def last_index(self) -> int:
        return self.base_index + len(self.terms)

    def term_at(self, index: int) -> int | None:
        if index == self.base_index:
            return self.base_term
        is_inside = self.base_index < index <= self.last_index
        return self.terms[index - self.base_index - 1] if is_inside else None

    def entries_from(self, index: int, *, max_entries: int, max_bytes: int) -> list[WalEntry]:
        terms = self.terms[index - self.base_index - 1 :]
        return [WalEntry(self.says(i, term), i, term) for i, term in enumerate(terms, start=index)]


class Stage:
    """Checks of all kinds on one `Findings`, and short ways to feed them."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.logs = LogChecks(self.findings)
        self.states = StateChecks(self.findings)
        self.elected: list[tuple[int, int]] = []
        self.wire = WireChecks(
            self.findings, on_elected=lambda node, term: self.elected.append((node, term))
        )
        for node_id in (1, 2, 3):
            self.begin(node_id)

    def begin(self, node_id: int) -> None:
        self.logs.begin_life(node_id)
        self.states.begin_life(node_id)

    def look(
        self, node_id: int, log: FakeLog, *, term: int = 1, commit: int = 0, applied: int = 0
    ) -> None:
        self.logs.look(node_id, log, term=term, commit_index=commit, applied_index=applied)

    def said(self, sender: int, term: int, body: str, receiver: int = 9) -> None:
        message = RaftMessage(sender_id=sender, receiver_id=receiver, term=term)
        getattr(message, body).SetInParent()
        self.wire.on_sent(message)

    @property
    def violated(self) -> list[str]:
        return [violation.invariant for violation in self.findings.violations]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def entry(index: int, term: int = 1, *, command_id: int | None = None) -> CommittedEntry:
    command = Command(command_id=command_id or index, attempt=1, key=1, value=index)
    return CommittedEntry(index, term, command.encode())


# The wire


def test_two_leaders_of_one_term(stage: Stage) -> None:
    stage.said(1, 4, "append_entries")
    stage.said(1, 4, "install_snapshot")
    stage.said(2, 5, "append_entries")
    assert stage.violated == []
    assert stage.elected == [(1, 4), (2, 5)]

    stage.said(3, 5, "install_snapshot")

    assert stage.violated == ["I17"]


def test_two_votes_in_one_term_even_over_a_wiped_disk(stage: Stage) -> None:
    stage.said(1, 4, "vote_granted", receiver=2)
    stage.said(1, 4, "vote_granted", receiver=2)
    stage.said(1, 5, "vote_granted", receiver=3)
    assert stage.violated == []

    stage.wire.on_wiped(1)
    stage.said(1, 4, "vote_granted", receiver=3)

    assert stage.violated == ["I19"]


def test_vote_for_another_after_standing_oneself(stage: Stage) -> None:
    stage.said(1, 4, "request_vote", receiver=2)
    stage.said(1, 4, "request_vote", receiver=3)
    assert stage.violated == []

    stage.said(1, 4, "vote_granted", receiver=2)

    assert stage.violated == ["I19"]


def test_term_falls_but_not_on_a_new_disk(stage: Stage) -> None:
    stage.said(1, 4, "pre_vote")
    stage.wire.on_wiped(1)
    stage.said(1, 2, "rejoin")
    assert stage.violated == []

    stage.said(1, 1, "pre_vote")

    assert stage.violated == ["term_falls"]


# Logs


def test_entries_of_one_index_and_term_with_other_commands(stage: Stage) -> None:
    stage.look(1, FakeLog([1, 1]))
    stage.look(2, FakeLog([1, 1]))
    assert stage.violated == []

    stage.look(3, FakeLog([1, 1], says=lambda index, _: b"other" if index == 2 else b"1.1"))

    assert stage.violated == ["log_matching"]


def test_entries_of_one_index_and_term_after_other_entries(stage: Stage) -> None:
    stage.look(1, FakeLog([1, 2, 3]))
    stage.look(2, FakeLog([1, 1]))
    assert stage.violated == []

    stage.look(2, FakeLog([1, 1, 3]), term=3)

    assert stage.violated == ["log_matching"]


def test_change_behind_an_equal_end_is_found_by_the_whole_look(stage: Stage) -> None:
    log = FakeLog([1, 2, 3])
    stage.look(1, log)
    log.terms[1] = 1
    stage.look(1, log)
    assert stage.violated == []

    stage.logs.look_at_whole(1, log)

    assert stage.violated == ["log_matching"]


def test_snapshot_in_place_of_the_log_is_no_violation(stage: Stage) -> None:
    stage.look(1, FakeLog([1, 1, 2, 2, 2]), term=2, commit=5, applied=5)
    stage.look(2, FakeLog([1, 1, 1]))
    stage.look(2, FakeLog([], base_index=4, base_term=2), term=2, commit=4, applied=4)
    stage.look(2, FakeLog([2], base_index=4, base_term=2), term=2, commit=5, applied=5)
    stage.logs.on_elected(2, 3, FakeLog([2], base_index=4, base_term=2))

    assert stage.violated == []


def test_truncations_are_counted_and_fine_while_uncommitted(stage: Stage) -> None:
    stage.look(1, FakeLog([1, 1, 1, 1]), commit=2, applied=2)
    stage.look(1, FakeLog([1, 1, 2]), term=2, commit=2, applied=2)

    assert stage.violated == []
    assert stage.findings.coverage["truncated_entries"] == 2


def test_committed_entry_is_removed(stage: Stage) -> None:
    stage.look(1, FakeLog([1, 1, 1]), commit=2, applied=2)

    stage.look(1, FakeLog([1, 2]), term=2, commit=2, applied=2)

    assert stage.violated == ["committed_entry_changed"]


def test_two_voters_hold_different_entries_committed(stage: Stage) -> None:
    stage.look(1, FakeLog([1, 1]), commit=2, applied=2)
    stage.look(2, FakeLog([1, 2]), term=2, commit=1, applied=1)
    assert stage.violated == []

    stage.look(2, FakeLog([1, 2]), term=2, commit=2, applied=1)

    assert stage.violated == ["I16"]


def test_voter_tells_that_what_it_lacks_is_committed(stage: Stage) -> None:
    stage.logs.look(1, FakeLog([1]), term=1, commit_index=1, applied_index=1, announced_index=2)

    assert stage.violated == ["I16"]


def test_leader_lacks_what_was_committed_in_an_earlier_term(stage: Stage) -> None:
    stage.look(1, FakeLog([1, 1]), commit=2, applied=2)
    stage.logs.on_elected(2, 1, FakeLog([1]))
    stage.logs.on_elected(2, 3, FakeLog([1, 1, 3]))
    assert stage.violated == []

    stage.logs.on_elected(3, 4, FakeLog([1, 4]))

    assert stage.violated == ["leader_completeness"]


@pytest.mark.parametrize(
    ("commit", "applied", "invariant"),
    [(1, 1, "commit_index_falls"), (2, 1, "I18"), (2, 3, "I16")],
)
def test_indexes_fall_or_overtake(stage: Stage, commit: int, applied: int, invariant: str) -> None:
    log = FakeLog([1, 1, 1])
    stage.look(1, log, commit=2, applied=2)
    stage.begin(2)
    stage.look(2, log, commit=1, applied=1)
    assert stage.violated == []

    stage.look(1, log, commit=commit, applied=applied)

    assert stage.violated[0] == invariant


# States


def test_voters_apply_different_entries(stage: Stage) -> None:
    stage.states.on_applied(1, entry(1), 5)
    stage.states.on_applied(2, entry(1), 5)
    assert stage.violated == []

    stage.states.on_applied(3, entry(1, command_id=9), 5)

    assert stage.violated == ["I16"]


def test_voters_reach_different_states(stage: Stage) -> None:
    stage.states.on_applied(1, entry(1), 5)

    stage.states.on_applied(2, entry(1), 6)

    assert stage.violated == ["state_hash"]


def test_voter_skips_an_entry(stage: Stage) -> None:
    for index in (1, 3):
        stage.states.on_applied(1, entry(index), index)
    stage.states.on_applied(2, entry(1), 1)
    assert stage.violated == []
    stage.states.on_applied(1, entry(5), 5)

    stage.states.on_applied(2, entry(5), 5)

    assert stage.violated == ["I16"]


def test_voter_applies_an_entry_twice_in_one_life(stage: Stage) -> None:
    stage.states.on_applied(1, entry(1), 5)
    stage.begin(1)
    stage.states.on_applied(1, entry(1), 5)
    assert stage.violated == []

    stage.states.on_applied(1, entry(1), 5)

    assert stage.violated == ["I18"]


@pytest.mark.parametrize(
    ("index", "term", "state", "violated"),
    [
        (2, 1, 6, []),
        (3, 1, 6, []),
        (3, 2, 6, []),
        (2, 1, 5, ["state_hash"]),
        (2, 2, 6, ["I16"]),
    ],
)
def test_snapshot_must_be_what_was_applied(
    stage: Stage, index: int, term: int, state: int, violated: list[str]
) -> None:
    stage.states.on_applied(1, entry(1), 5)
    stage.states.on_applied(1, entry(2), 6)

    stage.states.on_restored(2, index, term, state)

    assert stage.violated == violated


def test_snapshot_takes_a_voter_back(stage: Stage) -> None:
    stage.states.on_applied(1, entry(1), 5)
    stage.states.on_applied(1, entry(2), 6)

    stage.states.on_restored(1, 1, 1, 5)

    assert stage.violated == ["I18"]


def test_refused_command_is_applied_before_or_after(stage: Stage) -> None:
    before, after = Command(1, 1, 1, 1), Command(2, 1, 1, 2)
    again = Command(2, 2, 1, 2)
    stage.states.on_applied(1, CommittedEntry(1, 1, before.encode()), 5)
    stage.states.on_refused(after)
    stage.states.on_applied(1, CommittedEntry(2, 1, again.encode()), 6)
    assert stage.violated == []

    stage.states.on_refused(before)
    stage.states.on_applied(1, CommittedEntry(3, 1, after.encode()), 6)

    assert stage.violated == ["refused_but_applied"] * 2


def test_acknowledged_command_is_not_applied_or_gone_at_the_end(stage: Stage) -> None:
    machine = machine_of(entry(1))
    stage.states.on_applied(1, entry(1), machine.state_hash)
    stage.states.on_acknowledged(entry(1))
    stage.states.finish({1: machine})
    assert stage.violated == []

    stage.states.finish({1: machine, 2: machine_of()})
    stage.states.on_acknowledged(entry(2))

    assert stage.violated == ["acknowledged_lost"] * 2


# Contact


@pytest.fixture
def contacts(stage: Stage) -> ContactChecks:
    checks = ContactChecks(stage.findings, voters=3, timeout_s_min=0.3, timeout_s_max=0.6)
    for node_id in (1, 2, 3):
        checks.begin_life(node_id, 0.0)
    return checks


def message(sender: int, term: int, body: str, receiver: int = 9) -> RaftMessage:
    made = RaftMessage(sender_id=sender, receiver_id=receiver, term=term, incarnation=1)
    getattr(made, body).SetInParent()
    return made


def deliver(contacts: ContactChecks, said: RaftMessage, now_s: float, *, term: int = 4) -> None:
    contacts.on_delivered(1, said, now_s, term=term)


def speak(contacts: ContactChecks, said: RaftMessage, now_s: float) -> None:
    contacts.on_sent(said, now_s, sync_s=0.01, can_lose_connections=False)


def test_leader_goes_on_without_a_majority(stage: Stage, contacts: ContactChecks) -> None:
    lead = message(1, 4, "append_entries")
    speak(contacts, lead, 10.0)
    speak(contacts, lead, 11.1)
    deliver(contacts, message(2, 4, "append_entries_reply"), 11.1)
    speak(contacts, lead, 12.3)
    contacts.on_resumed(1, 14.0)
    speak(contacts, lead, 15.2)
    assert stage.violated == []

    deliver(contacts, message(2, 3, "append_entries_reply"), 15.3)
    speak(contacts, lead, 15.4)

    assert stage.violated == ["check_quorum"]


def test_voter_that_hears_the_leader_helps_to_depose_it(
    stage: Stage, contacts: ContactChecks
) -> None:
    granted = message(1, 4, "pre_vote_reply", receiver=3)
    granted.pre_vote_reply.is_granted = True
    deliver(contacts, message(2, 4, "append_entries"), 10.0)
    deliver(contacts, message(3, 4, "pre_vote"), 10.2)
    deliver(contacts, message(2, 4, "append_entries"), 10.3)  # after the question
    speak(contacts, granted, 10.31)
    deliver(contacts, message(3, 4, "pre_vote"), 10.4)
    speak(contacts, message(1, 4, "pre_vote_reply", receiver=3), 10.4)
    assert stage.violated == []

    deliver(contacts, message(3, 4, "pre_vote"), 10.5)
    speak(contacts, granted, 10.5)

    assert stage.violated == ["leader_stickiness"]


def test_what_an_earlier_process_of_the_leader_said_is_not_heard(
    stage: Stage, contacts: ContactChecks
) -> None:
    granted = message(1, 4, "pre_vote_reply", receiver=3)
    granted.pre_vote_reply.is_granted = True
    restarted = message(2, 4, "pre_vote")
    restarted.incarnation = 2
    deliver(contacts, message(2, 4, "append_entries"), 10.0)
    deliver(contacts, restarted, 10.1)
    deliver(contacts, message(2, 4, "append_entries"), 10.15)
    deliver(contacts, message(3, 4, "pre_vote"), 10.2)

    speak(contacts, granted, 10.2)

    assert stage.violated == []


def test_what_comes_from_too_far_ahead_is_not_heard_but_climbed_to(
    stage: Stage, contacts: ContactChecks
) -> None:
    far = 4 + rules.LEAP_MAX + 1
    granted = message(1, far, "pre_vote_reply", receiver=3)
    granted.pre_vote_reply.is_granted = True
    lead = message(2, far, "append_entries")
    lead.incarnation = rules.CLOCK_MS_MAX + rules.LEAP_MAX + 1
    deliver(contacts, lead, 10.0, term=far)  # the incarnation is not reached
    deliver(contacts, lead, 10.1, term=4)  # nor is the term
    deliver(contacts, message(3, far, "pre_vote"), 10.2, term=far)
    speak(contacts, granted, 10.2)
    assert stage.violated == []

    deliver(contacts, lead, 10.3, term=far)
    deliver(contacts, message(3, far, "pre_vote"), 10.4, term=far)
    speak(contacts, granted, 10.4)

    assert stage.violated == ["leader_stickiness"]


def test_who_else_claims_the_term_of_the_leader_is_not_heard(
    stage: Stage, contacts: ContactChecks
) -> None:
    granted = message(1, 4, "pre_vote_reply", receiver=3)
    granted.pre_vote_reply.is_granted = True
    deliver(contacts, message(2, 4, "append_entries"), 10.0)
    deliver(contacts, message(3, 4, "append_entries"), 10.2)
    deliver(contacts, message(3, 4, "pre_vote"), 10.31)

    speak(contacts, granted, 10.31)

    assert stage.violated == []


# The state machine


def machine_of(*entries: CommittedEntry) -> KeyValueMachine:
    machine = KeyValueMachine(
        on_applied=lambda _entry, _hash: None, on_restored=lambda _index, _term, _hash: None
    )
    for each in entries:
        machine.apply(each)
    return machine


def committed(index: int, command: Command) -> CommittedEntry:
    return CommittedEntry(index, 1, command.encode())


def test_command_is_applied_once_however_often_it_is_committed() -> None:
    first = committed(1, Command(1, 1, key=7, value=1))
    other = committed(2, Command(2, 1, key=7, value=2, is_conditional=True, expected=1))
    again = committed(3, Command(1, 2, key=7, value=1))
    failing = committed(4, Command(3, 1, key=7, value=3, is_conditional=True, expected=1))

    machine = machine_of(first, other, again, failing)

    assert machine.values == {7: 2}
    assert machine.outcomes == {1: Outcome(True, None), 2: Outcome(True, 1), 3: Outcome(False, 2)}


def test_snapshot_gives_the_same_state_and_is_frozen_when_it_is_taken() -> None:
    machine = machine_of(entry(1), entry(2))
    old_hash, records = machine.state_hash, machine.records()
    machine.apply(entry(3))

    copy = machine_of(entry(9))
    copy.restore(records, index=2, term=1)

    assert copy.state_hash == old_hash != machine.state_hash
    copy.apply(entry(3))
    assert copy.state_hash == machine.state_hash
    assert (copy.values, copy.outcomes) == (machine.values, machine.outcomes)
