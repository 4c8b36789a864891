"""Storms' records go through tables and posts, too: what either changes is a violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidelog.client.arrow import columns, rows
from tidelog.node.http_produce import records as posted
from tidelog.simulation.cluster import mixed_clients
from tidelog.simulation.cluster.seed_run import run_seed

pytestmark = pytest.mark.sim

SEED = 51_002
_timestamps = rows._timestamps  # what a test takes the place of
_column = columns._column


def _no_headers(_lists: Any, _first_row: int) -> None:
    """Write rows without their headers."""


def _seconds(*arguments: Any) -> Any:
    return _timestamps(*arguments) // 1000 * 1000


def _values_as_keys(found: Any, name: str) -> Any:
    return _column(found, "value" if name == "key" else name)


def _no_key(value: bytes, defaults: Any) -> posted.PostedRecord:
    return posted.PostedRecord(value, None, partition=defaults.partition)


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("share", "module", "name", "wrong"),
    [
        ("TABLES_SHARE", rows, "_headers", _no_headers),
        ("TABLES_SHARE", rows, "_timestamps", _seconds),
        ("TABLES_SHARE", columns, "_column", _values_as_keys),
        ("HTTP_SHARE", posted, "_record", _no_key),
    ],
)
def test_a_part_that_is_lost_on_the_way_is_noticed(
    share: str, module: Any, name: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixed_clients, "TABLES_SHARE", 0.0)
    monkeypatch.setattr(mixed_clients, share, 1.0)
    monkeypatch.setattr(module, name, wrong)

    result = run_seed(SEED, has_faults=False)

    assert result.violation is not None
    assert result.violation.invariant == "altered-record"


@pytest.mark.turns(3)
@pytest.mark.parametrize("share", ["TABLES_SHARE", "HTTP_SHARE"])
def test_every_promise_holds_when_all_come_so(share: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_clients, "TABLES_SHARE", 0.0)
    monkeypatch.setattr(mixed_clients, share, 1.0)

    result = run_seed(SEED)

    assert result.violation is None
    assert result.acknowledged > 100
