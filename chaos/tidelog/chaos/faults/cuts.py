"""Cuts that a fault holds: taken back once, however often that is asked.

Clusters count cuts of a path, since faults overlap; so nobody may take back what is not theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True)
class Cuts:
    """Cuts of one fault."""

    _paths: tuple[Path, ...] = ()
    _counted: tuple[str, str, tuple[int, ...]] = ("", "", ())

    async def cut(
        self,
        run: ScenarioRun,
        paths: tuple[Path, ...],
        *,
        kind: str,
        what: str,
        nodes: tuple[int, ...],
    ) -> None:
        """Cut these, and count a fault `kind`, described as `what`, that strikes `nodes`."""
        require(paths, f"{kind}: no path to cut")
        require(not self._paths, f"{kind} strikes already: {what}")
        self._paths, self._counted = paths, (kind, what, nodes)
        run.cluster.count(kind, what, *nodes)
        await run.cluster.cut(paths)

    async def mend(self, run: ScenarioRun) -> None:
        """Take back what was cut, if anything."""
        if self._paths:
            await run.cluster.mend(self._paths)
            kind, what, nodes = self._counted
            run.cluster.over(kind, what, *nodes)
            self._paths = ()
