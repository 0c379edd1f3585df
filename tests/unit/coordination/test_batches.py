"""The batch that a coordinator writes is what the general builder makes of the same records."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.batches import MOST_TOGETHER, RepeatedRecord, encode, encode_together
from ottla.coordination.decision import KeyValue, Transactional
from ottla.protocol.records.batch import parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record

NOW_MS = 1_700_000_000_000
records = st.lists(
    st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=200)), min_size=1, max_size=80
)


@given(records, st.none() | st.builds(Transactional, st.integers(0, 99), st.integers(0, 9)))
def test_it_equals_what_the_builder_makes(
    written: list[KeyValue], transactional: Transactional | None
) -> None:
    producer = {}
    if transactional is not None:
        producer = {
            "producer_id": transactional.producer_id,
            "producer_epoch": transactional.producer_epoch,
        }
    general = build_batch(
        [Record(0, NOW_MS, key, value) for key, value in written],
        transactional=transactional is not None,
        **producer,
    )
    header, batch = encode(written, transactional, NOW_MS)
    assert batch == general
    assert header == parse_header(general)._replace(crc=0)


values = st.binary(min_size=1, max_size=200)


@given(st.lists(st.tuples(values, values), min_size=1, max_size=MOST_TOGETHER), st.data())
def test_records_that_come_again_are_written_as_for_the_first_time(
    written: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    repeated = [RepeatedRecord(*each) for each in written]
    for now_ms in range(3):
        places = data.draw(st.permutations(range(len(written))))
        places = places[: data.draw(st.integers(1, len(written)))]
        for place in places:
            key, value = written[place]
            written[place] = key, bytes([now_ms]) + value[1:]
            repeated[place].batch[repeated[place].value_pos] = now_ms
        header, batch, _ = encode_together([repeated[place] for place in places], now_ms)
        assert (header, batch) == encode([written[place] for place in places], None, now_ms)
