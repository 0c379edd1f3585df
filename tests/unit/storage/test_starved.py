"""What producers are told whose batches follow one that found no space."""

from ottla.base.errors import ApiError, DiskFull
from ottla.protocol.errors import ErrorCode
from ottla.storage.starved import StarvedProducers

OUT_OF_ORDER = ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def test_the_next_batch_of_a_starved_producer_is_to_be_sent_again() -> None:
    starved = StarvedProducers()
    starved.refused(7, now_ms=1000)
    assert isinstance(starved.reason(OUT_OF_ORDER, 7, now_ms=2000), DiskFull)
    assert starved.reason(OUT_OF_ORDER, 8, now_ms=2000) is OUT_OF_ORDER


def test_other_refusals_stay_as_they_are() -> None:
    starved, fenced = StarvedProducers(), ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
    starved.refused(7, now_ms=1000)
    assert starved.reason(fenced, 7, now_ms=1000) is fenced


def test_a_producer_that_got_its_batch_in_or_never_came_back_is_not_starved() -> None:
    starved = StarvedProducers()
    starved.refused(7, now_ms=1000)
    assert starved.reason(OUT_OF_ORDER, 7, now_ms=61_001) is OUT_OF_ORDER
    starved.fed(7)
    assert starved.reason(OUT_OF_ORDER, 7, now_ms=1000) is OUT_OF_ORDER
