"""A few rounds of `quorum_live.py`: real controllers killed, paused and damaged, under load."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.quorum_live import COMBINED, LiveRun

pytestmark = [pytest.mark.process, pytest.mark.turns(4)]


async def test_nothing_acknowledged_is_lost_and_nobody_votes_twice(tmp_path: Path) -> None:
    run = LiveRun(tmp_path, roles=COMBINED, seed=0)
    result = await run.run(kills=3, pauses=1, damages=3)
    assert result["violations"] == []
    assert sum(result["acknowledged"].values()) > 0
    assert result["linearizable_reads"] > 0
    assert result["asked_while_paused"]["refused"] > 0
    assert result["terms_led"] > 1
    assert result["votes"] >= result["terms_led"]
