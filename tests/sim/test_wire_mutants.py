"""Mutants of Kafka's protocol: the wire suite notices them, and one is noticed by memory alone.

All of them: `tidelog sim mutants --suite wire`. What a hunt is: `test_raft_mutants`.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress

import pytest
from click.testing import CliRunner
from tests.plain_logs import configure_logs

from tidelog.broker.kafka.frame_reader import READ_BYTES, FrameReader
from tidelog.broker.kafka.request_budget import RequestBudget
from tidelog.broker.kafka.request_header import RefusedFrameError
from tidelog.cli.sim import sim
from tidelog.simulation.mutants.wire import ALL, MUTANTS, UNSEEN
from tidelog.simulation.suites.worker import silence_nodes

MUTANTS_MIN = 8
"""What the suite must at least catch."""
QUICK = {"epoch_ends_early": 0}
"""With a seed that notices."""
FRAME_BYTES_MAX, SAID_BYTES = 1 << 20, 64 << 20


@pytest.fixture(autouse=True)
def _silent_nodes() -> Iterator[None]:
    silence_nodes()
    yield
    configure_logs()


def test_every_mutant_has_a_claim() -> None:
    assert len(MUTANTS) >= MUTANTS_MIN
    assert ALL.keys() - MUTANTS.keys() == UNSEEN
    assert all(one.claim.endswith(".") for one in ALL.values())


@pytest.mark.turns(4)
@pytest.mark.sim
def test_a_seed_notices_a_mutant_and_the_control_does_not() -> None:
    name, seed = next(iter(QUICK.items()))
    options = ["mutants", "--suite", "wire", "--seeds", f"{seed}:{seed + 1}", "--json"]

    output = CliRunner().invoke(sim, [*options, "--mutant", name])

    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    (verdict,) = json.loads(line)["mutants"]
    assert (verdict["name"], verdict["caught"], verdict["seeds"]) == (name, True, 1)


def test_who_only_says_a_size_has_nothing_allocated_and_the_mutant_does() -> None:
    assert _peak_bytes_of_a_size_above_the_limit() < FRAME_BYTES_MAX
    with ALL["frame_limit_after_allocation"].applied():
        assert _peak_bytes_of_a_size_above_the_limit() > SAID_BYTES // 2


def _peak_bytes_of_a_size_above_the_limit() -> int:
    reader = FrameReader(
        frame_bytes_max=FRAME_BYTES_MAX,
        budget=RequestBudget(SAID_BYTES),
        scratch=memoryview(bytearray(READ_BYTES)),
        on_room=lambda: None,
    )
    head = SAID_BYTES.to_bytes(4, "big")
    tracemalloc.start()
    try:
        reader.space()[: len(head)] = head
        reader.fill(len(head))
        with suppress(RefusedFrameError):
            reader.next_frame()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
