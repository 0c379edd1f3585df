"""Visits in a click stream: clicks of a user that are less than half an hour apart are one session."""

from ottla.streams import SessionWindows, StreamsBuilder, f

HALF_AN_HOUR_MS = 30 * 60 * 1000

b = StreamsBuilder()
clicks = b.stream("clicks", key="string", value="json", on_error="dead-letter")
sessions = (
    clicks.group_by_key()
    .windowed_by(SessionWindows(gap_ms=HALF_AN_HOUR_MS, grace_ms=60_000))
    .emit_strategy("on-window-close")
    .aggregate(f.struct(clicks=f.count(), first=f.first(f.value.page), last=f.last(f.value.page)))
)
visits = sessions.to_stream().map(
    (f.key.key, f.struct(began_ms=f.key.start_ms, ended_ms=f.key.end_ms, visit=f.value))
)
visits.to("visits", key="string", value="json")

topology = b.build()
