from __future__ import annotations

from typing import Any

import pytest
from tests.spark.patient_starts import GAVE_UP, INITIALIZING, STARTS_MAX, patient


class Ended:
    """A query that initializes for a while and then ends by an error, or goes on."""

    def __init__(self, error: str = "") -> None:
        self.waits = 2
        self.error = error

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self.waits > 0 or not self.error

    @property
    def status(self) -> dict[str, Any]:
        return {"message": INITIALIZING if self.waits else "Waiting for data to arrive"}

    def exception(self) -> Exception | None:
        return RuntimeError(self.error) if self.error else None


@pytest.mark.parametrize(
    ("errors", "starts"),
    [
        ([GAVE_UP, GAVE_UP, ""], 3),
        (["the sink is down", ""], 1),
        ([""], 1),
        ([GAVE_UP] * (STARTS_MAX + 1), STARTS_MAX),
    ],
)
def test_only_a_query_whose_worker_did_not_connect_is_started_again(
    errors: list[str], starts: int
) -> None:
    begun: list[Ended] = []

    def start(path: str) -> Ended:
        assert path == "rows"
        begun.append(Ended(errors[len(begun)]))
        return begun[-1]

    def wait(_: float) -> None:
        begun[-1].waits -= 1

    assert patient(start, wait)("rows") is begun[-1]
    assert len(begun) == starts
