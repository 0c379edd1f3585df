"""Command lines to commands: a parser that is built for what was typed, and says what was meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Final, NoReturn

from ottla._version import __version__, is_compiled
from ottla.base.errors import OttlaError
from ottla.cli.catalogue import ALONE, NOUNS, Noun, load

_EXAMPLES: Final = """examples:
  ottla up
  ottla topics create hello --partitions 3
  ottla records tail hello --from-beginning
  ottla doctor
`ottla COMMAND --help` tells more about each.
"""
USAGE_ERROR: Final = 2


class UsageError(OttlaError):
    """Options that contradict one another, or that are missing."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose refusals are short and name what was probably meant."""

    def __init__(self, *, terse: bool = False, **options: object) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,  # type: ignore[arg-type]
        )
        self._terse = terse

    def error(self, message: str) -> NoReturn:
        """Refuse: with the usage where it is short, else with where to find it."""
        if self._terse:
            # What points at a column has shown enough.
            more = "" if "\n" in message else f" (see {self.prog} --help)"
            self.exit(USAGE_ERROR, f"{self.prog}: {message}{more}\n")
        super().error(message)

    def refuse_rest(self, words: Iterable[str]) -> NoReturn:
        """Say of the first word that nothing here takes what it might have been."""
        word = next(iter(words))
        options = [each for each in self._option_string_actions if each.startswith("--")]
        hint = did_you_mean(word.partition("=")[0], options) if word.startswith("-") else ""
        what = "there is no option" if word.startswith("-") else "there is no use for"
        self.error(f"{what} {word}{hint}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question to append to a refusal, or nothing if nothing is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


class _Version(argparse.Action):
    """Tells the version, and whether this is a wheel with compiled modules."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"ottla {__version__}{' (compiled)' if is_compiled() else ''}")
        parser.exit()


def parse(words: Sequence[str]) -> argparse.Namespace:
    """What was typed; `run` does it, `prog` is its name. Ends the process where it makes no sense."""
    arguments, rest = parser_for(words).parse_known_args(words)
    if rest:
        arguments.parser.refuse_rest(rest)
    return arguments


def parser_for(words: Sequence[str]) -> Parser:
    """A parser of everything, of which only what was typed is filled in."""
    root = Parser(prog="ottla", description=_DESCRIPTION, epilog=_EXAMPLES)
    root.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = root.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    chosen, rest = _next_word(words)
    if chosen is not None and chosen not in ALONE and chosen not in NOUNS:
        root.error(f"there is no command {chosen}{did_you_mean(chosen, (*ALONE, *NOUNS))}")
    for name, summary in ALONE.items():
        examples = load(name).EXAMPLES if name == chosen else None
        made = commands.add_parser(name, help=summary, description=summary, epilog=examples)
        if name == chosen:
            _fill(made, name, None)
    for name, noun in NOUNS.items():
        made = commands.add_parser(
            name, help=noun.summary, description=noun.summary, epilog=noun.examples
        )
        if name == chosen:
            _add_verbs(made, name, noun, rest)
    return root


_DESCRIPTION: Final = "Kafka's log, retold in Python: a broker any Kafka client can talk to."


def _add_verbs(parser: Parser, name: str, noun: Noun, words: Sequence[str]) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    chosen, _ = _next_word(words)
    if chosen is not None and chosen not in noun.verbs:
        parser.error(f"there is no {name} {chosen}{did_you_mean(chosen, noun.verbs)}")
    for verb, summary in noun.verbs.items():
        examples = load(name, verb).EXAMPLES if verb == chosen else None
        made = verbs.add_parser(
            verb, help=summary, description=summary, epilog=examples, terse=True
        )
        if verb == chosen:
            _fill(made, name, verb)


def leaf_parser(name: str, verb: str | None) -> Parser:
    """The parser of one command alone."""
    parser = Parser(prog=f"ottla {name}" if verb is None else f"ottla {name} {verb}")
    load(name, verb).add_arguments(parser)
    return parser


def _fill(parser: Parser, name: str, verb: str | None) -> None:
    command = load(name, verb)
    command.add_arguments(parser)
    parser.set_defaults(run=command.run, parser=parser)


def _next_word(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    for at, word in enumerate(words):
        if not word.startswith("-"):
            return word, words[at + 1 :]
    return None, ()


def complain(message: str) -> None:
    """Say something on stderr, behind what was printed so far."""
    sys.stdout.flush()
    print(message, file=sys.stderr)
