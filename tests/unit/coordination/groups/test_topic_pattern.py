"""Patterns mean what they mean to RE2, and never take long."""

import random
import re
import time
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ottla.coordination.groups.topic_pattern import BadPattern, TopicPattern

SPAN_S = 5.0
LETTERS = "ab-0"
PIECES = st.sampled_from(
    [
        "a",
        "b",
        "-",
        "0",
        ".",
        "[ab]",
        "[^a]",
        r"\d",
        r"\w",
        "(a|b)",
        "(?:ab|a)",
        "^",
        "$",
        r"\b",
        r"\B",
    ]
)
QUANTIFIERS = st.sampled_from(["", "", "*", "+", "?", "*?", "{2}", "{1,2}", "{2,}"])


@given(
    pieces=st.lists(st.tuples(PIECES, QUANTIFIERS), max_size=5),
    branches=st.integers(1, 2),
    name=st.text(LETTERS, max_size=6),
)
def test_it_agrees_with_python_where_the_syntax_is_the_same(
    pieces: list[tuple[str, str]], branches: int, name: str
) -> None:
    pattern = "|".join(["".join(piece + quantifier for piece, quantifier in pieces)] * branches)
    # Python, unlike RE2, finds that an empty name has a boundary.
    assume(name or r"\B" not in pattern)
    try:
        python = re.compile(pattern)
    except re.error:
        assume(False)
    assert TopicPattern(pattern).matches(name) == bool(python.fullmatch(name))


@pytest.mark.parametrize(
    ("pattern", "matches", "does_not"),
    [
        ("(^(alpha|gamma)$)", ["alpha", "gamma"], ["alphabet", "beta"]),
        (r"team-\d+\.(orders|clicks)", ["team-12.orders"], ["team-.orders", "team-1xorders"]),
        ("(?i)Orders", ["ORDERS", "orders"], ["order"]),
        ("[[:alpha:]]+", ["abc"], ["ab1"]),
        ("[^[:digit:]]+", ["a-b"], ["a1"]),
        (r"\pL+\PN", ["ab-"], ["ab1"]),
        (r"\Qa.b\E.*", ["a.b", "a.bc"], ["axb"]),
        (r"a\x2eb", ["a.b"], ["axb"]),
        ("(?P<name>a)b", ["ab"], ["a"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
        ("[]a]+", ["a"], ["b"]),
        ("[a-]+", ["a-a"], ["b"]),
        ("ä|a", ["a"], ["b"]),
        ("", [""], ["a"]),
        ("a|", ["a", ""], ["b"]),
        ("(?s:.)(?-s:.)", ["ab"], ["a"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, matches: list[str], does_not: list[str]) -> None:
    compiled = TopicPattern(pattern)
    assert compiled.matching([*matches, *does_not]) == set(matches)


@pytest.mark.parametrize(
    "pattern",
    [
        "(", ")", "a**", "*a", "[a", "[z-a]", "\\", r"\8", r"(a)\1", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a)",
        "(?P<1>a)", "a{1001}", "a{3,2}", "(a{100}){200}", r"\p{Nothing}", "[[:nothing:]]", r"\x{zz}", "(?q)", "(?P<a",
        "(" * 200 + ")" * 200,
    ],
)  # fmt: skip
def test_what_re2_does_not_read_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        TopicPattern(pattern)


@given(
    pattern=st.text("ab(|)*+?{1,2}[]^$\\.-dQEpxi:P<>", max_size=12),
    name=st.text("ab-1", max_size=5),
)
def test_any_text_is_a_pattern_or_is_refused(pattern: str, name: str) -> None:
    with suppress(BadPattern):
        TopicPattern(pattern).matches(name)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*b", "(.*)*(.*)*x", "(a?){200}a{200}"])
def test_no_pattern_takes_long(pattern: str) -> None:
    began = time.process_time()
    assert not TopicPattern(pattern).matches("a" * 150)
    assert time.process_time() - began < SPAN_S


def test_the_memory_of_a_pattern_is_bounded() -> None:
    pattern = TopicPattern("(a|b)*a(a|b){14}")
    names = [f"{number:030b}".replace("0", "a").replace("1", "b") for number in range(300)]
    expected = re.compile("(a|b)*a(a|b){14}")
    assert pattern.matching(names) == {name for name in names if expected.fullmatch(name)}


def test_a_pattern_that_takes_too_long_for_all_topics_together_is_refused() -> None:
    rng = random.Random(1)
    names = ["".join(rng.choices("ab", k=249)) for _ in range(1000)]
    began = time.process_time()
    with pytest.raises(BadPattern, match="too long"):
        TopicPattern("(a|b)*a(a|b){200}").matching(names)
    assert time.process_time() - began < SPAN_S
    assert TopicPattern(".*a.*b?").matching(names) == set(names)
    many = [f"tenant-{number}.orders.v{number % 7}" for number in range(20_000)]
    assert len(TopicPattern(r"tenant-\d+\.(orders|bills)\.v[0-3]").matching(many)) > 10_000
