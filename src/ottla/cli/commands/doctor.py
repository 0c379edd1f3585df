"""`ottla doctor`: what is wrong, and the command that mends it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import NotThere, find_group, find_topic
from ottla.cli.output import add_output_argument, paint, show
from ottla.client.errors import ClientError, NotKafka
from ottla.inspection.diagnosis import (
    PROBLEM,
    WARNING,
    WELL,
    Finding,
    cluster_findings,
    group_findings,
    topic_findings,
)
from ottla.inspection.human_units import counted
from ottla.inspection.symptoms import cluster_facts, group_facts, topic_facts

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.view import Topic

EXAMPLES = """examples:
  ottla doctor
  ottla doctor --topic orders
  ottla doctor --topic orders --group billing
It ends with 1 if something is wrong.
"""
_STYLES: Final = {PROBLEM: "red", WARNING: "yellow", WELL: "green"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look into."""
    parser.add_argument("-t", "--topic", metavar="TOPIC", help="that nothing comes out of, or in")
    parser.add_argument("-g", "--group", metavar="GROUP", help="that gets nothing")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found."""
    try:
        findings = ask(arguments, lambda admin: _examine(admin, arguments))
    except ClientError as failure:
        findings = [_unreachable(failure)]
    _print(findings, arguments.output)
    return 1 if any(each.level == PROBLEM for each in findings) else 0


def _unreachable(failure: ClientError) -> Finding:
    if isinstance(failure, NotKafka):
        return Finding(
            PROBLEM, str(failure), "ottla doctor -b HOST:PORT, with the port of a broker"
        )
    return Finding(PROBLEM, str(failure), "ottla up, or ottla doctor -b HOST:PORT")


async def _examine(admin: Admin, arguments: argparse.Namespace) -> list[Finding]:
    findings = list(cluster_findings(await cluster_facts(admin)))
    topic: Topic | None = None
    if arguments.topic is not None:
        try:
            topic = await find_topic(admin, arguments.topic)
        except NotThere as missing:
            findings.append(
                Finding(PROBLEM, str(missing), f"ottla topics create {arguments.topic}")
            )
        else:
            findings += topic_findings(await topic_facts(admin, topic))
    if arguments.group is not None:
        try:
            group = await find_group(admin, arguments.group)
        except NotThere as missing:
            mend = f"start a consumer with group.id={arguments.group}"
            findings.append(Finding(PROBLEM, str(missing), mend))
        else:
            facts = await group_facts(admin, group, topic)
            findings += group_findings(facts, arguments.topic)
    return findings


def _print(findings: list[Finding], output: str) -> None:
    if output != "table":
        show([each._asdict() for each in findings], output)
        return
    for level in (PROBLEM, WARNING, WELL):
        for each in findings:
            if each.level == level:
                print(f"{paint(level.ljust(8), _STYLES[level])} {each.what}")
                if each.mend:
                    print(f"{'':8} -> {paint(each.mend, 'bold')}")
    bad = sum(each.level == PROBLEM for each in findings)
    doubts = sum(each.level == WARNING for each in findings)
    sys.stdout.flush()
    said = (
        f"{counted(bad, 'problem')}, {counted(doubts, 'warning')}"
        if bad or doubts
        else "all is well"
    )
    print(f"\n{said}")
