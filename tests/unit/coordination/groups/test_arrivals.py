"""Who has asked for a group's coordinator is expected to join it, for a while."""

from ottla.coordination.groups.arrivals import LONGEST_MS, Arrivals


def test_who_asks_is_expected_until_it_comes() -> None:
    arrivals = Arrivals()
    assert not arrivals.are_expected("g", 0)
    arrivals.announced("g", 1, 0)
    arrivals.announced("g", 2, 5)
    assert arrivals.are_expected("g", 5)
    arrivals.came("g")
    assert arrivals.are_expected("g", 5)
    arrivals.came("g")
    assert not arrivals.are_expected("g", 5)
    arrivals.came("g")
    assert not arrivals.are_expected("other", 5)


def test_one_that_asks_again_is_one() -> None:
    arrivals = Arrivals()
    for moment in range(3):
        arrivals.announced("g", 1, moment)
    arrivals.came("g")
    assert not arrivals.are_expected("g", 3)


def test_one_that_asks_again_later_on_another_connection_is_one_too() -> None:
    arrivals = Arrivals()
    for connection, moment in enumerate((0, 4, 50, 51)):
        arrivals.announced("g", connection, moment)
    arrivals.came("g")
    assert arrivals.are_expected("g", 52)
    arrivals.came("g")
    assert not arrivals.are_expected("g", 52)


def test_one_that_does_not_come_is_forgotten() -> None:
    arrivals = Arrivals()
    arrivals.announced("g", 1, 0)
    arrivals.announced("g", 2, 30)
    assert arrivals.are_expected("g", 30 + LONGEST_MS)
    assert not arrivals.are_expected("g", 31 + LONGEST_MS)


def test_tools_that_ask_for_all_groups_leave_little_behind() -> None:
    arrivals = Arrivals()
    for number in range(5000):
        arrivals.announced(f"g{number}", 1, 0)
    assert not arrivals.are_expected("g0", 0)
    assert arrivals.are_expected("g4999", 0)
    assert len(arrivals._asked) <= 1000


def test_memory_is_bounded_however_often_it_is_asked_for_a_group_that_nobody_joins() -> None:
    arrivals = Arrivals()
    for connection in range(10_000):
        arrivals.announced("monitored", connection, 10 * connection)
    assert len(arrivals._asked["monitored"]) <= LONGEST_MS // 10 + 1
    for connection in range(10_000):
        arrivals.announced("stormed", connection, 0)
    assert len(arrivals._asked["stormed"]) <= 1_000
    assert arrivals.are_expected("stormed", 1)
