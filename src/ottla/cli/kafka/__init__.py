"""Kafka's own commands, with Kafka's options, output and exit codes; one file each.

A command is a table of options and a function. To add one:

    COMMAND = Command("kafka-example", "Says what it is for.", (
        Option("topic", "The topic to look at.", "String: topic"),   # takes a value
        Option("quiet", "Say nothing."),                             # a flag
        BOOTSTRAP_SERVER, COMMAND_CONFIG,
    ))

    def main(argv: Sequence[str] | None = None) -> int:
        return run(COMMAND, _execute, argv)

    def _execute(given: Given) -> int: ...                           # the exit code

and two lines of `[project.scripts]`: the name with and without `.sh`.

- `options.py`: the table, the parser (joptsimple's manner) and `Given`, what a person typed.
- `habits.py`: old and misspelt options.
- `usage.py`: how `--help` is laid out.
- `command.py`: `run`, which turns whatever goes wrong into one sentence and an exit code.
- `connect.py`: from `--bootstrap-server` and `--command-config` to an `Admin`.
- `client_options.py`: from `--command-property` and its older names to settings of a client.
- `java_names.py`: what Kafka's exceptions are called, where its output names them.
- `java_order.py`: the order in which Java's maps hold things, and Kafka's tools print them.
- `tables.py`: columns as Kafka aligns them.
- `streams.py`: bytes from standard input and to standard output.

Commands that Kafka wrote with argparse4j (kafka-cluster, kafka-transactions) use argparse and
`command.run_with_parser`. Nothing here imports kio, click, rich, uvloop or importlib.metadata, and
modules that one action alone needs are imported by it: start-up is what people feel.
"""
