"""The commands of `ottla`: what there is, and where it is. Their modules are imported when they run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    import argparse

_PACKAGE: Final = "ottla.cli.commands"
# What Python calls a keyword cannot be the name of a module.
_KEYWORDS: Final = frozenset(("import",))


class Command(Protocol):
    """The module of a command."""

    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its options."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; the exit code."""


class Noun(NamedTuple):
    """Something that commands are about, and what can be done with it."""

    summary: str
    examples: str
    verbs: Mapping[str, str]


ALONE: Final = {
    "up": "Start ottla on this machine and show what to try.",
    "broker": "Run one broker in the foreground.",
    "http": "Serve REST and the console of a cluster.",
    "doctor": "Find out why a consumer gets nothing, a producer is refused or a cluster is unwell.",
    "bench": "Measure how fast a cluster takes and gives records.",
    "completion": "Print what makes a shell complete commands, topics and groups.",
}
"""Commands without a noun."""

NOUNS: Final = {
    "topics": Noun(
        "Look at topics, make them, change them and delete them.",
        """examples:
  ottla topics list
  ottla topics create orders --partitions 6
  ottla topics describe orders
""",
        {
            "list": "List topics, with --long what they hold.",
            "describe": "Show a topic: who leads its partitions, where they begin and end.",
            "create": "Make topics.",
            "alter": "Give a topic more partitions, or other settings.",
            "configs": "Show the settings of a topic.",
            "delete": "Delete topics with all that they hold.",
        },
    ),
    "partitions": Noun(
        "Have leaders elected for partitions.",
        """examples:
  ottla partitions elect --unclean --dry-run
  ottla partitions elect --unclean orders-3
""",
        {
            "elect": "Give partitions back to their preferred leaders, or a leader to those without one.",
        },
    ),
    "records": Noun(
        "Read records and write them, on a terminal, from files and to files.",
        """examples:
  ottla records tail orders --where 'value.amount > 100'
  ottla records produce orders --from orders.ndjson
  ottla records export orders --to orders.parquet
""",
        {
            "tail": "Print records as they come, or those that are there already.",
            "produce": "Write lines to a topic.",
            "export": "Copy the records of a topic into a file, with all that belongs to them.",
            "import": "Write the records of an exported file to a topic.",
        },
    ),
    "groups": Noun(
        "Look at consumer groups, move their offsets, and take it back.",
        """examples:
  ottla groups list
  ottla groups lag billing --watch
  ottla groups undo billing
""",
        {
            "list": "List groups with their state and lag.",
            "describe": "Show a group: its members, what they read, and how far they are.",
            "lag": "Show how far a group is behind, how fast it reads, and when it has caught up.",
            "reset": "Move the offsets of a group that has no members.",
            "history": "Tell what became of a group and its offsets lately.",
            "undo": "Put a group's offsets back where they were before they were last moved.",
            "delete": "Delete groups that have no members, with their offsets.",
        },
    ),
    "brokers": Noun(
        "Look at the brokers of a cluster.",
        """examples:
  ottla brokers list
  ottla brokers describe 1
""",
        {
            "list": "List brokers with what they lead and hold.",
            "describe": "Show a broker: its log directories, and the settings it was given.",
        },
    ),
    "configs": Noun(
        "Look at settings of topics, brokers and groups, and change them.",
        """examples:
  ottla configs show --topic orders
  ottla configs set --topic orders retention.ms=3600000
  ottla configs unset --all-brokers log.retention.ms
""",
        {
            "show": "Show settings, and where their values come from.",
            "set": "Change settings.",
            "unset": "Let settings have their defaults again.",
        },
    ),
    "acls": Noun(
        "Look at access rules, add and remove them.",
        """examples:
  ottla acls list
  ottla acls add --allow User:alice --operation read --topic orders
""",
        {
            "list": "List access rules.",
            "add": "Add an access rule.",
            "remove": "Remove access rules.",
        },
    ),
    "transactions": Noun(
        "Look at transactions, and end those that hang.",
        """examples:
  ottla transactions list
  ottla transactions find-hanging
""",
        {
            "list": "List transactions.",
            "describe": "Show a transaction.",
            "abort": "Abort a transaction, by its id or where it hangs.",
            "find-hanging": "Find transactions that no coordinator will ever end.",
        },
    ),
    "sinks": Noun(
        "Look at what Spark jobs write to exactly once, and make it forget.",
        """examples:
  ottla sinks list
  ottla sinks describe clicks
  ottla sinks reset clicks
""",
        {
            "list": "List sinks with the batches that they have committed.",
            "describe": "Show a sink: its run, its last batch, and the slots that are open.",
            "abort": "Abort what a sink has open; what it has committed stays.",
            "reset": "Make a sink forget what it has committed.",
        },
    ),
    "spark": Noun(
        "Read and write topics with Spark.",
        """examples:
  ottla spark shell
  ottla spark package --to ottla-spark.tar.gz
""",
        {
            "shell": "Open PySpark with everything set.",
            "package": "Make an archive of ottla for the workers of a Spark cluster.",
            "python": "Print the interpreter with which Spark's workers start sooner.",
        },
    ),
    "streams": Noun(
        "Run stream applications on Spark.",
        """examples:
  ottla streams run app.py
  ottla streams run app.py --until-caught-up
""",
        {
            "run": "Run the topology that a file defines.",
        },
    ),
    "connect": Noun(
        "Move data between topics and other systems.",
        """examples:
  ottla connect start
  ottla connect start worker.properties --listen 127.0.0.1:8083
""",
        {"start": "Run a worker: Kafka Connect's REST API, with connectors on Spark."},
    ),
    "cluster": Noun(
        "Look at a cluster as a whole.",
        """examples:
  ottla cluster status
  ottla cluster id
""",
        {
            "status": "Tell whether all brokers and partitions are well.",
            "id": "Print the id of the cluster.",
            "migrate": "Move the metadata of a single broker to ZooKeeper: the first step to a cluster.",
        },
    ),
    "context": Noun(
        "Name clusters, and choose the one that commands talk to.",
        """examples:
  ottla context add prod -b kafka-1:9092,kafka-2:9092
  ottla context use prod
  ottla context list
""",
        {
            "list": "List contexts; the one in use has a star.",
            "show": "Show what a context says.",
            "add": "Add a context, or change one.",
            "use": "Choose the context that commands use from now on.",
            "remove": "Remove a context.",
        },
    ),
}


def load(name: str, verb: str | None = None) -> Command:
    """The module of a command."""
    parts = [_PACKAGE, name] if verb is None else [_PACKAGE, name, _module(verb)]
    return cast(Command, import_module(".".join(parts)))


def _module(verb: str) -> str:
    return f"{verb}_" if verb in _KEYWORDS else verb.replace("-", "_")
