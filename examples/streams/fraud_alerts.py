"""Alerts where a card is used more than three times in a minute, one for each card and window."""

from ottla.streams import StreamsBuilder, TimeWindows, f

LIMIT = 3

b = StreamsBuilder()
payments = b.stream("card-payments", key="string", value="json", on_error="dead-letter")
uses = (
    payments.filter(f.value.amount > 0)
    .group_by_key()
    .windowed_by(TimeWindows(size_ms=60_000, advance_ms=10_000, grace_ms=5_000))
    .count()
)
suspicious = uses.to_stream().filter(f.value == LIMIT + 1)
suspicious.map((f.key.key, f.struct(uses=f.value, since_ms=f.key.start_ms))).to(
    "alerts", key="string", value="json"
)

topology = b.build()
