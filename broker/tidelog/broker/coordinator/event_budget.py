"""Bound on the journal's events of groups: so many a minute, of one group and of all. Pure.

Members that come and go all the time must not fill the journal, nor keep the loop busy. What is
left out is counted, and reported when its minute is over.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.core.journal import Event, Kind

GROUP_EVENTS_PER_MINUTE_MAX = 100
"""Events of one group in a minute."""
EVENTS_PER_MINUTE_MAX = 1_000
"""Events of all groups of a broker in a minute."""
MINUTE_MS = 60_000


class EventBudget:
    """Counts of the running minute; times are those of a clock that only rises."""

    def __init__(self) -> None:
        self.left_out = 0
        """Number of events that were left out since the start."""
        self._began_ms = 0
        self._admitted = 0
        self._by_group: dict[str, int] = {}
        self._reported = 0

    def admits(self, group_id: str) -> bool:
        """Count an event; False: it is to be left out."""
        of_group = self._by_group.get(group_id, 0)
        if self._admitted >= EVENTS_PER_MINUTE_MAX or of_group >= GROUP_EVENTS_PER_MINUTE_MAX:
            self.left_out += 1
            if of_group:
                self._by_group[group_id] = of_group + 1
            return False
        self._admitted += 1
        self._by_group[group_id] = of_group + 1
        return True

    def report(self, now_ms: int) -> Iterator[Event]:
        """Begin another minute if this one is over; iterate over events of what was left out."""
        if now_ms - self._began_ms < MINUTE_MS:
            return
        counts, self._by_group = self._by_group, {}
        self._began_ms, self._admitted = now_ms, 0
        for group_id, count in counts.items():
            if (further := count - GROUP_EVENTS_PER_MINUTE_MAX) > 0:
                self._reported += further
                yield Event(Kind.GROUP, _cause(further, "of the group"), group=group_id)
        if (others := self.left_out - self._reported) > 0:
            self._reported += others
            yield Event(Kind.GROUP, _cause(others, "of groups"))


def _cause(count: int, of_what: str) -> str:
    return f"{count} further events {of_what} within a minute were left out"
