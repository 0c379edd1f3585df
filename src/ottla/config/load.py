"""Gathers settings: defaults, properties file, environment, command line; the last one wins."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ottla.base.errors import ConfigError
from ottla.base.log import logger
from ottla.config.checks import checked
from ottla.config.kafka import is_ignored, why_refused
from ottla.config.misspelt import meant
from ottla.config.own import PREFIX
from ottla.config.properties import parse_properties
from ottla.config.table import SYNONYMS, TABLE, Given, Settings, from_texts

log = logger(__name__)

ENVIRONMENT_PREFIX: Final = "OTTLA_"
COMMAND_LINE: Final = "--set"
OF_ANOTHER_PROCESS: Final = "OTTLA_HTTP_"
"""How the variables of `ottla http` begin; one of them was the broker's before."""
DEFAULTS: Final = "the command's defaults"
DEFAULTS_FILE: Final = "OTTLA_DEFAULTS_FILE"
NOT_SETTINGS: Final = frozenset(
    {"OTTLA_REQUIRE_ALL", "OTTLA_CONTEXT", "OTTLA_BOOTSTRAP_SERVERS", DEFAULTS_FILE}
)
"""Variables that commands and the test suite read, and no broker."""


def load(
    path: str | None = None,
    environment: Mapping[str, str] | None = None,
    assignments: Iterable[str] = (),
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """Reads and checks the settings of a broker; ConfigError says which one is wrong, and why.

    `defaults` are those of a command; an image brings its own in a file that OTTLA_DEFAULTS_FILE names.
    """
    given = {name: Given(text, DEFAULTS) for name, text in defaults.items()}
    environment = environment or {}
    if image := environment.get(DEFAULTS_FILE):
        given.update(_from_file(image))
    if path is not None:
        given.update(_from_file(path))
    given.update(_from_environment(environment))
    given.update(_from_command_line(assignments))
    for name, (text, source) in given.items():
        why = why_refused(name, text)
        if why is not None:
            raise ConfigError(name, _unless_secret(name, text), f"{why} (set by {source})")
    _refuse_misspelt(given)
    settings = checked(from_texts(given))
    return replace(
        settings,
        ignored=tuple(sorted(name for name in given if not _known(name) and is_ignored(name))),
        unknown=tuple(sorted(name for name in given if not _known(name) and not is_ignored(name))),
    )


def tell_ignored(settings: Settings) -> None:
    """Warns, in a line each, of settings that mean nothing here and of names nobody knows."""
    if settings.ignored:
        log.warning("settings without meaning here are ignored", names=",".join(settings.ignored))
    if settings.unknown:
        log.warning("unknown settings are ignored", names=",".join(settings.unknown))


def environment_name(name: str) -> str:
    """The environment variable for a setting: OTTLA_LOG_RETENTION_MS for log.retention.ms."""
    return ENVIRONMENT_PREFIX + name.removeprefix(PREFIX).upper().replace(".", "_")


def _known(name: str) -> bool:
    return name in TABLE or name in SYNONYMS


def _refuse_misspelt(given: Mapping[str, Given]) -> None:
    """Refuse names that are nearly ours: `auto.create.topic.enable=false` would leave auto-creation on."""
    strange = [
        (name, written.source)
        for name, written in given.items()
        if not _known(name) and not is_ignored(name)
    ]
    meant_ones = [(name, source, _meant(name, source)) for name, source in strange]
    found = [
        f"{name} (set by {source}), did you mean {right}?"
        for name, source, right in meant_ones
        if right
    ]
    if found:
        raise ConfigError(f"unknown setting{'s' if len(found) > 1 else ''}", None, " ".join(found))


def _meant(name: str, source: str) -> str | None:
    if source.startswith(ENVIRONMENT_PREFIX):
        variables = {environment_name(each).lower(): each for each in (*TABLE, *SYNONYMS)}
        found = meant(source, variables)
        return None if found is None else found.upper()
    return meant(name, (*TABLE, *SYNONYMS))


def _from_file(path: str) -> Iterator[tuple[str, Given]]:
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        raise ConfigError(path, None, f"cannot be read: {error.strerror}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # what Java takes every properties file for
    try:
        properties = parse_properties(text)
    except ValueError as error:
        raise ConfigError(path, None, str(error)) from None
    for name, value in properties.items():
        yield name, Given(value, path)


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, Given]]:
    names = {environment_name(name): name for name in (*TABLE, *SYNONYMS)}
    for variable, text in environment.items():
        if variable.startswith(OF_ANOTHER_PROCESS) and variable not in names:
            continue
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in NOT_SETTINGS:
            plain = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", ".")
            yield names.get(variable, plain), Given(text, variable)


def _from_command_line(assignments: Iterable[str]) -> Iterator[tuple[str, Given]]:
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ConfigError(COMMAND_LINE, None, f"{assignment!r} must have the form name=value")
        if not (_known(name) or is_ignored(name) or why_refused(name, "any")):
            raise ConfigError(name, text, f"is not a setting{_suggestion(name)}")
        yield name, Given(text, COMMAND_LINE)


def _suggestion(name: str) -> str:
    from difflib import get_close_matches  # slow to import, and rarely needed

    close = get_close_matches(name, (*TABLE, *SYNONYMS), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _unless_secret(name: str, text: str) -> str:
    secret = any(word in name for word in ("password", "secret", "jaas", "key"))
    return "[hidden]" if secret else text
