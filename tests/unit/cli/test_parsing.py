"""What is mistyped is answered with what was probably meant."""

import pytest

from ottla.cli.main import main

MISTYPED = {
    "a noun": (["topic", "list"], "there is no command topic; did you mean topics?"),
    "a verb": (["topics", "descrbe", "x"], "there is no topics descrbe; did you mean describe?"),
    "an option": (
        ["topics", "list", "--lon"],
        "ottla topics list: there is no option --lon; did you mean --long?",
    ),
    "a word too many": (["topics", "list", "a", "b"], "there is no use for b"),
    "a choice": (["topics", "list", "-o", "xml"], "invalid choice: 'xml'"),
    "no verb": (["topics"], "the following arguments are required: VERB"),
    "two starts": (
        ["records", "tail", "t", "--offset", "3", "--from-beginning"],
        "argument --from-beginning: not allowed with argument --offset",
    ),
    "two outputs": (
        ["records", "tail", "t", "-f", "%v", "-o", "json"],
        "not allowed with argument",
    ),
    "two goals": (
        ["groups", "reset", "g", "--all-topics", "--to-latest", "--shift-by", "1"],
        "argument --shift-by: not allowed with argument --to-latest",
    ),
    "no goal": (["groups", "reset", "g", "--all-topics"], "one of the arguments --to-earliest"),
    "a duration": (
        ["groups", "reset", "g", "--all-topics", "--back", "1 hour"],
        "write 90s, 1h30m",
    ),
    "a time": (["records", "tail", "t", "--since", "teatime"], "2026-01-31T12:00:00"),
    "partitions": (["records", "tail", "t", "-p", "zero"], "write partitions as 0,1, not zero"),
    "nothing to change": (["topics", "alter", "t"], "say what to change: --partitions, --set or"),
    "a filter": (["records", "tail", "t", "-w", "value >"], "in column 8:\n  value >\n         ^"),
    "a format": (["records", "tail", "t", "-f", "%x"], "there is no %x (there are: %t topic"),
    "no number": (["records", "tail", "t", "-n", "0"], "-n 0: print at least one"),
    "an end without a start": (["records", "tail", "t", "--exit"], "--exit needs a start"),
    "times without a watch": (["groups", "lag", "g", "--times", "3"], "--times is of use with"),
    "an id and a place": (["transactions", "abort", "x", "-t", "t"], "but not both"),
    "a rule about nothing": (["acls", "add", "--allow", "User:a"], "say what for: --topic"),
}


@pytest.mark.parametrize(("words", "why"), MISTYPED.values(), ids=MISTYPED.keys())
def test_what_makes_no_sense_is_refused(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "-b", "localhost:1"] if len(words) > 1 else words)
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (2, "")
    assert why in shown.err
    assert "Traceback" not in shown.err
