"""The account that Spark's tests of kills rest on."""

from __future__ import annotations

from tests.spark.spark_rows import EXACT, Account, account


def test_an_account_tells_what_is_missing_foreign_and_there_again() -> None:
    assert account([3, 1, 2], range(1, 4)) == EXACT
    assert account([1, 1, 1, 2, 9], range(1, 4)) == Account(missing=1, foreign=1, repeats=2)
