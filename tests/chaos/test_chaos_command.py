"""`tidelog chaos` as people use it: what it prints, leaves, and ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.change_seeds import in_turn

from tidelog.chaos.scenarios.catalogue import SCENARIOS
from tidelog.chaos.story.scenario import KAFKA_CLIENT
from tidelog.cli.chaos import SMOKE_IDS, chaos
from tidelog.cli.check import check

SUMS = ("operations", "acknowledged", "lost", "duplicated", "reordered")
RUN_S_MAX = 600


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each change tells one story and one of the others in turn; `make prove` tells all."""
    if "scenario" in metafunc.fixturenames:
        always, *others = SMOKE_IDS
        metafunc.parametrize("scenario", [always, in_turn(metafunc.config, others)])


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from tidelog.cli.main import main; main()", "chaos", *arguments],
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        check=False,
    )


def test_every_scenario_is_listed_with_what_it_claims() -> None:
    lines = CliRunner().invoke(chaos, ["list", "--json"]).stdout.splitlines()
    listed = {line["id"]: line for line in map(json.loads, lines)}
    assert set(SMOKE_IDS) <= set(listed)
    assert all(line["name"] and line["claim"] for line in listed.values())
    assert "F12" in CliRunner().invoke(chaos, ["list"]).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "Missing argument"),
        (["run", "F99"], "no scenario is called 'F99'"),
        (["run", "F39"], "runs in the simulation only"),
        (["run", "F01", "--duration", "0"], "--duration"),
        (["run", "F01", "--runs", "0"], "--runs"),
        (["run", "F01", "--client", "http"], "--client"),
        (
            ["run", "F01", "F46", "--client", "kafka"],
            "F46 cannot be run with kafka; these can: F01, F03",
        ),
        (["run", "all", "--client", "kafka"], "these can: F01, F03, F12, F40, F45, F53"),
        (["mutants", "--mutant", "unknown"], "unknown"),
    ],
)
def test_wrong_usage_is_told_before_anything_starts(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(chaos, arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def run_until_conclusive(
    scenario: str, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run a scenario; again for longer while a busy machine had the fault miss its moment."""
    for seconds in ("4", "16", "64"):
        usual = ("--json", "--duration", seconds, "--report", str(folder))
        done = run("run", scenario, *usual, *options)
        if '"verdict": "inconclusive"' not in done.stdout:
            break
    return done


@pytest.mark.chaos
def test_nothing_acknowledged_is_lost(scenario: str, tmp_path: Path) -> None:
    done = run_until_conclusive(scenario, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (only,) = done.stdout.splitlines()
    line = json.loads(only)
    assert line["verdict"] == "ok"
    assert line["acknowledged"] > 100
    assert (line["lost"], line["duplicated"], line["reordered"]) == (0, 0, 0)
    assert all(type(line[name]) is int for name in SUMS)
    (message,) = line["scenarios"]
    assert message["name"] == scenario
    assert message["unavailable_seconds"] >= 0
    folder = tmp_path / f"{scenario}-1"
    report = (folder / "report.html").read_text()
    assert scenario in report
    assert (tmp_path / "index.html").exists()
    checked = CliRunner().invoke(check, [str(folder / "history.jsonl"), "--json"])
    assert json.loads(checked.stdout)["verdict"] == "ok"
    assert not (folder / "nodes").exists()


@pytest.mark.turns(3)
@pytest.mark.chaos
def test_nothing_acknowledged_to_aiokafka_is_lost(tmp_path: Path) -> None:
    """One story; `make prove` runs all that are told with it."""
    done = run_until_conclusive("F01", tmp_path, "--client", "kafka")
    assert done.returncode == 0, done.stdout + done.stderr
    line = json.loads(done.stdout)
    assert line["acknowledged"] > 50
    assert (line["lost"], line["duplicated"], line["reordered"]) == (0, 0, 0)
    record = json.loads((tmp_path / "F01-1" / "record.json").read_text())
    assert record["settings"]["clients"] == "kafka"
    assert record["command"].endswith("--client kafka")
    assert "aiokafka" not in done.stderr


def test_prove_runs_every_story_that_is_told_with_aiokafka() -> None:
    script = (Path(__file__).parents[2] / "tools" / "prove.sh").read_text()
    (line,) = (one for one in script.splitlines() if "--client kafka" in one)
    told = [key for key, one in SCENARIOS.items() if KAFKA_CLIENT in one.needs.clients]
    assert told == ["F01", "F03", "F12", "F40", "F45", "F53"]
    assert " ".join(told) in line
