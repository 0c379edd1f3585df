import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A consumer of the first partition of a topic that does what it is asked by lines of JSON, and answers with one line
 * each; another takes its place when it is asked to open one.
 *
 * <p>java SeekingConsumer.java
 */
public final class SeekingConsumer {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final ObjectMapper JSON = new ObjectMapper();

    private KafkaConsumer<String, String> consumer;
    private TopicPartition partition;

    private Object obey(JsonNode command) {
        switch (command.get("do").asText()) {
            case "open":
                return open(command);
            case "assign":
                consumer.assign(List.of(partition));
                return null;
            case "subscribe":
                consumer.subscribe(List.of(partition.topic()));
                return null;
            case "seek":
                consumer.seek(partition, command.get("offset").asLong());
                return null;
            case "starts_at":
                return consumer.position(partition, PATIENCE);
            case "read":
                return read(command.get("count").asInt());
            case "offset_for_time":
                OffsetAndTimestamp found =
                        consumer.offsetsForTimes(Map.of(partition, command.get("time").asLong())).get(partition);
                return found == null ? null : found.offset();
            case "commit":
                return commit(command);
            case "commit_async":
                return commitAsync(command);
            case "committed":
                OffsetAndMetadata last = consumer.committed(Set.of(partition), PATIENCE).get(partition);
                return last == null ? null : last.offset();
            case "close":
                consumer.close();
                return null;
            default:
                throw new IllegalArgumentException(command.toString());
        }
    }

    private Object open(JsonNode command) {
        Map<String, Object> settings = JSON.convertValue(command.get("settings"), new TypeReference<>() {});
        partition = new TopicPartition(command.get("topic").asText(), 0);
        consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        return null;
    }

    private List<Long> read(int count) {
        List<Long> offsets = new ArrayList<>();
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (offsets.size() < count && System.nanoTime() < deadline) {
            for (ConsumerRecord<String, String> each : consumer.poll(POLL)) {
                offsets.add(each.offset());
            }
        }
        return offsets;
    }

    private Object commit(JsonNode command) {
        if (command.get("offset").isNull()) {
            consumer.commitSync(PATIENCE);
        } else {
            consumer.commitSync(offsets(command), PATIENCE);
        }
        return null;
    }

    /** The callback runs in a later poll; nothing is left to read meanwhile. */
    private Object commitAsync(JsonNode command) {
        List<String> told = new ArrayList<>();
        consumer.commitAsync(
                offsets(command), (found, error) -> told.add(error == null ? "" : error.getClass().getSimpleName()));
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (told.isEmpty() && System.nanoTime() < deadline) {
            consumer.poll(POLL);
        }
        return String.join(" ", told);
    }

    private Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode command) {
        return Map.of(partition, new OffsetAndMetadata(command.get("offset").asLong()));
    }

    public static void main(String[] args) throws Exception {
        SeekingConsumer member = new SeekingConsumer();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, Object> reply = new HashMap<>();
            try {
                reply.put("answer", member.obey(JSON.readTree(line)));
            } catch (KafkaException refused) {
                reply.put("error", refused.getClass().getSimpleName());
            }
            System.out.println(JSON.writeValueAsString(reply));
        }
    }
}
