"""What zookeeper-shell can be told, and what it prints: as ZooKeeper's own command line, word for word."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ottla.base.errors import OttlaError
from ottla.cluster.znode_session import Rights, ZnodeSession

_ANY_VERSION = -1


class Malformed(OttlaError):
    """A line that cannot be understood; the message says how it must be."""


class Typed(NamedTuple):
    """The words behind a command: those with a dash, with what follows them, and the others."""

    options: dict[str, str]
    words: list[str]

    @property
    def path(self) -> str:
        """The node that it is about."""
        return self.words[0]

    def version(self) -> int:
        """The version that the node must have."""
        text = self.options.get("v")
        if text is None:
            return _ANY_VERSION
        try:
            return int(text)
        except ValueError:
            raise Malformed(f"version {text} is no number") from None


class Word(NamedTuple):
    """One command: how it is used, the options that it takes (those with a colon want a value), what it does."""

    usage: str
    options: str
    fewest_words: int
    act: Callable[[ZnodeSession, Typed], None]


def perform(session: ZnodeSession, name: str, words: Sequence[str]) -> None:
    """Do one command; Malformed or ZnodeRefused if it cannot be done."""
    row = WORDS[name]
    typed = _typed(row, f"{name} {row.usage}", words)
    if typed.words and name != "addauth":
        _check_path(typed.path)
    row.act(session, typed)


def _typed(row: Word, usage: str, words: Sequence[str]) -> Typed:
    typed = Typed({}, [])
    left = iter(words)
    for word in left:
        letter = word[1:]
        if not word.startswith("-") or _is_number(word):
            typed.words.append(word)
            continue
        if len(letter) != 1 or letter not in row.options.replace(":", ""):
            raise Malformed(f"Unrecognized option: {word}")
        wants_value = f"{letter}:" in row.options
        value = next(left, None) if wants_value else ""
        if value is None:
            raise Malformed(f"Missing argument for option: {letter}")
        typed.options[letter] = value
    if len(typed.words) < row.fewest_words:
        raise Malformed(usage)
    return typed


def _is_number(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdecimal()


def _check_path(path: str) -> None:
    if not path.startswith("/"):
        raise Malformed("Path must start with / character")
    if path.endswith("/") and path != "/":
        raise Malformed("Path must not end with / character")


def _ls(session: ZnodeSession, typed: Typed) -> None:
    if "R" in typed.options:
        _print_below(session, typed.path)
        return
    names, stat = session.children(typed.path, watch="w" in typed.options)
    print(f"[{', '.join(names)}]")
    if "s" in typed.options:
        _print_stat(stat)


def _print_below(session: ZnodeSession, path: str) -> None:
    print(path)
    for name in session.children(path)[0]:
        _print_below(session, f"{path.rstrip('/')}/{name}")


def _get(session: ZnodeSession, typed: Typed) -> None:
    data, stat = session.get(typed.path, watch="w" in typed.options)
    if data is None:
        print("null")
    elif "b" in typed.options:
        print(base64.b64encode(data).decode())
    else:
        print(data.decode(errors="replace"))
    if "s" in typed.options:
        _print_stat(stat)


def _stat(session: ZnodeSession, typed: Typed) -> None:
    _print_stat(session.stat(typed.path, watch="w" in typed.options))


def _create(session: ZnodeSession, typed: Typed) -> None:
    _, data, acl, *_ = [*typed.words, None, None]
    made = session.create(
        typed.path,
        None if data is None else data.encode(),
        [] if acl is None else _rights(acl),
        ephemeral="e" in typed.options,
        sequence="s" in typed.options,
    )
    print(f"Created {made}", file=sys.stderr)


def _set(session: ZnodeSession, typed: Typed) -> None:
    text = typed.words[1]
    try:
        data = base64.b64decode(text, validate=True) if "b" in typed.options else text.encode()
    except ValueError:
        raise Malformed(f"{text} is not base64") from None
    stat = session.set(typed.path, data, typed.version())
    if "s" in typed.options:
        _print_stat(stat)


def _delete(session: ZnodeSession, typed: Typed) -> None:
    session.delete(typed.path, typed.version())


def _deleteall(session: ZnodeSession, typed: Typed) -> None:
    _delete_below(session, typed.path)


def _delete_below(session: ZnodeSession, path: str) -> None:
    for name in session.children(path)[0]:
        _delete_below(session, f"{path.rstrip('/')}/{name}")
    session.delete(path, _ANY_VERSION)


def _get_acl(session: ZnodeSession, typed: Typed) -> None:
    rights, stat = session.rights(typed.path)
    for each in rights:
        print(f"'{each.scheme},'{each.id}\n: {each.permissions}")
    if "s" in typed.options:
        _print_stat(stat)


def _set_acl(session: ZnodeSession, typed: Typed) -> None:
    stat = session.set_rights(typed.path, _rights(typed.words[1]), typed.version())
    if "s" in typed.options:
        _print_stat(stat)


def _addauth(session: ZnodeSession, typed: Typed) -> None:
    session.authenticate(typed.words[0], "".join(typed.words[1:2]))


def _sync(session: ZnodeSession, typed: Typed) -> None:
    session.sync(typed.path)
    print("Sync is OK")


def _rights(text: str) -> list[Rights]:
    """scheme:id:permissions, several with commas between; the id may have colons of its own."""
    found = []
    for each in text.split(","):
        scheme, _, rest = each.strip().partition(":")
        who, colon, permissions = rest.rpartition(":")
        if not colon or set(permissions) - set("cdrwa"):
            raise Malformed(f"{each} does not have the form scheme:id:perm")
        found.append(Rights(scheme, who, permissions))
    return found


def _print_stat(stat: Any) -> None:
    print(
        f"cZxid = {stat.czxid:#x}\nctime = {_date(stat.ctime)}\n"
        f"mZxid = {stat.mzxid:#x}\nmtime = {_date(stat.mtime)}\n"
        f"pZxid = {stat.pzxid:#x}\ncversion = {stat.cversion}\ndataVersion = {stat.version}\n"
        f"aclVersion = {stat.aversion}\nephemeralOwner = {stat.ephemeralOwner:#x}\n"
        f"dataLength = {stat.dataLength}\nnumChildren = {stat.numChildren}"
    )


def _date(time_ms: int) -> str:
    return time.strftime("%a %b %d %H:%M:%S %Z %Y", time.localtime(time_ms / 1000))


WORDS = {
    "addauth": Word("scheme auth", "", 1, _addauth),
    "create": Word("[-s] [-e] path [data] [acl]", "se", 1, _create),
    "delete": Word("[-v version] path", "v:", 1, _delete),
    "deleteall": Word("path", "", 1, _deleteall),
    "get": Word("[-s] [-w] [-b] path", "swb", 1, _get),
    "getAcl": Word("[-s] path", "s", 1, _get_acl),
    "ls": Word("[-s] [-w] [-R] path", "swR", 1, _ls),
    "set": Word("path data [-s] [-v version] [-b]", "sv:b", 2, _set),
    "setAcl": Word("[-s] [-v version] path acl", "sv:", 2, _set_acl),
    "stat": Word("[-w] path", "w", 1, _stat),
    "sync": Word("path", "", 1, _sync),
}
