"""What the checker says of copies that lose, double or shuffle records, and of money that comes from nowhere."""

from tests.checker.check import check
from tests.checker.expectations import Copy, Expectations, Ledger
from tests.checker.notation import history

COPY = Copy(
    name="c",
    inputs=frozenset({"in/0"}),
    outputs=frozenset({"out/0"}),
    original=lambda value: value.partition("'")[0],
    record_key=lambda value: value[0],
)
INPUT = """
    w  transaction +in/0:a1@0 +in/0:b1@1 +in/0:a2@2
    z  read_to_end keys=in/0 in/0:a1@0 in/0:b1@1 in/0:a2@2
"""


def copied(*values: str) -> set[str]:
    """What is said of a copy that consists of these values."""
    sent = " ".join(f"+out/0:{value}" for value in values)
    read = " ".join(f"out/0:{value}@{offset}" for offset, value in enumerate(values))
    text = f"{INPUT}\n x transaction {sent} \n z read_to_end keys=out/0 {read}"
    return check(history(text), Expectations(copies=(COPY,))).bad


def test_a_copy_keeps_each_key_in_order() -> None:
    assert copied("a1'", "b1'", "a2'") == set()
    assert copied("b1'", "a1'", "a2'") == set()


def test_a_copy_loses_a_record() -> None:
    assert copied("a1'", "a2'") == {"copy-lost"}


def test_a_copy_has_a_record_twice() -> None:
    assert copied("a1'", "b1'", "a2'", "a2''") == {"copy-extra"}


def test_a_copy_of_what_is_in_its_input_twice_is_no_duplicate_of_its_own() -> None:
    text = """
        w  send +in/0:a1@0
        x  transaction +out/0:a1'@0 +out/0:a1'@1
        z  read_to_end keys=in/0 in/0:a1@0 in/0:a1@1
        z  read_to_end keys=out/0 out/0:a1'@0 out/0:a1'@1
    """
    found = check(history(text), Expectations(copies=(COPY,))).anomalies
    assert [(each.message, each.fails) for each in found if each.name == "duplicate"] == [
        ("a1 is in in/0 at [0, 1]", True),
        ("a1' is in out/0 at [0, 1]", False),
    ]


def test_a_copy_invents_a_record() -> None:
    assert copied("a1'", "b1'", "a2'", "c1'") == {"copy-extra"}


def test_a_copy_changes_the_order_of_a_key() -> None:
    assert copied("a2'", "b1'", "a1'") == {"copy-disorder"}


def test_a_copy_that_nobody_read_shows_nothing() -> None:
    assert check(history(INPUT), Expectations(copies=(COPY,))).bad == {"copy"}


LEDGER = Ledger(name="bank", keys=frozenset({"t/0"}), amount=lambda value: int(value.split("/")[1]))


def test_money_is_neither_made_nor_lost() -> None:
    transfers = """
        w  transaction +x/5@0 +y/-5@1 -> unknown
        w  transaction +x/3@3 +z/-3@4 -> unknown
        r  read_to_end keys=t/0 {}
    """
    promises = Expectations(ledgers=(LEDGER,))
    whole = check(history(transfers.format("x/5@0 y/-5@1")), promises)
    assert whole.bad == set()
    torn = check(history(transfers.format("x/5@0 y/-5@1 x/3@3")), promises)
    assert torn.bad == {"money", "torn-transaction"}
