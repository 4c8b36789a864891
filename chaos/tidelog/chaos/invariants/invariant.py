"""Report of a check of an invariant. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str, str], None]
"""Called with the number of the invariant that does not hold ("I11"), and what was seen."""
