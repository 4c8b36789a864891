"""Writes the tables of scenarios in the docs out of the catalogue; --check compares only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tidelog.chaos.scenarios.catalogue import runnable_on
from tidelog.chaos.story.scenario import SIM, SOCKETS, Scenario

DOCS = Path(__file__).resolve().parent.parent / "docs"
BEGIN, END = "<!-- scenarios: made by `make docs` -->\n", "<!-- end of scenarios -->\n"


def simulated() -> str:
    """Table of the simulation's scenarios."""
    return _table(("Id", "Claim"), runnable_on(SIM), lambda one: (one.scenario_id, one.claim))


def on_sockets() -> str:
    """Table of the scenarios of `tidelog chaos`."""
    return _table(
        ("Id", "Name", "Claim"),
        runnable_on(SOCKETS),
        lambda one: (one.scenario_id, one.name, one.claim),
    )


PAGES: Mapping[Path, Callable[[], str]] = {
    DOCS / "SIMULATION.md": simulated,
    DOCS / "chaos" / "README.md": on_sockets,
}


def page_with(table: str, page: str) -> str:
    """The page with this table between the two marks. Errors: `ValueError`, a mark is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"a page of scenarios needs the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def _table(
    heads: tuple[str, ...],
    rows: Mapping[str, Scenario],
    cells: Callable[[Scenario], tuple[str, ...]],
) -> str:
    lines = [heads, ("---",) * len(heads), *map(cells, rows.values())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    """Exit code 1: --check, and a table is not that of the catalogue."""
    stale = []
    for path, table in PAGES.items():
        page = path.read_text(encoding="utf-8")
        made = page_with(table(), page)
        if "--check" not in sys.argv:
            path.write_text(made, encoding="utf-8")
        elif made != page:
            stale.append(str(path.relative_to(DOCS.parent)))
    if stale:
        sys.stderr.write(f"{', '.join(stale)}: not the catalogue's scenarios: run make docs\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
