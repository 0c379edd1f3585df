"""Runs one of Kafka's commands: whatever goes wrong ends in one sentence and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.cli.kafka.habits import Habits
from ottla.cli.kafka.options import Command, Given, Option, UsageError, parse
from ottla.cli.kafka.usage import usage

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

KAFKA_VERSION = "4.3.0"
"""What `--version` prints: scripts that ask want to know which Kafka the command behaves like."""

BOOTSTRAP_SERVER = Option(
    "bootstrap-server",
    "REQUIRED: one or more brokers to ask first, as HOST:PORT,HOST:PORT.",
    "String: server to connect to",
)
COMMAND_CONFIG = Option(
    "command-config",
    "A properties file with settings for the client.",
    "String: command config property file",
)
_COMMON = (
    Option("help", "Print this text."),
    Option("version", "Print the version of Kafka that the command follows."),
)


def run(
    command: Command,
    execute: Callable[[Given], int],
    argv: Sequence[str] | None = None,
    *,
    prefix: str = "",
) -> int:
    """Read the options and do the work; the exit code. Some of Kafka's tools prefix what they say."""
    complete = command._replace(options=(*command.options, *_COMMON))
    words = sys.argv[1:] if argv is None else list(argv)
    return guarded(lambda: _parse_and_execute(complete, execute, words), prefix)


def run_with_parser(
    parser: ArgumentParser,
    execute: Callable[[Namespace], int],
    argv: Sequence[str] | None = None,
) -> int:
    """The same for commands that Kafka wrote with argparse4j: help and refusals end with 1."""
    try:
        arguments = parser.parse_args(argv)
    except SystemExit:
        return 1
    return guarded(lambda: execute(arguments))


def guarded(work: Callable[[], int], prefix: str = "") -> int:
    """Do the work; what a person can cause is told on stderr, a reader that left is no error."""
    try:
        code = work()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Kafka's tools end with 0 when nobody reads on. Python would complain at exit otherwise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OttlaError, OSError) as failure:
        complain(prefix + sentence(failure))
        return 1


def complain(message: str) -> None:
    """Say something on stderr, behind what was printed so far."""
    sys.stdout.flush()
    print(message, file=sys.stderr)


def sentence(failure: Exception) -> str:
    """What went wrong, for a person."""
    if isinstance(failure, OSError) and failure.filename is not None:
        return f"{failure.filename}: {failure.strerror}"
    return str(failure)


def _parse_and_execute(
    command: Command, execute: Callable[[Given], int], words: Sequence[str]
) -> int:
    habits = Habits(command, words)
    given = parse(command, words, habits.find)
    if given.has("version"):
        print(KAFKA_VERSION)
        return 0
    if given.has("help") or not words:  # Kafka ends with 1 here as well
        complain(f"{command.summary}\n{usage(command)}")
        return 1
    for word in given.words:
        habits.leftover(word)
    for note in habits.notes:
        complain(note)
    try:
        return execute(given)
    except UsageError as refused:
        complain(f"{refused}\n{usage(command)}")
        return 1
