"""One run of one scenario on real processes: load, the story, a calm, and the verdict.

It owns the story of a run and what is left of it; never what strikes or what is judged. Whatever
happens ends with a record: a run that fails itself is inconclusive.
"""

from __future__ import annotations

STORY_S_MAX = 300.0
"""A story waits for nothing so long, but for the load to last."""
CALM_S_MAX = 60.0
"""I29: what must have come to rest by then: sessions, elections, retries, a client's patience."""
AFTERMATH_S = 1.0
"""Clients go on for so long after the last fault."""
LOOK_EVERY_S = 0.2
