import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Kafka Streams' side of the comparison: reads a case a line (see tests/streams/steps.py), builds its topology with Kafka
 * Streams, feeds it the records with TopologyTestDriver, and prints what was written, and what describe() says, in a line.
 * Keys are strings, values longs; the functions are those of steps.py.
 */
public class Cases {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long P = 100003L;

    private final StreamsBuilder builder = new StreamsBuilder();
    private final Map<String, KStream<String, Long>> streams = new HashMap<>();
    private final Map<String, KTable<String, Long>> tables = new HashMap<>();
    private final Map<String, KTable<Windowed<String>, Long>> windowed = new HashMap<>();
    private final Map<String, GlobalKTable<String, Long>> globals = new HashMap<>();
    private final List<String> outputs = new ArrayList<>();
    private final List<String> stores = new ArrayList<>();

    public static void main(final String[] args) throws Exception {
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = JSON.writeValueAsString(new Cases().run(JSON.readTree(line)));
            } catch (final Throwable error) {
                final ObjectNode failed = JSON.createObjectNode();
                Throwable cause = error;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                failed.put("error", error + " / " + cause);
                answer = JSON.writeValueAsString(failed);
            }
            System.out.println(answer);
        }
    }

    private ObjectNode run(final JsonNode given) throws Exception {
        for (final JsonNode step : given.get("steps")) {
            apply(step);
        }
        final Topology topology = builder.build();
        final ObjectNode answer = JSON.createObjectNode();
        answer.put("describe", topology.describe().toString());
        final Path directory = Files.createTempDirectory("cases");
        final Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, directory.toString());
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.LongSerde.class);
        // Both throttle by the wall clock what depends on stream time alone.
        settings.put("__emit.interval.ms.kstreams.outer.join.spurious.results.fix__", 0L);
        settings.put("__emit.interval.ms.kstreams.windowed.aggregation__", 0L);
        try (TopologyTestDriver driver = new TopologyTestDriver(topology, settings, Instant.EPOCH)) {
            feed(driver, given.get("records"));
            final ObjectNode written = answer.putObject("outputs");
            for (final String topic : outputs) {
                final ArrayNode records = written.putArray(topic);
                driver.createOutputTopic(topic, new StringDeserializer(), new LongDeserializer())
                    .readRecordsToList()
                    .forEach(record -> records.addArray().add(record.key()).add(record.value()).add(record.timestamp()));
            }
            final ObjectNode kept = answer.putObject("stores");
            for (final String name : stores) {
                final KeyValueStore<String, Long> store = driver.getKeyValueStore(name);
                final ArrayNode rows = kept.putArray(name);
                try (KeyValueIterator<String, Long> all = store.all()) {
                    all.forEachRemaining(row -> rows.addArray().add(row.key).add(row.value));
                }
            }
        }
        delete(directory);
        return answer;
    }

    private static void feed(final TopologyTestDriver driver, final JsonNode records) {
        final Map<String, TestInputTopic<String, Long>> topics = new HashMap<>();
        for (final JsonNode record : records) {
            topics.computeIfAbsent(record.get(0).asText(),
                topic -> driver.createInputTopic(topic, new StringSerializer(), new LongSerializer()))
                .pipeInput(text(record.get(1)), number(record.get(2)), record.get(3).asLong());
        }
    }

    private static void delete(final Path directory) throws Exception {
        try (var paths = Files.walk(directory)) {
            paths.sorted(java.util.Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
    }

    private static String text(final JsonNode node) {
        return node == null || node.isNull() ? null : node.asText();
    }

    private static Long number(final JsonNode node) {
        return node == null || node.isNull() ? null : node.asLong();
    }

    private Materialized<String, Long, KeyValueStore<Bytes, byte[]>> store(final JsonNode step) {
        final String name = text(step.get("store"));
        final Serde<String> keys = Serdes.String();
        if (name == null) {
            return Materialized.with(keys, Serdes.Long());
        }
        stores.add(name);
        return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(name).withKeySerde(keys).withValueSerde(Serdes.Long());
    }

    private void apply(final JsonNode step) {
        final String in = text(step.get("in"));
        final String other = text(step.get("other"));
        final String out = text(step.get("out"));
        final String f = text(step.get("f"));
        final KStream<String, Long> stream = streams.get(in);
        final KTable<String, Long> table = tables.get(in);
        switch (step.get("op").asText()) {
            case "stream" -> streams.put(out, builder.stream(step.get("topic").asText()));
            case "table" -> tables.put(out, step.hasNonNull("store")
                ? builder.table(step.get("topic").asText(), store(step)) : builder.table(step.get("topic").asText()));
            case "global_table" -> globals.put(out, builder.globalTable(step.get("topic").asText()));
            case "filter" -> streams.put(out, stream.filter((k, v) -> predicate(f, v)));
            case "filter_not" -> streams.put(out, stream.filterNot((k, v) -> predicate(f, v)));
            case "map_values" -> streams.put(out, stream.mapValues(v -> mapped(f, v)));
            case "flat_map_values" -> streams.put(out, stream.flatMapValues(v -> v == null ? List.of() : List.of(v, v + 100)));
            case "flat_map" -> streams.put(out, stream.flatMap((k, v) -> v == null ? List.of()
                : List.of(KeyValue.pair(key(v), v), KeyValue.pair(k, v + 1))));
            case "map" -> streams.put(out, stream.map((k, v) -> KeyValue.pair(key(v), mapped("inc", v))));
            case "select_key" -> streams.put(out, stream.selectKey((k, v) -> key(v)));
            case "merge" -> streams.put(out, stream.merge(streams.get(other)));
            case "peek" -> streams.put(out, stream.peek((k, v) -> { }));
            case "repartition" -> streams.put(out, stream.repartition(step.hasNonNull("name")
                ? Repartitioned.as(step.get("name").asText()) : Repartitioned.with(Serdes.String(), Serdes.Long())));
            case "branch" -> {
                final Map<String, KStream<String, Long>> branches = stream.split()
                    .branch((k, v) -> predicate("even", v)).branch((k, v) -> predicate("small", v)).defaultBranch();
                final List<String> names = new ArrayList<>(branches.keySet());
                java.util.Collections.sort(names);
                streams.put(out + "0", branches.get(names.get(0)));
                streams.put(out + "1", branches.get(names.get(1)));
                streams.put(out + "2", branches.get(names.get(2)));
            }
            case "to_table" -> tables.put(out, stream.toTable(store(step)));
            case "aggregate" -> aggregate(step, stream, out);
            case "cogroup" -> cogroup(step, stream, streams.get(other), out);
            case "join_ss" -> streams.put(out, joinStreams(step, stream, streams.get(other)));
            case "join_st" -> streams.put(out, step.get("kind").asText().equals("inner")
                ? stream.join(tables.get(other), Cases::joined) : stream.leftJoin(tables.get(other), Cases::joined));
            case "join_sg" -> streams.put(out, step.get("kind").asText().equals("inner")
                ? stream.join(globals.get(other), (k, v) -> foreign(v), Cases::joined)
                : stream.leftJoin(globals.get(other), (k, v) -> foreign(v), Cases::joined));
            case "to" -> {
                outputs.add(step.get("topic").asText());
                stream.to(step.get("topic").asText());
            }
            default -> applyToTable(step, table, other, out, f);
        }
    }

    private void applyToTable(final JsonNode step, final KTable<String, Long> table, final String other, final String out, final String f) {
        final boolean kept = step.hasNonNull("store");
        switch (step.get("op").asText()) {
            case "t_filter" -> tables.put(out, kept ? table.filter((k, v) -> predicate(f, v), store(step)) : table.filter((k, v) -> predicate(f, v)));
            case "t_filter_not" -> tables.put(out, kept ? table.filterNot((k, v) -> predicate(f, v), store(step)) : table.filterNot((k, v) -> predicate(f, v)));
            case "t_map_values" -> tables.put(out, kept ? table.mapValues(v -> mapped(f, v), store(step)) : table.mapValues(v -> mapped(f, v)));
            case "t_aggregate" -> {
                final KGroupedTable<String, Long> grouped = table.groupBy((k, v) -> KeyValue.pair(key(v), v), Grouped.with(Serdes.String(), Serdes.Long()));
                tables.put(out, switch (step.get("kind").asText()) {
                    case "count" -> kept ? grouped.count(store(step)) : grouped.count();
                    case "reduce" -> grouped.reduce((a, b) -> Math.floorMod(a + b, P), (a, b) -> Math.floorMod(a - b, P), store(step));
                    default -> grouped.aggregate(() -> 1L, (k, v, a) -> Math.floorMod(a * 31 + v, P), (k, v, a) -> Math.floorMod(a * 7 - v, P), store(step));
                });
            }
            case "join_tt" -> {
                final KTable<String, Long> right = tables.get(other);
                tables.put(out, switch (step.get("kind").asText()) {
                    case "inner" -> kept ? table.join(right, Cases::joined, store(step)) : table.join(right, Cases::joined);
                    case "left" -> kept ? table.leftJoin(right, Cases::joined, store(step)) : table.leftJoin(right, Cases::joined);
                    default -> kept ? table.outerJoin(right, Cases::joined, store(step)) : table.outerJoin(right, Cases::joined);
                });
            }
            case "join_fk" -> {
                final KTable<String, Long> right = tables.get(other);
                final ValueJoiner<Long, Long, Long> joiner = Cases::joined;
                final java.util.function.Function<Long, String> extractor = Cases::foreign;
                if (kept) {
                    tables.put(out, step.get("kind").asText().equals("inner")
                        ? table.join(right, extractor, joiner, store(step)) : table.leftJoin(right, extractor, joiner, store(step)));
                } else {
                    tables.put(out, step.get("kind").asText().equals("inner")
                        ? table.join(right, extractor, joiner) : table.leftJoin(right, extractor, joiner));
                }
            }
            case "suppress_time" -> tables.put(out, table.suppress(Suppressed.untilTimeLimit(
                Duration.ofMillis(step.get("limit").asLong()), Suppressed.BufferConfig.unbounded())));
            case "suppress_window" -> windowed.put(out, windowed.get(step.get("in").asText())
                .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded())));
            case "to_stream" -> streams.put(out, table.toStream());
            case "w_to_stream" -> streams.put(out, windowed.get(step.get("in").asText()).toStream()
                .map((w, v) -> KeyValue.pair(w.key() + "@" + w.window().start() + "-" + w.window().end(), v)));
            default -> throw new IllegalArgumentException(step.toString());
        }
    }

    private void aggregate(final JsonNode step, final KStream<String, Long> stream, final String out) {
        final Grouped<String, Long> grouping = step.hasNonNull("group_name")
            ? Grouped.with(step.get("group_name").asText(), Serdes.String(), Serdes.Long()) : Grouped.with(Serdes.String(), Serdes.Long());
        final KGroupedStream<String, Long> grouped = step.get("group").asText().equals("key")
            ? stream.groupByKey(grouping) : stream.groupBy((k, v) -> key(v), grouping);
        final JsonNode windows = step.get("windows");
        final String kind = step.get("kind").asText();
        if (windows == null || windows.isNull()) {
            tables.put(out, switch (kind) {
                case "count" -> step.hasNonNull("store") ? grouped.count(store(step)) : grouped.count();
                case "reduce" -> grouped.reduce(Cases::reduced, store(step));
                default -> grouped.aggregate(() -> 1L, Cases::aggregated, store(step));
            });
            return;
        }
        final boolean closed = step.hasNonNull("emit");
        final EmitStrategy emit = closed ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate();
        if (windows.get("kind").asText().equals("session")) {
            final SessionWindowedKStream<String, Long> sessions = grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(
                Duration.ofMillis(windows.get("gap").asLong()), Duration.ofMillis(windows.get("grace").asLong()))).emitStrategy(emit);
            final Materialized<String, Long, org.apache.kafka.streams.state.SessionStore<Bytes, byte[]>> kept =
                Materialized.<String, Long, org.apache.kafka.streams.state.SessionStore<Bytes, byte[]>>as(step.get("store").asText())
                    .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long())
                    .withRetention(Duration.ofDays(7));
            windowed.put(out, switch (kind) {
                case "count" -> sessions.count(kept);
                case "reduce" -> sessions.reduce(Cases::reduced, kept);
                default -> sessions.aggregate(() -> 1L, Cases::aggregated, (k, a, b) -> Math.floorMod(a * 17 + b, P), kept);
            });
            return;
        }
        final TimeWindowedKStream<String, Long> timed = windows.get("kind").asText().equals("sliding")
            ? grouped.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(
                Duration.ofMillis(windows.get("difference").asLong()), Duration.ofMillis(windows.get("grace").asLong())))
            : grouped.windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMillis(windows.get("size").asLong()),
                Duration.ofMillis(windows.get("grace").asLong())).advanceBy(Duration.ofMillis(windows.get("advance").asLong())));
        final TimeWindowedKStream<String, Long> emitting = timed.emitStrategy(emit);
        final Materialized<String, Long, org.apache.kafka.streams.state.WindowStore<Bytes, byte[]>> kept =
            Materialized.<String, Long, org.apache.kafka.streams.state.WindowStore<Bytes, byte[]>>as(step.get("store").asText())
                    .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long())
                .withRetention(Duration.ofDays(7));
        windowed.put(out, switch (kind) {
            case "count" -> emitting.count(kept);
            case "reduce" -> emitting.reduce(Cases::reduced, kept);
            default -> emitting.aggregate(() -> 1L, Cases::aggregated, kept);
        });
    }

    private void cogroup(final JsonNode step, final KStream<String, Long> left, final KStream<String, Long> right, final String out) {
        final Grouped<String, Long> grouping = Grouped.with(Serdes.String(), Serdes.Long());
        final CogroupedKStream<String, Long> both = left.groupByKey(grouping).<Long>cogroup(Cases::aggregated)
            .cogroup(right.groupByKey(grouping), (k, v, a) -> Math.floorMod(a * 3 + 2 * (v == null ? 5 : v), P));
        tables.put(out, both.aggregate(() -> 1L, store(step)));
    }

    private static KStream<String, Long> joinStreams(final JsonNode step, final KStream<String, Long> left, final KStream<String, Long> right) {
        final JoinWindows windows = JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMillis(0), Duration.ofMillis(step.get("grace").asLong()))
            .before(Duration.ofMillis(step.get("before").asLong())).after(Duration.ofMillis(step.get("after").asLong()));
        final StreamJoined<String, Long, Long> joined = StreamJoined.with(Serdes.String(), Serdes.Long(), Serdes.Long());
        return switch (step.get("kind").asText()) {
            case "inner" -> left.join(right, Cases::joined, windows, joined);
            case "left" -> left.leftJoin(right, Cases::joined, windows, joined);
            default -> left.outerJoin(right, Cases::joined, windows, joined);
        };
    }

    private static boolean predicate(final String name, final Long v) {
        return switch (name) {
            case "even" -> v != null && v % 2 == 0;
            case "small" -> v == null || v < 5;
            default -> v != null;
        };
    }

    private static Long mapped(final String name, final Long v) {
        return switch (name) {
            case "inc" -> v == null ? null : Long.valueOf(v + 1);
            case "null_odd" -> v == null || v % 2 != 0 ? null : v;
            default -> v == null ? Long.valueOf(0) : Long.valueOf(v * 2);
        };
    }

    private static String key(final Long v) {
        return v == null ? null : "m" + v % 3;
    }

    private static String foreign(final Long v) {
        return v == null || v % 5 == 0 ? null : "k" + v % 4;
    }

    private static Long joined(final Long left, final Long right) {
        return Math.floorMod((left == null ? -1 : left) * 31 + (right == null ? -2 : right), P);
    }

    private static Long reduced(final Long old, final Long next) {
        return Math.floorMod(old * 3 + (next == null ? 0 : next), P);
    }

    private static Long aggregated(final String key, final Long value, final Long aggregate) {
        final long result = Math.floorMod((aggregate == null ? 0 : aggregate) * 31 + (value == null ? 5 : value), P);
        return result % 7 == 0 ? null : Long.valueOf(result);
    }
}
