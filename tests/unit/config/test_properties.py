"""Properties files are read as java.util.Properties reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb:2\nc 3\nd", {"a": "1", "b": "2", "c": "3", "d": ""}),
        ("  a \t= \f 1  ", {"a": "1  "}),
        ("# a=1\n ! b=2\n\n", {}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1,\\\n    2,\\\r\n\t3", {"a": "1,2,3"}),
        ("a=1\\\n#2", {"a": "1#2"}),
        ("# no \\\na=1", {"a": "1"}),
        ("a=c:\\\\\nb=2", {"a": "c:\\", "b": "2"}),
        ("a\\ b\\=c\\:d=1", {"a b=c:d": "1"}),
        ("a=\\u0041\\t\\n\\r\\f\\q", {"a": "A\t\n\r\fq"}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("a==b", {"a": "=b"}),
        ("a=1\na=2", {"a": "2"}),
        ("\\\n# still a comment\na=1", {"a": "1"}),
        ("a=1\\", {"a": "1"}),
    ],
)
def test_java_reads_it_so(text, expected):
    assert parse_properties(text) == expected


def test_an_escape_cut_short_is_refused_as_java_does():
    with pytest.raises(ValueError, match="four hexadecimal digits"):
        parse_properties("a=\\u12")


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if c in "\\=:#! \t\f\r\n" else c for c in text)


words = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(words, words))
def test_whatever_is_written_is_read_back(written):
    lines = [f"{escaped(name)} = {escaped(value)}" for name, value in written.items()]
    assert parse_properties("\n".join(lines)) == written


@given(st.text(alphabet="ab=: \t\\\n\r#!un0041"))
def test_no_text_breaks_the_reader(text):
    try:
        found = parse_properties(text)
    except ValueError:
        assert "\\u" in text or "\\" in text
    else:
        assert all(isinstance(value, str) for value in found.values())
