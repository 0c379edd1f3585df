"""The help has Kafka's layout."""

from ottla.cli.kafka.options import Command, Option
from ottla.cli.kafka.usage import usage

COMMAND = Command(
    "kafka-example",
    "An example.",
    (
        Option("zebra", "The last of all, and with words enough to need a second line of text."),
        Option(
            "alpha", lambda: "Made when asked:\n\tone\n\ttwo", "String: a value with a long name"
        ),
        Option("maybe", "Its value may be missing.", "String", value_may_be_missing=True),
    ),
)

EXPECTED = """\
Option                                   Description
------                                   -----------
--alpha <String: a value with a long     Made when asked:
  name>                                  {tab}one
                                         {tab}two
--maybe [String]                         Its value may be missing.
--zebra                                  The last of all, and with words enough
                                           to need a second line of text.
"""


def test_two_columns_sorted_and_wrapped() -> None:
    lines = [line.rstrip() for line in usage(COMMAND).splitlines()]
    assert lines == EXPECTED.format(tab="\t").splitlines()


def test_lines_are_filled_up_as_kafkas_are() -> None:
    assert all(len(line) >= 80 for line in usage(COMMAND).splitlines())
