"""`ottla context use`: chooses the cluster that commands talk to."""

from __future__ import annotations

import argparse
import os

from ottla.cli.connect import BOOTSTRAP
from ottla.cli.contexts import CONTEXT_VARIABLE, read_contexts, write_contexts
from ottla.cli.output import Report, add_output_argument
from ottla.cli.parsing import complain

EXAMPLES = """examples:
  ottla context use prod
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which one."""
    parser.add_argument("name", metavar="CONTEXT")
    add_output_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Use it."""
    contexts = read_contexts()
    servers = contexts.get(arguments.name).get(BOOTSTRAP, "")
    write_contexts(contexts._replace(current=arguments.name))
    with Report(arguments.output) as report:
        sentence = f"commands now talk to {arguments.name} ({servers})"
        report.tell(sentence, context=arguments.name, current=True)
    if os.environ.get(CONTEXT_VARIABLE):
        complain(f"but not in this shell: {CONTEXT_VARIABLE} is set here and is stronger")
    return 0
