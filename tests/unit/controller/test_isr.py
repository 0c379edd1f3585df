"""What a leader is granted when it asks for another ISR."""

import uuid

import pytest

from ottla.cluster.image import BrokerImage, Changes, Image, PartitionImage, TopicImage, advance
from ottla.cluster.znodes import Bound
from ottla.controller.isr import WantedIsr, decide_isrs
from ottla.controller.leaders import Policy
from ottla.controller.states import NewState
from ottla.protocol.errors import ErrorCode

TOPIC = uuid.UUID(int=7)
EPOCHS = {1: 10, 2: 20, 3: 30}
LIFE = 5
POLICY = Policy(lambda topic: 2, lambda topic: False)


def image(**others: int) -> Image:
    """Brokers in the life that the state names, or in others."""
    lives = {int(name[1:]): life for name, life in others.items()}
    partition = PartitionImage(0, (1, 2, 3), (1, 2), 1, 4, 9, 100)
    partition = partition._replace(lives={1: LIFE, 2: LIFE}, left={3: None})
    brokers = {
        each: BrokerImage(each, (), None, epoch, life=lives.get(each, LIFE))
        for each, epoch in EPOCHS.items()
    }
    topic = TopicImage("t", TOPIC, (partition,), 0)
    return advance(Image(), Changes(topics={"t": topic}, brokers=brokers))[0]


def ask(
    *members: int, who: int = 1, leader_epoch: int = 4, version: int = 9, **epochs: int
) -> tuple[ErrorCode, tuple[int, ...] | None]:
    """The error, and the ISR that is to be written, if one is."""
    isr = tuple((each, epochs.get(f"b{each}", EPOCHS.get(each, 0))) for each in members)
    wanted = WantedIsr(TOPIC, 0, leader_epoch, version, isr)
    [(result, state)] = decide_isrs(image(), who, [wanted], POLICY)
    return result.error, None if state is None else state.isr


def test_it_grows_and_shrinks() -> None:
    assert ask(1, 2, 3) == (ErrorCode.NONE, (1, 2, 3))
    assert ask(1) == (ErrorCode.NONE, (1,))


def test_what_was_granted_before_is_granted_again_whatever_the_version() -> None:
    assert ask(1, 2, version=3) == (ErrorCode.NONE, None)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"leader_epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        ({"version": 10}, ErrorCode.NOT_CONTROLLER),
        ({"version": 8}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"who": 2}, ErrorCode.INVALID_REQUEST),
        ({"b3": 29}, ErrorCode.INELIGIBLE_REPLICA),
        ({"b3": -1}, ErrorCode.INELIGIBLE_REPLICA),
    ],
    ids=[
        "older epoch",
        "newer epoch",
        "newer state",
        "older state",
        "no leader",
        "restarted",
        "unknown",
    ],
)
def test_refusals(asked: dict[str, int], error: ErrorCode) -> None:
    assert ask(1, 2, 3, **asked) == (error, None)  # type: ignore[arg-type]


def test_nobody_is_left_out_of_their_own_isr_and_strangers_do_not_get_in() -> None:
    assert ask(2, 3) == (ErrorCode.INVALID_REQUEST, None)
    assert ask(1, 2, 9) == (ErrorCode.INVALID_REQUEST, None)
    assert ask() == (ErrorCode.INVALID_REQUEST, None)


def test_unknown_partitions() -> None:
    isr = ((1, 10),)
    stranger = WantedIsr(uuid.UUID(int=8), 0, 4, 9, isr)
    missing = WantedIsr(TOPIC, 5, 4, 9, isr)
    errors = [result.error for result, _ in decide_isrs(image(), 1, [stranger, missing], POLICY)]
    assert errors == [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def decide(
    image: Image, *members: int, left_end: Bound | None = None
) -> NewState | ErrorCode | None:
    isr = tuple((each, -1 if each in (1, 2) else EPOCHS[each]) for each in members)
    wanted = WantedIsr(TOPIC, 0, 4, 9, isr, left_end)
    [(result, state)] = decide_isrs(image, 1, [wanted], POLICY)
    return result.error or state


def test_a_member_that_began_another_life_does_not_stay_however_it_is_asked_for() -> None:
    """Finding 4 of the review: a leader that had never heard of it filled in its registered epoch."""
    assert decide(image(b2=LIFE + 1), 1, 2, 3) is ErrorCode.INELIGIBLE_REPLICA


def test_who_joins_is_named_with_its_life_and_who_leaves_stays_eligible_below_min_isr() -> None:
    joined = decide(image(b3=8), 1, 2, 3)
    assert isinstance(joined, NewState)
    assert (joined.lives, joined.left) == ({1: LIFE, 2: LIFE, 3: 8}, {})
    short = decide(image(), 1)
    assert isinstance(short, NewState)
    assert (short.isr, short.elr, short.left) == ((1,), (2,), {3: None})


def test_a_leader_says_what_those_hold_at_most_who_left() -> None:
    told = decide(image(), 1, 2, left_end=(4, 70))
    assert isinstance(told, NewState)
    assert (told.isr, told.is_elected, told.left) == ((1, 2), False, {3: (4, 70)})
