"""kafka-reassign-partitions: moves replicas between brokers and log directories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ottla.base.errors import ApiError, ConfigError, OttlaError
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.java_names import java_text
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError
from ottla.cli.kafka.reassignment import (
    ReassignmentAdmin,
    cancel,
    execute,
    generate,
    list_moves,
    verify,
)
from ottla.cli.kafka.reassignment_files import read_reassignment, read_topics

ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")
_NEEDS: Final = {
    "generate": ("broker-list", "topics-to-move-json-file"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_MAY_HAVE: Final = {
    "generate": ("disable-rack-aware",),
    "execute": (
        "additional",
        "disallow-replication-factor-change",
        "throttle",
        "replica-alter-log-dirs-throttle",
        "timeout",
    ),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
_OPTIONAL: Final = tuple(
    dict.fromkeys(o for names in (*_MAY_HAVE.values(), *_NEEDS.values()) for o in names)
)
COMMAND = Command(
    "kafka-reassign-partitions",
    "Moves replicas of partitions between brokers and log directories.",
    (
        BOOTSTRAP_SERVER,
        Option(
            "bootstrap-controller",
            "Controllers to ask in place of brokers; not served.",
            "String: controller to connect to",
        ),
        COMMAND_CONFIG,
        Option("generate", "Propose an assignment, and change nothing."),
        Option("execute", "Begin the moves of --reassignment-json-file."),
        Option("verify", "Tell whether moves are complete, and lift throttles once they are."),
        Option("cancel", "End moves that are under way."),
        Option("list", "List moves that are under way."),
        Option(
            "reassignment-json-file",
            "A file with the moves. Its form:\n"
            '{"partitions":\n\t[{"topic": "foo",\n\t  "partition": 1,\n\t  "replicas": [1,2,3],\n'
            '\t  "log_dirs": ["dir1","dir2","dir3"]\n  }],\n"version":1\n}\n'
            '"log_dirs" may be left out; each is a path, or "any".',
            "String: manual assignment json file path",
        ),
        Option(
            "topics-to-move-json-file",
            "A file with topics, for --generate. Its form:\n"
            '{"topics":\n\t[{"topic": "foo"},{"topic": "foo1"}],\n"version":1\n}',
            "String: topics to reassign json file path",
        ),
        Option(
            "broker-list",
            'Ids of the brokers to move to, "0,1,2", for --generate.',
            "String: brokerlist",
        ),
        Option("disable-rack-aware", "Propose without regard to racks."),
        Option(
            "disallow-replication-factor-change", "Refuse moves that change the number of replicas."
        ),
        Option("additional", "Begin these moves beside others that are under way."),
        Option(
            "throttle",
            "Move no more than this many bytes per second between brokers. (default: -1)",
            "Long: throttle",
        ),
        Option(
            "replica-alter-log-dirs-throttle",
            "The same between directories of a broker. (default: -1)",
            "Long: replicaAlterLogDirsThrottle",
        ),
        Option(
            "timeout",
            "How many ms to wait for moves between directories to begin. (default: 10000)",
            "Long: timeout",
        ),
        Option("preserve-throttles", "Leave throttles as they are."),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-reassign-partitions; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    action = _check(given)
    try:
        return _run(given, action)
    except (UsageError, ConfigError):
        raise
    except ApiError as refused:
        print(f"Error: {java_text(refused)}")
    except OttlaError as failure:
        print(f"Error: {failure}")
    return 1


def _run(given: Given, action: str) -> int:
    if action == "list":
        with_admin(ReassignmentAdmin, given, list_moves)
        return 0
    if action == "generate":
        topics = read_topics(given.value("topics-to-move-json-file") or "")
        brokers = _broker_ids(given.value("broker-list") or "")
        racks = not given.has("disable-rack-aware")
        with_admin(ReassignmentAdmin, given, lambda admin: generate(admin, topics, brokers, racks))
        return 0
    moves = read_reassignment(given.value("reassignment-json-file") or "")
    keep = given.has("preserve-throttles")
    if action == "execute":
        with_admin(ReassignmentAdmin, given, lambda admin: execute(admin, given, moves))
    elif action == "cancel":
        with_admin(ReassignmentAdmin, given, lambda admin: cancel(admin, moves, keep))
    else:
        return with_admin(ReassignmentAdmin, given, lambda admin: verify(admin, moves, keep))
    return 0


def _check(given: Given) -> str:
    actions = [action for action in ACTIONS if given.has(action)]
    if len(actions) != 1:
        raise UsageError(
            "Command must include exactly one action: "
            "--generate, --execute, --verify, --cancel, --list"
        )
    [action] = actions
    if given.has("bootstrap-controller"):
        raise Failed(
            "--bootstrap-controller: brokers answer for everything; use --bootstrap-server"
        )
    if not given.has("bootstrap-server"):
        raise UsageError("Please specify either --bootstrap-server or --bootstrap-controller")
    given.require(*_NEEDS[action])
    for option in _OPTIONAL:
        if given.has(option) and option not in _MAY_HAVE[action] + _NEEDS[action]:
            raise UsageError(f'Option "[{option}]" can\'t be used with action "[{action}]"')
    return action


def _broker_ids(text: str) -> list[int]:
    try:
        brokers = [int(word) for word in text.split(",")]
    except ValueError:
        raise Failed(f"--broker-list: '{text}' is no list of broker ids") from None
    twice = sorted({broker for broker in brokers if brokers.count(broker) > 1})
    if twice:
        raise Failed(f"Broker list contains duplicate entries: {','.join(map(str, twice))}")
    return brokers
