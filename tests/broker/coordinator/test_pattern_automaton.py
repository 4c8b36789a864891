"""Patterns of subscriptions: they match as Python's do, in linear time, or are refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.broker.coordinator.patterns.ambiguity import COUNT_UNCHECKED_MAX
from tidelog.broker.coordinator.patterns.automaton import STATES_MAX, Automaton
from tidelog.broker.coordinator.patterns.positions import LINKS_MAX, POSITIONS_MAX
from tidelog.broker.coordinator.patterns.syntax import (
    DEPTH_MAX,
    PATTERN_CHARACTERS_MAX,
    REPEAT_MAX,
)
from tidelog.broker.coordinator.patterns.tree import SHOWN_CHARACTERS
from tidelog.core.errors import InvalidRegularExpressionError

NAME_CHARACTERS_MAX = 249

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "-",
        r"\.",
        ".",
        "[ab]",
        "[^a]",
        "[a-c.-]",
        r"\d",
        r"\w",
        r"[^\W_]",
        r"\x61",
        "(?i:A)",
    ]
)
NAMES = st.text("ab.-A1_", max_size=8)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "??", "{3,5}"])
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds(lambda one, quantifier: f"({one}){quantifier}", inner, quantifiers),
        inner.map(lambda one: f"^{one}$" if one.isalpha() else one),
    )


PATTERNS = st.recursive(ATOMS, _larger, max_leaves=8)


@settings(max_examples=400)
@given(PATTERNS, st.lists(NAMES, max_size=12))
def test_whole_names_match_as_by_pythons_engine(pattern: str, names: list[str]) -> None:
    try:
        automaton = Automaton(pattern)
    except InvalidRegularExpressionError:
        return
    expected = re.compile(pattern)
    for name in names:
        assert automaton.matches(name) == bool(expected.fullmatch(name)), (pattern, name)


@pytest.mark.parametrize(
    "pattern",
    [
        *("orders", "orders.*", "^orders$", ".*", "", "|a", "(?i)ORD.*", "[a-z]+\\.v\\d+"),
        *("(foo|bar)-.*", "([a-z]+-)*x", "(a?)*", "a{2,5}?", "(?P<n>a)", "(?:^a|b$)", "[^a-c]*"),
        *(".*a.*b.*c.*d.*", "(^orders).*", "[]a]", "[a-]", "a{", "([a-z]{3}-){20}"),
    ],
)
def test_what_people_write_is_taken(pattern: str) -> None:
    automaton, expected = Automaton(pattern), re.compile(pattern)
    names = ["", "a", "aa", "b", "x", "-", "orders", "orders.eu", "ORDERS", "foo-1", "ab-cd-x"]
    for name in [*names, "abc.v12", "axbxcxd", "]", "a{", "abc-" * 20]:
        assert automaton.matches(name) == bool(expected.fullmatch(name)), name


def test_what_pythons_engine_has_not_is_matched_as_by_re2() -> None:
    assert Automaton(r"\Qa.b*\E.*").matches("a.b*c")
    assert not Automaton(r"\Qa.b\E").matches("axb")
    assert Automaton(r"(?i)a\Qb.\E\z").matches("AB.")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "without its )"),
        ("a)", "without its ("),
        ("[a", "without its ]"),
        ("*a", "nothing to repeat"),
        ("a|+", "nothing to repeat"),
        ("a**", "repeat of a repeat"),
        ("a{2}{3}", "repeat of a repeat"),
        ("a++", "possessive"),
        ("(?=a)b", "looks around"),
        ("(?<!a)b", "looks around"),
        ("(?>a)b", "atomic"),
        (r"(a)\1", "cannot be referred to"),
        (r"\ba", "not known here"),
        (r"\p{L}", "not known here"),
        ("[[:alpha:]]", "classes by name"),
        ("\\", "a \\ at the end"),
        (r"\xg0", "hexadecimal"),
        (r"\xff", "hexadecimal"),
        ("[z-a]", "a lower character"),
        ("[é]", "ASCII"),
        ("(?P<1>a)", "group's name"),
        ("(?P<a", "group's name"),
        ("a{3,2}", "m <= n"),
        ("x{,2}", "write {0,n}"),
        ("a$b", "ends of a pattern"),
        ("a^b", "ends of a pattern"),
        ("(^a)*", "ends of a pattern"),
        ("^*", "cannot be repeated"),
    ],
)
def test_a_broken_pattern_is_refused_and_says_where(pattern: str, why: str) -> None:
    with pytest.raises(InvalidRegularExpressionError) as refused:
        Automaton(pattern)
    assert why in str(refused.value)
    assert repr(pattern) in str(refused.value)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+", "(a*)*b", "(a|a)*", "(a|aa)+$", "([a-zA-Z]+)*", "(.*a){11}", "(.*-)*x"),
        *("(a{1,2})+", "x(y|(a+)*)z", "((a|b)*c?)*", "(a?a?)+", "(?:(?:a|b)|[bc])*"),
    ],
)
def test_a_repeat_that_may_backtrack_without_bound_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegularExpressionError, match="may backtrack without bound"):
        Automaton(pattern)


def test_low_counts_are_not_looked_at() -> None:
    count = COUNT_UNCHECKED_MAX
    assert Automaton(f"(.*-){{{count}}}").matches("-" * count)
    with pytest.raises(InvalidRegularExpressionError, match="may backtrack"):
        Automaton(f"(.*-){{{count + 1}}}")


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * (PATTERN_CHARACTERS_MAX + 1),
        f"a{{{REPEAT_MAX + 1}}}",
        f"a{{{REPEAT_MAX},{REPEAT_MAX + 1}}}",
        "(" * (DEPTH_MAX + 1) + "a" + ")" * (DEPTH_MAX + 1),
        f"a{{{POSITIONS_MAX}}}b",
        "(a{1000}){1000}",
        f"(?:a?){{{LINKS_MAX // 10}}}",
        "a?" * 400,
    ],
)
def test_what_is_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegularExpressionError) as refused:
        Automaton(pattern)
    assert (
        "at most" in str(refused.value)
        or "more than" in str(refused.value)
        or ("<=" in str(refused.value))
    )
    assert len(str(refused.value)) < 300


def test_the_largest_are_taken() -> None:
    assert Automaton("a" * PATTERN_CHARACTERS_MAX).matches("a" * PATTERN_CHARACTERS_MAX)
    assert Automaton(f"a{{{POSITIONS_MAX}}}").matches("a" * POSITIONS_MAX)
    deep = "(" * DEPTH_MAX + "a" + ")" * DEPTH_MAX
    assert Automaton(deep).matches("a")


def test_a_long_pattern_is_not_repeated_in_full() -> None:
    with pytest.raises(InvalidRegularExpressionError) as refused:
        Automaton("x" * 900 + "(")
    assert "x" * SHOWN_CHARACTERS in str(refused.value)
    assert "x" * (SHOWN_CHARACTERS + 1) not in str(refused.value)


@pytest.mark.parametrize(
    "pattern", [".*a.*a.*a.*a.*a.*b", "(a|b)*a(a|b){100}", "(a?){60}a{60}", ".*.*.*.*.*.*.*x"]
)
def test_a_name_takes_linear_time(pattern: str) -> None:
    """At most a union of sets for each position and character, where others take ages."""
    automaton = Automaton(pattern)
    assert not automaton.matches("a" * (NAME_CHARACTERS_MAX - 1) + "c")
    assert automaton.steps <= NAME_CHARACTERS_MAX * 400


def test_work_is_done_in_slices_and_states_are_forgotten() -> None:
    automaton = Automaton("(a|b)*a(a|b){60}")
    names = [f"{number:b}".replace("0", "a").replace("1", "b") * 18 for number in range(200, 240)]
    found: list[str] = []
    slices = 0
    for _ in automaton.select(names, found):
        slices += 1
        assert len(automaton._states) <= STATES_MAX
    assert slices > 20
    assert automaton.steps > STATES_MAX * 10
    expected = re.compile("(?:a|b)*a(?:a|b){60}")
    assert found == [name for name in names if expected.fullmatch(name)]
