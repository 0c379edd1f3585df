"""Pure: how a topology is written: StreamsBuilder, KStream, KTable and what lies between them."""
