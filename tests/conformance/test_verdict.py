"""The verdict names every test that passes on Apache Kafka and not here."""

from tests.conformance.verdict import chosen, judge

EXPECTED = ["0001_multiobj", "0045_subscribe_update", "0118_commit_rebalance"]
ALL_PASSED = dict.fromkeys(EXPECTED, "PASSED")


def test_all_passed() -> None:
    verdict = judge(EXPECTED, ALL_PASSED | {"0081_admin": "FAILED"}, {})
    assert verdict.conforms
    assert verdict.lines() == ["3 of the 3 tests that pass on Apache Kafka 4.3.0 pass here"]


def test_a_test_that_failed_skipped_or_did_not_run_is_named() -> None:
    verdict = judge(EXPECTED, {"0001_multiobj": "FAILED", "0045_subscribe_update": "SKIPPED"}, {})
    assert not verdict.conforms
    assert verdict.lines() == [
        "0 of the 3 tests that pass on Apache Kafka 4.3.0 pass here",
        "  failed: 0001_multiobj",
        "  skipped: 0045_subscribe_update",
        "  not run: 0118_commit_rebalance",
    ]


def test_a_test_that_passed_only_alone_is_named_too() -> None:
    last = EXPECTED[-1]
    verdict = judge(EXPECTED, ALL_PASSED | {last: "FAILED"}, {last: "PASSED"})
    assert verdict.conforms
    assert verdict.lines() == [
        "3 of the 3 tests that pass on Apache Kafka 4.3.0 pass here",
        f"  passed only when run again, alone: {last}",
    ]


def test_tests_are_chosen_by_number() -> None:
    assert chosen(EXPECTED, []) == EXPECTED
    assert chosen(EXPECTED, ["0045", "0001"]) == EXPECTED[:2]
