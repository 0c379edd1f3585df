"""What `ottla cluster status` makes of a connect string and of the servers behind it."""

import pytest

from ottla.cli.ensemble import SERVING, may_be_well, servers, summary


def test_a_connect_string_names_servers() -> None:
    assert servers("a:1,b:2/chroot/below") == [("a", 1), ("b", 2)]
    assert servers("zoo, [::1]:2182") == [("zoo", 2181), ("::1", 2182)]
    assert servers("") == []


UNSEEN = "not seen from here: Name or service not known"
SILENT = "This ZooKeeper instance is not currently serving requests"


@pytest.mark.parametrize(
    ("answers", "well", "words"),
    [
        (["standalone"], True, "1 of 1 serve"),
        (["leader", "follower", UNSEEN], True, "2 of 3 serve, 1 not seen from here"),
        ([UNSEEN, UNSEEN, UNSEEN], True, "3 not seen from here"),
        ([SILENT, UNSEEN, UNSEEN], False, "0 of 3 serve, 2 not seen from here"),
        ([SILENT, "follower", "leader"], True, "2 of 3 serve"),
    ],
)
def test_only_servers_that_answer_can_be_ill(answers: list[str], well: bool, words: str) -> None:
    rows = [
        {"mode": each, "error": None} if each in SERVING else {"mode": None, "error": each}
        for each in answers
    ]
    assert (may_be_well(rows), summary(rows)) == (well, words)
