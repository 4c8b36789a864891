"""Strangers at the ports of real processes: nothing changes, and clients go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.chaos.socket_stage.run import RunPlan, run_scenario

pytestmark = [pytest.mark.chaos]


@pytest.mark.parametrize("scenario_id", ["F55", "F56", "F58"])
async def test_strangers_change_nothing_and_clients_go_on(tmp_path: Path, scenario_id: str) -> None:
    plan = RunPlan(scenario_id, seed=1, load_s=2.0)
    record = await run_scenario(plan, folder=tmp_path, tell=lambda _: None)
    assert record.verdict == "ok", record.anomalies
