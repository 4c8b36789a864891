"""Port: what only machines of the simulation suffer: power cuts, and disks that fail.

An implementation keeps the fault budget: a record lost here is always the product's fault.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable


@runtime_checkable
class Machines(Protocol):
    """The machines of every node."""

    async def cut_power(self, node_id: int) -> bool:
        """Lose unsynced bytes; down until `start`. False: the budget forbids it."""

    async def end_at(self, node_id: int, operation: int, *, has_power_cut: bool) -> bool:
        """End the process within its disk's nth operation from now, with a power cut or without.

        False: the budget forbids it. Until `spare`.
        """

    async def spare(self, node_id: int) -> None:
        """Take `end_at` back, if that operation has not come."""

    async def fail_next(self, node_id: int, action: Literal["write", "sync"], path: str) -> None:
        """Answer this once with EIO."""

    async def mend_disk(self, node_id: int) -> None:
        """It fails no more."""

    def has_recovered(self) -> bool:
        """True if all that cuts took was fetched again."""
