"""Pure: reads `sasl.jaas.config`; what stands in it is never repeated, since it holds a password."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

_FORM: Final = 'must be of the form: LoginModuleClass required username="..." password="...";'
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""
    (?P<space> \s+ | //[^\n]* | /\*.*?\*/ )
    | "(?P<double> (?:[^"\\]|\\.)* )"
    | '(?P<single> (?:[^'\\]|\\.)* )'
    | (?P<sign> [=;] )
    | (?P<word> [^\s="';/]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
# As Java's StreamTokenizer reads what stands between quotes.
_ESCAPE: Final = re.compile(r"\\(?:([0-3][0-7]{0,2}|[4-7][0-7]?)|(.))", re.DOTALL)
_LETTERS: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class JaasEntry:
    """A login module and its options."""

    __slots__ = ("module", "options")

    def __init__(self, module: str, options: Mapping[str, str]) -> None:
        self.module = module
        self.options = options

    def __repr__(self) -> str:
        return f"<JaasEntry {self.module}>"

    @property
    def kind(self) -> str:
        """The class of the module without its package: some vendors ship Kafka's under their own."""
        return self.module.rpartition(".")[2]


def parse_jaas(text: str) -> JaasEntry:
    """The one login module of the text; ValueError says what is wrong with it, and no more."""
    tokens = list(_tokens(text))
    if len(tokens) < 3 or "sign" in (tokens[0][0], tokens[1][0]):
        raise ValueError(_FORM)
    (_, module), (_, flag), *rest = tokens
    if flag.lower() not in _FLAGS:
        raise ValueError(_FORM)
    options: dict[str, str] = {}
    while rest and rest[0] != ("sign", ";"):
        name, equals, value = (*rest[:3], *[("", "")] * 3)[:3]
        if name[0] != "word" or equals != ("sign", "=") or value[0] not in ("word", "text"):
            raise ValueError(f'after {flag} come pairs such as name="value" only, then a semicolon')
        options[name[1]] = value[1]
        rest = rest[3:]
    if not rest:
        raise ValueError("must end with a semicolon")
    if len(rest) > 1:
        raise ValueError("must name one login module only")
    return JaasEntry(module, options)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    pos = 0
    while pos < len(text):
        found = _TOKEN.match(text, pos)
        if found is None:
            raise ValueError("has a quotation mark or a comment without an end")
        pos = found.end()
        kind = str(found.lastgroup)
        if kind in ("double", "single"):
            yield "text", _ESCAPE.sub(_unescaped, found[kind])
        elif kind != "space":
            yield kind, found[kind]


def _unescaped(escape: re.Match[str]) -> str:
    octal, letter = escape.groups()
    return chr(int(octal, 8)) if octal else _LETTERS.get(letter, letter)
