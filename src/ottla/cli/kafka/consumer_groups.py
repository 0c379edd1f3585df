"""kafka-consumer-groups: lists, describes and deletes groups, and moves or deletes their offsets."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from ottla.base.errors import ApiError
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, COMMAND_CONFIG, complain, run
from ottla.cli.kafka.connect import with_admin
from ottla.cli.kafka.java_names import java_text, kafka_message
from ottla.cli.kafka.options import Command, Failed, Given, Option, OptionError, UsageError
from ottla.client.administration.groups import Groups

ACTIONS: Final = (
    "list",
    "describe",
    "delete",
    "reset-offsets",
    "delete-offsets",
    "validate-regex",
)
SCENARIOS: Final = (
    "to-offset",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "shift-by",
    "from-file",
)
_ONLY_WITH: Final = {
    "members": ("describe",),
    "verbose": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
}
_VIEWS: Final = ("members", "offsets", "state")
_NO_ACTION: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this "
    "command will require either --dry-run or --execute to be specified. You should add the "
    "--dry-run option explicitly if you are scripting this command and want to keep the current "
    "default behavior without prompting."
)
COMMAND = Command(
    "kafka-consumer-groups",
    "Lists, describes and deletes consumer groups, and moves or deletes their offsets.",
    (
        BOOTSTRAP_SERVER._replace(
            help="Brokers to ask first, as HOST:PORT,HOST:PORT. REQUIRED except for --validate-regex."
        ),
        COMMAND_CONFIG,
        Option("list", "List the consumer groups."),
        Option("describe", "Show where a group is, and how far behind (its lag)."),
        Option("delete", "Delete groups that have no members, with all their offsets."),
        Option(
            "reset-offsets",
            "Move a group that has no members. --dry-run (the default) shows where to, --execute "
            "does it, --export writes the plan as CSV.\n"
            "Where to: --to-datetime, --by-duration, --to-earliest, --to-latest, --shift-by, "
            "--from-file, --to-current or --to-offset.\n"
            "Of which topics: --all-topics or --topic, unless a file says it.",
        ),
        Option("delete-offsets", "Delete what a group has committed for topics."),
        Option(
            "validate-regex", "Tell whether RE2 understands a regular expression.", "String: regex"
        ),
        Option(
            "group",
            "The group; except for --delete-offsets also several.",
            "String: consumer group",
        ),
        Option("all-groups", "All consumer groups."),
        Option(
            "topic",
            "A topic, or some of its partitions as `topic:0,1,2`; may be given again.",
            "String: topic",
        ),
        Option("all-topics", "With --reset-offsets: all topics that the group has offsets for."),
        Option("offsets", "With --describe: offsets and lag. This is the default."),
        Option("members", "With --describe: the members of the group."),
        Option(
            "state",
            "With --describe: the state of the group. With --list: the state of every group, or "
            "only groups in some states, as in --state stable,empty.",
            "String",
            value_may_be_missing=True,
        ),
        Option(
            "type",
            "With --list: the type of every group, or only groups of some types, as in --type "
            "classic,consumer.",
            "String",
            value_may_be_missing=True,
        ),
        Option("verbose", "With --describe: more columns."),
        Option("dry-run", "With --reset-offsets: only show what would be done."),
        Option("execute", "With --reset-offsets: do it."),
        Option("export", "With --reset-offsets: write the offsets as CSV, for --from-file."),
        Option("to-offset", "Move to this offset.", "Long: offset"),
        Option(
            "to-datetime",
            "Move to the first record at or after this time. Format: 'YYYY-MM-DDThh:mm:ss.sss', "
            "UTC unless a zone follows.",
            "String: datetime",
        ),
        Option(
            "by-duration",
            "Move back by this much time from now. Format: 'PnDTnHnMnS'",
            "String: duration",
        ),
        Option("to-earliest", "Move to the first record there is."),
        Option("to-latest", "Move behind the last record."),
        Option("to-current", "Stay; where nothing is committed, move behind the last record."),
        Option(
            "shift-by",
            "Move on by this many records, or back by as many if negative.",
            "Long: number-of-offsets",
        ),
        Option("from-file", "Move to the offsets in a CSV file.", "String: path to CSV file"),
        Option(
            "timeout",
            "How long the cluster may take to answer. (default: 30000)",
            "Long: timeout (ms)",
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-consumer-groups; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    _check(given)
    if given.has("validate-regex"):
        _validate(given.value("validate-regex") or "")
        return 0
    try:
        sort, act = _action(given)
        timeout = str(given.long_number("timeout") or 30_000)
        with_admin(
            sort,
            given,
            lambda admin: act(admin, given),
            default_api_timeout_ms=timeout,
            request_timeout_ms=timeout,
        )
    except ApiError as refused:
        _failed(java_text(refused), kafka_message(refused))
    except (Failed, OptionError) as failure:
        _failed(str(failure), str(failure))
    return 0  # Kafka ends with 0 even then; scripts read what it prints


def _failed(shown: str, sentence: str) -> None:
    print(f"\nError: Executing consumer group command failed due to {shown}")
    complain(sentence)


def _action(given: Given) -> tuple[type[Any], Callable[[Any, Given], Coroutine[Any, Any, None]]]:
    if given.has("list"):
        from ottla.cli.kafka.listed_groups import list_consumer_groups

        return Groups, list_consumer_groups
    if given.has("describe"):
        from ottla.cli.kafka.described_groups import GroupsAndOffsets, describe

        return GroupsAndOffsets, describe
    if given.has("reset-offsets"):
        from ottla.cli.kafka.reset_offsets import ResetAdmin, reset

        return ResetAdmin, reset
    from ottla.cli.kafka.deleted_groups import DeletingAdmin, delete, delete_offsets

    return DeletingAdmin, delete if given.has("delete") else delete_offsets


def _check(given: Given) -> None:
    for option, actions in _ONLY_WITH.items():
        if given.has(option) and not any(map(given.has, actions)):
            raise OptionError(
                f"Option(s) [{option}] are unavailable given other options on the command line"
            )
    if not given.has("validate-regex"):
        given.require("bootstrap-server")
    chosen = given.has("group") or given.has("all-groups")
    for action in ("describe", "delete"):
        if given.has(action) and not chosen:
            raise UsageError(f"Option [{action}] takes one of these options: [group], [all-groups]")
    if given.has("describe"):
        _check_describe(given)
    if given.has("delete") and given.has("topic"):
        raise UsageError(
            "The consumer does not support topic-specific offset deletion from a consumer group."
        )
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        raise UsageError("Option [delete-offsets] takes the following options: [topic], [group]")
    if given.has("reset-offsets"):
        _check_reset(given, chosen)
    given.exclude("group", ("all-groups", "list"))
    given.exclude("topic", ("list", "describe"))
    if sum(map(given.has, ACTIONS)) != 1:
        shown = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {shown}")


def _check_describe(given: Given) -> None:
    if sum(map(given.has, _VIEWS)) > 1:
        raise UsageError(
            "Option [describe] takes at most one of these options: [members], [offsets], [state]"
        )
    if given.value("state") is not None:
        raise UsageError("Option [describe] does not take a value for [state]")


def _check_reset(given: Given, chosen: bool) -> None:
    if given.has("dry-run") and given.has("execute"):
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("dry-run") and not given.has("execute"):
        complain(_NO_ACTION)
    if not chosen:
        raise UsageError("Option [reset-offsets] takes one of these options: [group], [all-groups]")
    for number, scenario in enumerate(SCENARIOS):
        given.exclude(scenario, SCENARIOS[number + 1 :])


def _validate(regex: str) -> None:
    from ottla.coordination.groups.pattern_syntax import BadPattern, parse

    try:
        parse(regex)
    except BadPattern as flaw:
        print(f"The regular expression `{regex}` is invalid: {str(flaw).rstrip('.')}.")
    else:
        print(f"The regular expression `{regex}` is valid.")
