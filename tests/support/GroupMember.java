import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a consumer group that tells by lines of JSON what it owns and reads, and does what it is asked by such
 * lines, as tests/support/member_processes.py does in Python.
 *
 * <p>java GroupMember.java TOPIC SETTINGS, with the settings of its consumer as JSON; until SIGTERM.
 */
public final class GroupMember implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String topic;
    private final KafkaConsumer<String, String> consumer;
    private final BlockingQueue<JsonNode> commands = new LinkedBlockingQueue<>();
    private final Set<Integer> owned = new TreeSet<>();
    private volatile boolean stopping = false;
    private boolean held = false;

    private GroupMember(String topic, Map<String, Object> settings) {
        this.topic = topic;
        consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(topic), this);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> added) {
        added.forEach(each -> owned.add(each.partition()));
        tell(Map.of("claim", List.of(consumer.groupMetadata().generationId(), owned)));
        tell(Map.of("owned", owned));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> removed) {
        removed.forEach(each -> owned.remove(each.partition()));
        tell(Map.of("owned", owned));
    }

    private void run() throws InterruptedException {
        while (!stopping) {
            if (!held) {
                for (ConsumerRecord<String, String> each : consumer.poll(POLL)) {
                    tell(Map.of("read", List.of(each.partition(), each.offset(), each.value())));
                }
            }
            JsonNode command = commands.poll(held ? POLL.toMillis() : 0, TimeUnit.MILLISECONDS);
            if (command != null) {
                tell(Map.of("answer", obey(command)));
            }
        }
    }

    private String obey(JsonNode command) {
        if (command.isArray()) {
            return commit(command);
        }
        held = command.asText().equals("hold");
        return "";
    }

    private String commit(JsonNode offsets) {
        Map<TopicPartition, OffsetAndMetadata> wanted = new HashMap<>();
        for (JsonNode each : offsets) {
            wanted.put(
                    new TopicPartition(topic, each.get(0).asInt()),
                    new OffsetAndMetadata(each.get(1).asLong()));
        }
        try {
            consumer.commitSync(wanted);
            return "";
        } catch (KafkaException refused) {
            return refused.getClass().getSimpleName();
        }
    }

    private void listen() {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        try {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                commands.add(JSON.readTree(line));
            }
        } catch (IOException gone) {
            stopping = true;
        }
    }

    private static void tell(Map<String, ?> event) {
        try {
            System.out.println(JSON.writeValueAsString(event));
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** SIGTERM: leave the group. */
    private void stop(Thread main) {
        stopping = true;
        consumer.wakeup();
        try {
            main.join();
        } catch (InterruptedException enough) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] args) throws Exception {
        GroupMember member = new GroupMember(args[0], JSON.readValue(args[1], new TypeReference<>() {}));
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> member.stop(main)));
        Thread listener = new Thread(member::listen);
        listener.setDaemon(true);
        listener.start();
        try {
            member.run();
        } catch (WakeupException enough) {
            // what the hook has asked for
        } finally {
            member.consumer.close();
        }
    }
}
