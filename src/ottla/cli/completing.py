"""What may follow on a command line that somebody is typing: commands, options, topics, groups, sinks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ottla.base.errors import OttlaError
from ottla.cli.catalogue import ALONE, NOUNS
from ottla.cli.connect import ask
from ottla.cli.contexts import read_contexts
from ottla.cli.parsing import leaf_parser

if TYPE_CHECKING:
    from ottla.client.admin import Admin

HIDDEN: Final = "words"
"""What shells say to `ottla completion`, and people need not know."""

# Nobody waits longer for a list of names than it takes to type one.
_IMPATIENCE: Final = {
    "request_timeout_ms": "700",
    "default_api_timeout_ms": "900",
    "socket_connection_setup_timeout_ms": "500",
    "retries": "0",
}


def candidates(words: Sequence[str]) -> list[str]:
    """What the last of the words may become."""
    *before, prefix = _rejoined(words) or [""]
    return sorted(each for each in _possible(before, prefix) if each.startswith(prefix))


def _possible(before: Sequence[str], prefix: str) -> Iterable[str]:
    if not before:
        return (*ALONE, *NOUNS, "--help", "--version")
    name, *rest = before
    if name in ALONE:
        return _of_command(leaf_parser(name, None), rest, prefix)
    if name not in NOUNS:
        return ()
    if not rest:
        return (*NOUNS[name].verbs, "--help")
    verb, *rest = rest
    return _of_command(leaf_parser(name, verb), rest, prefix) if verb in NOUNS[name].verbs else ()


def _of_command(
    parser: argparse.ArgumentParser, before: Sequence[str], prefix: str
) -> Iterable[str]:
    options = {text: action for action in parser._actions for text in action.option_strings}
    previous = options.get(before[-1]) if before else None
    if previous is not None and _takes_value(previous):
        return _values(previous, before)
    if prefix.startswith("-"):
        return [text for text in options if text.startswith("--")]
    places = [action for action in parser._actions if not action.option_strings]
    given = _plain_words(before, options)
    if not places or (given >= len(places) and places[-1].nargs not in ("+", "*")):
        return ()
    return _values(places[min(given, len(places) - 1)], before)


def _takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0


def _plain_words(before: Sequence[str], options: dict[str, argparse.Action]) -> int:
    """How many words belong to no option."""
    count, skipping = 0, False
    for word in before:
        if skipping:
            skipping = False
        elif word in options:
            skipping = _takes_value(options[word])
        else:
            count += 1
    return count


def _values(action: argparse.Action, before: Sequence[str]) -> Iterable[str]:
    if action.choices is not None:
        return [str(each) for each in action.choices if str(each) != HIDDEN]
    meaning = action.metavar if isinstance(action.metavar, str) else ""
    if action.dest == "context" or meaning == "CONTEXT":
        return _quietly(lambda: list(read_contexts().settings))
    if meaning.startswith("TOPIC"):
        return _quietly(lambda: ask(_connection(before), _topics, **_IMPATIENCE))
    if meaning == "GROUP":
        return _quietly(lambda: ask(_connection(before), _groups, **_IMPATIENCE))
    if meaning == "SINK":
        return _quietly(lambda: ask(_connection(before), _sinks, **_IMPATIENCE))
    return ()


async def _topics(admin: Admin) -> list[str]:
    return list(await admin.list_topics(include_internal=False))


async def _groups(admin: Admin) -> list[str]:
    return [each.group_id for each in await admin.list_groups()]


async def _sinks(admin: Admin) -> list[str]:
    return [each.sink_id for sinks in (await admin.list_sinks()).values() for each in sinks]


def _quietly(look: Callable[[], list[str]]) -> list[str]:
    """What there is, or nothing: a person who presses Tab wants no sentence."""
    try:
        return look()
    except (OttlaError, OSError):
        return []


def _connection(before: Sequence[str]) -> argparse.Namespace:
    """Which cluster the words before speak of."""
    found = argparse.Namespace(bootstrap_server=None, context=None, client_settings=[])
    for word, value in pairwise(before):
        if word in ("-b", "--bootstrap-server"):
            found.bootstrap_server = value
        elif word == "--context":
            found.context = value
    return found


def _rejoined(words: Sequence[str]) -> list[str]:
    """Bash takes host:port for three words."""
    joined: list[str] = []
    glue = False
    for word in words:
        if joined and (glue or word == ":"):
            joined[-1] += word
        else:
            joined.append(word)
        glue = word == ":"
    return joined
