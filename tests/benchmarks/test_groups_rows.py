"""How figures of groups are judged and shown, and what a client program's words mean."""

from __future__ import annotations

import asyncio
import sys

import pytest
from tests.benchmarks.groups_programs import Program, ProgramError
from tests.benchmarks.groups_rows import ROWS, failed, judged, longest_gap, spread, table


def test_a_figure_says_which_of_its_measures_miss_their_aims() -> None:
    found = judged("commit", "tidelog", {"p50_ms": 1.9, "p99_ms": 12.0}, load=1.26)
    assert (found["met"], found["misses"], found["load"]) == (False, ["p99_ms"], 1.3)
    assert judged("commit", "tidelog", {"p50_ms": 2.0, "p99_ms": 10.0}, load=1)["met"] is True
    few = judged("commits", "tidelog", {"commits_per_s": 1_499}, load=1)
    assert few["misses"] == ["commits_per_s"]


def test_a_measure_that_is_missing_misses_its_aim() -> None:
    found = judged("crowd", "kafka classic", {"balanced_s": 3.0}, load=1)
    assert found["misses"] == ["kib_a_member", "idle_percent_of_core"]


def test_percentiles_are_by_nearest_rank() -> None:
    assert spread([0.4, 0.1, 0.3, 0.2], "s") == {
        "p50_s": 0.2,
        "p99_s": 0.4,
        "worst_s": 0.4,
        "runs": 4,
    }
    many = spread(range(1, 201), "ms")
    assert (many["p50_ms"], many["p99_ms"], many["worst_ms"]) == (100, 198, 200)
    with pytest.raises(ValueError, match="no run"):
        spread([], "s")


def test_a_silence_counts_up_to_the_end_of_the_watch() -> None:
    times_s = [1.0, 5.0, 2.0, 9.0]
    assert longest_gap(times_s, 1.5, 5.5) == 3.0  # from 2 to 5
    assert longest_gap(times_s, 5.0, 6.0) == 1.0  # cut off at 6
    assert longest_gap([], 1.0, 4.0) == 3.0
    assert longest_gap([0.5, 1.5], 1.0, 2.0) == 0.5


def test_the_table_has_a_line_for_each_figure_and_each_row_an_aim() -> None:
    figures = [
        judged("commits", "tidelog", {"commits_per_s": 1_600}, load=2.0),
        failed("load", "tidelog", "TimeoutError: no node"),
    ]
    lines = table(figures).splitlines()
    assert len(lines) == 4
    assert "commits_per_s 1600" in lines[2]
    assert lines[2].endswith("| commits_per_s ≥ 1500 | yes |")
    assert "TimeoutError" in lines[3]
    assert lines[3].endswith("| – |")
    assert all(row.aim for row in ROWS.values())


@pytest.mark.real_time
async def test_a_program_that_ends_is_not_waited_for() -> None:
    words = 'import sys; print(\'["ready"]\', flush=True); print("noise"); sys.exit(3)'
    program = await Program.start([sys.executable, "-c", words])
    with pytest.raises(ProgramError, match="exit code 3"):
        await program.until(lambda: program.find("began"))
    await program.stop()


@pytest.mark.real_time
async def test_what_a_program_said_last_is_what_it_owns() -> None:
    words = (
        'print(\'["ready"]\\n["own",1.0,[1,2]]\\n["read",2.0,[1]]\\n["read",3.0,[2,2]]\\n'
        '["own",4.0,[2]]\\n["done",{"n":1}]\', flush=True); input()'
    )
    program = await Program.start([sys.executable, "-c", words])
    assert await program.done() == {"n": 1}
    assert program.owned == [2]
    assert list(program.reads()) == [2.0, 3.0]
    assert list(program.reads([1])) == [2.0]
    await program.stop()
    assert asyncio.all_tasks() == {asyncio.current_task()}
