r"""The syntax of patterns: what RE2's and Python's have in common. Pure.

    a \. . [a-z_] [^a] \d \w \s          a character, by ASCII code: others match no topic
    ab  a|b  (a)  (?:a)  (?P<n>a)        in turn, one of several, groups
    a*  a+  a?  a{2}  a{2,}  a{2,5}      repeats; a ? behind them changes nothing here
    ^  $  \A  \z                         at an end of the pattern only: whole names are matched
    (?i)a  (?i:a)  \Qa.b\E  \x2e         letters of either case, quoted text, a code

Refused with `InvalidRegularExpressionError`, which names the place: references to groups, looking
around, possessive repeats, word boundaries, classes by name, and whatever is too large.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NoReturn

from tidelog.broker.coordinator.patterns.tree import (
    ALL,
    ASCII,
    Characters,
    Choice,
    Edge,
    Node,
    Repeat,
    Sequence,
    mask_of,
    refuse,
)
from tidelog.core.errors import InvalidRegularExpressionError

PATTERN_CHARACTERS_MAX = 1_000
"""Longest pattern."""
REPEAT_MAX = 1_000
"""Highest count of a repeat, as in RE2."""
DEPTH_MAX = 50
"""Deepest nesting of groups."""

_DIGITS = mask_of("0123456789")
_UPPER = mask_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = mask_of("abcdefghijklmnopqrstuvwxyz")
_WORD = _DIGITS | _UPPER | _LOWER | mask_of("_")
_SPACE = mask_of(" \t\n\r\f\v")
_CLASSES = {
    "d": _DIGITS,
    "w": _WORD,
    "s": _SPACE,
    "D": ALL & ~_DIGITS,
    "W": ALL & ~_WORD,
    "S": ALL & ~_SPACE,
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_CASE_DISTANCE = 32
_HEX_DIGITS = 2
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse(pattern: str) -> Node:
    """Read a pattern. Raises `InvalidRegularExpressionError`."""
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        raise InvalidRegularExpressionError(
            f"a pattern of {len(pattern)} characters: send at most {PATTERN_CHARACTERS_MAX}, or "
            "subscribe to topics by their names"
        )
    return _Parser(pattern).read()


class _Parser:
    """Reads one pattern, from the left."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._ignores_case = False

    def read(self) -> Node:
        node = self._choice()
        if self._at < len(self._pattern):
            self._refuse("a ) without its (: write \\) for the character")
        return node

    def _choice(self) -> Node:
        ignores_case = self._ignores_case
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        self._ignores_case = ignores_case  # (?i) counts to the end of its group
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            if self._take("\\Q"):
                parts += self._quoted()
            elif not self._take_flags():
                parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _quoted(self) -> list[Node]:
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at : end if end >= 0 else None]
        self._at = len(self._pattern) if end < 0 else end + 2
        return [self._letter(one) for one in text]

    def _take_flags(self) -> bool:
        for text in ("(?i)", "(?s)", "(?is)", "(?si)"):
            if self._take(text):
                self._ignores_case = self._ignores_case or "i" in text
                return True
        return False

    def _atom(self) -> Node:
        offset = self._at
        one = self._next()
        match one:
            case "(":
                return self._group()
            case "[":
                return self._set()
            case ".":
                return Characters(ALL)
            case "^" | "$":
                return Edge(one == "^", offset)
            case "\\":
                return self._escape(offset)
        if one in _QUANTIFIERS:
            self._refuse(f"nothing to repeat: write \\{one} for the character")
        return self._letter(one)

    def _group(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self._refuse(f"groups in groups, more than {DEPTH_MAX} deep: write it flatter")
        ignores_case = self._ignores_case
        if self._take("?i:"):
            self._ignores_case = True
        elif self._take("?P<") or (self._peek("?<") and not self._peek(("?<=", "?<!"))):
            self._group_name()
        elif not self._take("?:") and self._peek("?"):
            self._refuse(
                "only (…), (?:…), (?P<name>…), (?i) and (?i:…) are known: nothing looks around, "
                "refers to a group or is atomic, since names are matched in linear time"
            )
        node = self._choice()
        if not self._take(")"):
            self._refuse("a ( without its ): write \\( for the character")
        self._ignores_case = ignores_case
        self._depth -= 1
        return node

    def _group_name(self) -> None:
        end = self._pattern.find(">", self._at)
        name = self._pattern[self._at : end].removeprefix("?<")
        if end < 0 or not name.isidentifier():
            self._refuse("a group's name is letters, digits and _, ended by >")
        self._at = end + 1

    def _repeated(self, node: Node) -> Node:
        count = self._count()
        if count is None:
            return node
        if isinstance(node, Edge):
            self._refuse("^ and $ cannot be repeated: leave the repeat out")
        least, most = count
        if max(least, most or 0) > REPEAT_MAX or (most is not None and most < least):
            self._refuse(f"a repeat {{m,n}} has m <= n <= {REPEAT_MAX}")
        if not self._take("?") and self._peek("+"):
            self._refuse("a possessive repeat: leave the + behind it out")
        if self._count() is not None:
            self._refuse("a repeat of a repeat: put the first one in a group, or leave one out")
        return Repeat(node, least, most)

    def _count(self) -> tuple[int, int | None] | None:
        """Read a repeat; None, and nothing is read, if there is none here."""
        found = _QUANTIFIERS.get(self._pattern[self._at : self._at + 1])
        if found is not None:
            self._at += 1
            return found
        if not self._peek("{"):
            return None
        end = self._pattern.find("}", self._at)
        least, comma, most = self._pattern[self._at + 1 : max(end, 0)].partition(",")
        if comma and not least and _is_number(most):
            self._refuse("some engines take {,n} as it is: write {0,n}, or \\{ for the brace")
        if not _is_number(least) or not (most == "" or _is_number(most)):
            return None  # a brace as it is, as in RE2 and Python
        self._at = end + 1
        unbounded = None if comma else int(least)
        return int(least), int(most) if most else unbounded

    # Characters

    def _letter(self, one: str) -> Characters:
        return Characters(self._folded(mask_of(one)))

    def _folded(self, mask: int) -> int:
        if not self._ignores_case:
            return mask
        return mask | (mask & _UPPER) << _CASE_DISTANCE | (mask & _LOWER) >> _CASE_DISTANCE

    def _escape(self, offset: int) -> Node:
        if self._peek(("A", "z", "Z")):
            return Edge(self._next() == "A", offset)
        return Characters(self._folded(self._escaped()))

    def _escaped(self) -> int:
        """Read what stands behind a backslash, a single character or a class."""
        if self._at == len(self._pattern):
            self._refuse("a \\ at the end: write \\\\ for the character")
        one = self._next()
        if one in _CLASSES:
            return _CLASSES[one]
        if one in _CONTROLS:
            return mask_of(_CONTROLS[one])
        if one == "x":
            return 1 << self._code()
        if one.isalnum():
            self._at -= 1
            self._refuse(
                f"\\{one} is not known here: use \\d \\w \\s \\D \\W \\S \\A \\z \\Q…\\E \\x2e, or "
                "the character itself; groups cannot be referred to"
            )
        return mask_of(one)

    def _code(self) -> int:
        digits = self._pattern[self._at : self._at + _HEX_DIGITS]
        try:
            code = int(digits, 16)
        except ValueError:
            code = ASCII
        if code >= ASCII or len(digits) < _HEX_DIGITS:
            self._refuse("\\x has two hexadecimal digits, up to 7f")
        self._at += _HEX_DIGITS
        return code

    def _set(self) -> Characters:
        is_negated = self._take("^")
        mask = self._folded(self._members())
        return Characters(ALL & ~mask if is_negated else mask)

    def _members(self) -> int:
        mask = 0
        is_first = True
        while is_first or not self._take("]"):
            if self._peek("[:"):
                self._refuse("classes by name are not known: write ranges as a-z")
            mask |= self._member()
            is_first = False
        return mask

    def _member(self) -> int:
        first = self._member_mask()
        is_range = self._peek("-") and not self._peek("-]")
        if not is_range or not _is_single(first):
            return first
        self._next()
        last = self._member_mask()
        if not _is_single(last) or last < first:
            self._refuse("a range in [ ] goes from a lower character to a higher one")
        return (last << 1) - first

    def _member_mask(self) -> int:
        if self._at >= len(self._pattern):
            self._refuse("a [ without its ]: write \\[ for the character")
        one = self._next()
        if ord(one) >= ASCII:
            self._refuse("topics' names are ASCII, and so are the characters in [ ]: leave it out")
        return self._escaped() if one == "\\" else mask_of(one)

    # The text

    def _next(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1]

    def _peek(self, text: str | tuple[str, ...]) -> bool:
        return self._pattern.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        if not self._peek(text):
            return False
        self._at += len(text)
        return True

    def _refuse(self, what: str) -> NoReturn:
        refuse(self._pattern, f"at character {self._at}: {what}")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(REPEAT_MAX))


def _is_single(mask: int) -> bool:
    return mask.bit_count() == 1
