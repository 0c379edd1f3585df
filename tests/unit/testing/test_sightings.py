"""What a broker remembers of its requests."""

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.find_coordinator import Coordinator, FindCoordinatorResponse
from ottla.protocol.codec import encode_response
from ottla.protocol.errors import ErrorCode
from ottla.testing.sightings import Sighting, Sightings


def test_requests_of_a_kind_are_told_as_one() -> None:
    seen = Sightings()
    for at_ms in (10, 11, 12):
        seen.add(at_ms, "app", ApiKey.FETCH, 12)
    seen.add(13, "app", ApiKey.FETCH, 12, "drop")
    seen.add(14, None, ApiKey.METADATA, 9)
    assert seen.since(11) == [
        Sighting(11, "app", "Fetch", 12, "", times=2),
        Sighting(13, "app", "Fetch", 12, "drop"),
        Sighting(14, "", "Metadata", 9, ""),
    ]


def test_the_errors_of_an_answer_are_told() -> None:
    found = Coordinator(key="g", error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    frame = encode_response(FindCoordinatorResponse(coordinators=[found]), 4, 1)
    seen = Sightings()
    seen.add(1, "app", ApiKey.FIND_COORDINATOR, 4, answer=frame)
    assert seen.since(0)[0].outcome == "COORDINATOR_NOT_AVAILABLE"


def test_old_requests_are_forgotten() -> None:
    seen = Sightings()
    for at_ms in range(2000):
        seen.add(at_ms, str(at_ms), ApiKey.FETCH, 12)
    assert len(seen.since(0)) == 500
