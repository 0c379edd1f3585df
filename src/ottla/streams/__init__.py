"""Stream applications as in Kafka Streams, on Spark: written and tested without it (docs/streams.md)."""

from ottla.streams.application import Application
from ottla.streams.driver.driver import TopologyTestDriver
from ottla.streams.dsl.branched import BranchedKStream
from ottla.streams.dsl.builder import StreamsBuilder
from ottla.streams.dsl.cogrouped import CogroupedKStream
from ottla.streams.dsl.grouped import KGroupedStream, WindowedKStream
from ottla.streams.dsl.grouped_table import KGroupedTable
from ottla.streams.dsl.kstream import KStream
from ottla.streams.dsl.ktable import GlobalKTable, KTable
from ottla.streams.dsl.suppressed import Suppressed
from ottla.streams.errors import RecordError, StreamsError, TopologyError
from ottla.streams.expressions.build import Expression, f
from ottla.streams.processors import KeyValueStore, Processor, ProcessorContext, Record, Timer
from ottla.streams.serdes.avro import AvroSerde
from ottla.streams.serdes.json import JsonSerde
from ottla.streams.serdes.protobuf import ProtobufSerde
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.topology import Topology
from ottla.streams.windows import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, Windowed

__all__ = [
    "Application", "StreamsBuilder", "Topology", "TopologyTestDriver", "f",
    "KStream", "KTable", "GlobalKTable", "KGroupedStream", "KGroupedTable", "WindowedKStream",
    "CogroupedKStream", "BranchedKStream", "Expression", "Suppressed",
    "TimeWindows", "SlidingWindows", "SessionWindows", "JoinWindows", "Windowed",
    "Processor", "ProcessorContext", "KeyValueStore", "Record", "Timer",
    "Serde", "JsonSerde", "AvroSerde", "ProtobufSerde",
    "StreamsError", "TopologyError", "RecordError",
]  # fmt: skip
