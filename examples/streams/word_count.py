"""Counts words: `ottla streams run examples/streams/word_count.py`."""

from ottla.streams import StreamsBuilder, f

b = StreamsBuilder()
lines = b.stream("lines", value="string")
words = lines.flat_map_values(f.split(f.lower(f.value), r"\W+")).filter(f.value != "")
counts = words.group_by(f.value).count(store="counts")
counts.to_stream().to("words", key="string", value="long")

topology = b.build()
