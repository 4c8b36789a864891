"""The topics that each pattern in use matches, kept with the topics of the image. Pure.

    add, add_loaded   a pattern of a request, which may be refused; one of a record
    follow            the topics of another image: new ones are to be matched
    work              the next slice of matching
    matching          topics of a pattern, as of when all of its topics were matched last
    retain            patterns that nobody uses go

Each distinct pattern is matched once with each topic for all of its subscribers. One pattern is
matched at a time, and its automaton is kept no longer, since it may be a thousand times its size.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Generator
from dataclasses import dataclass, field

from tidelog.broker.coordinator.patterns.automaton import Automaton
from tidelog.core.errors import InvalidRegularExpressionError
from tidelog.core.internal_topics import INTERNAL_TOPICS

PATTERNS_MAX = 1_000
"""Distinct patterns of one coordinator; more are refused, except those that it loads."""
MATCHES_MAX = 1_000_000
"""Topics that all of them match, each counted for each pattern."""
MATCHING_STEPS_MAX = 1_000_000
"""Steps to match the topics that exist with a new pattern: about a second."""
NOTHING = "[^\\x00-\\x7f]"
"""A pattern that matches no topic."""


@dataclass(slots=True)
class _Matches:
    """Topics that one pattern matches."""

    pattern: str
    left: list[str]
    """Topics to be matched next."""
    is_loaded: bool
    """True for a member's, which is not refused any more."""
    automaton: Automaton | None = None
    """None while it is not being matched."""
    matched: frozenset[str] = frozenset()
    """As of when nothing was left."""
    found: list[str] = field(default_factory=list)
    """Matched since."""
    run: Generator[None, None, None] | None = None
    is_settled: bool = False
    failure: InvalidRegularExpressionError | None = None


class TopicPatterns:
    """Patterns of all groups of a broker."""

    def __init__(self) -> None:
        self.revision = 0
        """Rises when a pattern has other topics than before, or its first ones, perhaps none."""
        self._source: object = None
        self._names: dict[str, None] = {}
        self._by_pattern: dict[str, _Matches] = {}
        self._queue: deque[str] = deque()
        self._asked: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_pattern)

    def add(self, pattern: str) -> None:
        """Have a pattern matched. Raises `InvalidRegularExpressionError`, at once or later."""
        self._asked.add(pattern)
        if pattern in self._by_pattern:
            self.check(pattern)
            return
        if len(self._by_pattern) >= PATTERNS_MAX:
            raise InvalidRegularExpressionError(
                f"this coordinator matches {PATTERNS_MAX} patterns, its maximum: subscribe by a "
                "pattern that others have, too, or by names"
            )
        one = _Matches(pattern, list(self._names), is_loaded=False, automaton=Automaton(pattern))
        self._by_pattern[pattern] = one
        self._queue.append(pattern)

    def add_loaded(self, pattern: str) -> None:
        """Have a member's pattern matched; it was accepted before."""
        if pattern not in self._by_pattern:
            self._by_pattern[pattern] = _Matches(pattern, list(self._names), is_loaded=True)
            self._queue.append(pattern)

    def check(self, pattern: str) -> None:
        """Raise the `InvalidRegularExpressionError` for which a pattern is refused."""
        found = self._by_pattern.get(pattern)
        if found is not None and found.failure is not None:
            raise found.failure

    def is_settled(self, pattern: str) -> bool:
        """True when it was matched with all topics once, or is refused."""
        found = self._by_pattern.get(pattern)
        return found is not None and (found.is_settled or found.failure is not None)

    def matching(self, pattern: str) -> frozenset[str]:
        """Names of the topics that a pattern matches; none while it is not settled."""
        found = self._by_pattern.get(pattern)
        return frozenset() if found is None else found.matched

    def follow(self, topics: Collection[str], *, source: object) -> None:
        """Go on with the topics of another image; `source` is another object for others."""
        if source is self._source:
            return
        self._source = source
        before, self._names = self._names, dict.fromkeys(topics)
        for name in INTERNAL_TOPICS:
            self._names.pop(name, None)
        new = [name for name in self._names if name not in before]
        waiting = set(self._queue)
        for pattern, one in self._by_pattern.items():
            if one.failure is None:
                one.left += new
                if pattern not in waiting:
                    self._queue.append(pattern)

    # Work

    @property
    def is_busy(self) -> bool:
        """True while topics are left to be matched."""
        return bool(self._queue)

    def work(self) -> str | None:
        """Match for a slice; return the pattern that is settled by it, if one is."""
        if not self._queue:
            return None
        pattern = self._queue[0]
        one = self._by_pattern[pattern]
        if self._advance(one):
            if not self._is_too_costly(one):
                return None
            one.failure = InvalidRegularExpressionError(
                f"matching it with {len(self._names)} topics takes too long: write one with fewer "
                "characters that may match in several ways"
            )
        else:
            self._publish(one)
        one.run, one.automaton, one.found, one.left = None, None, [], []
        self._queue.popleft()
        return pattern

    def _advance(self, one: _Matches) -> bool:
        """Take the next slice; False when no topic is left."""
        while one.run is not None or one.left:
            if one.run is None:
                names, one.left = one.left, []
                one.automaton = one.automaton or _read(one.pattern)
                one.run = one.automaton.select(names, one.found)
            for _ in one.run:
                return True
            one.run = None
        return False

    def _is_too_costly(self, one: _Matches) -> bool:
        is_new = not one.is_settled and not one.is_loaded
        return is_new and one.automaton is not None and one.automaton.steps > MATCHING_STEPS_MAX

    def _publish(self, one: _Matches) -> None:
        matched = one.matched.union(one.found).intersection(self._names)
        if not one.is_settled and not one.is_loaded:
            others = sum(len(other.matched) for other in self._by_pattern.values())
            if others + len(matched) > MATCHES_MAX:
                one.failure = InvalidRegularExpressionError(
                    f"it matches {len(matched)} topics, and those of all patterns of this "
                    f"coordinator are {MATCHES_MAX} at most: write one that matches fewer"
                )
                return
        if matched != one.matched or not one.is_settled:
            self.revision += 1
        one.matched, one.is_settled = matched, True

    def retain(self, used: Container[str]) -> None:
        """Forget patterns that no member uses and that nobody asked for since the last time."""
        asked, self._asked = self._asked, set()
        waiting = set(self._queue)
        for pattern in list(self._by_pattern):
            if not (pattern in used or pattern in asked or pattern in waiting):
                del self._by_pattern[pattern]


def _read(pattern: str) -> Automaton:
    """Read a pattern; one that this version refuses, and another took, matches nothing."""
    try:
        return Automaton(pattern)
    except InvalidRegularExpressionError:
        return Automaton(NOTHING)
