"""The automaton of one pattern on names, made deterministic as far as names need it. Pure.

A state is the set of positions that may come next; a character leads to the next state, which is
worked out once and remembered. A name costs a look-up for each of its characters, and at most one
union of sets for each position of the pattern.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Generator, Iterable

from tidelog.broker.coordinator.assignors.slices import Steps
from tidelog.broker.coordinator.patterns.ambiguity import check_repeats
from tidelog.broker.coordinator.patterns.positions import Positions, bits_of, without_edges
from tidelog.broker.coordinator.patterns.syntax import parse

STATES_MAX = 1_000
"""States that are remembered; then all are forgotten."""
_CHARACTERS_PER_STEP = 8


class _State:
    """Positions that may come next, and whether a name may end here."""

    __slots__ = ("is_end", "next_by_character", "positions")

    def __init__(self, positions: int, *, is_end: bool) -> None:
        self.positions = positions
        self.is_end = is_end
        self.next_by_character: dict[str, _State] = {}


class Automaton:
    """A pattern, read. Raises `InvalidRegularExpressionError` for one that is refused."""

    def __init__(self, pattern: str) -> None:
        node = without_edges(pattern, parse(pattern))
        self._positions = Positions(pattern, node)  # of one that is too large no part is looked at
        check_repeats(pattern, node)
        self._by_character: dict[str, int] = {}
        self.steps = 0
        """Steps that working out states has cost so far."""
        self._states: dict[tuple[int, bool], _State] = {}
        self._start = self._begin()

    def matches(self, name: str) -> bool:
        """True if the whole name matches."""
        found: list[str] = []
        for _ in self.select([name], found):
            pass
        return bool(found)

    def select(self, names: Iterable[str], found: list[str]) -> Generator[None, None, None]:
        """Add the names that match to `found`; yield after each slice of work."""
        slices = Steps()
        for name in names:
            state = self._start
            for character in name:
                following = state.next_by_character.get(character)
                if following is None:
                    following = self._step(state, character)
                    if slices.fill_slice(state.positions.bit_count()):
                        yield
                state = following
                if not state.positions and not state.is_end:
                    break
            else:
                if state.is_end:
                    found.append(name)
            if slices.fill_slice(1 + len(name) // _CHARACTERS_PER_STEP):
                yield

    def forget(self) -> None:
        """Forget all states: names are matched seldom once all topics are."""
        self._start = self._begin()

    def _begin(self) -> _State:
        whole = self._positions.whole
        self._states.clear()
        return self._state(whole.first, is_end=whole.is_nullable)

    def _state(self, positions: int, *, is_end: bool) -> _State:
        key = (positions, is_end)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(positions, is_end=is_end)
        return state

    def _step(self, state: _State, character: str) -> _State:
        hit = state.positions & self._at(character)
        self.steps += 1 + hit.bit_count()
        positions = 0
        for position in bits_of(hit):
            positions |= self._positions.follow[position]
        if len(self._states) >= STATES_MAX:
            # Those on the way of the name at hand go on; nobody finds them any more.
            self.forget()
        following = self._state(positions, is_end=bool(hit & self._positions.whole.last))
        state.next_by_character[character] = following
        return following

    def _at(self, character: str) -> int:
        """Positions that take a character."""
        found = self._by_character.get(character)
        if found is None:
            bit = 1 << ord(character)
            found = 0
            for number, mask in enumerate(self._positions.masks):
                if mask & bit:
                    found |= 1 << number
            self._by_character[character] = found
        return found
