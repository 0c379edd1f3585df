import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One worker of a transactional copy with Kafka's own clients, for being killed: consume, transform, produce,
 * commit offsets.
 *
 * <p>java CopyWorker.java BOOTSTRAP SOURCE TARGET GROUP_PROTOCOL WORKER
 */
public final class CopyWorker {
    private static final double ABORTED = 0.2;
    private static final String COPIED = "'";
    private static final Duration POLL = Duration.ofMillis(50);

    private final Random chance = new Random();
    private final String target;
    private final String name;
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;

    private CopyWorker(String bootstrap, String source, String target, String protocol, String name) {
        this.target = target;
        this.name = name;
        Map<String, Object> quick = Map.of(
                "bootstrap.servers", bootstrap,
                "client.id", name,
                "reconnect.backoff.ms", 5,
                "reconnect.backoff.max.ms", 50,
                "retry.backoff.ms", 5,
                "retry.backoff.max.ms", 50);
        Map<String, Object> producing = new HashMap<>(quick);
        producing.put("transactional.id", name);
        Map<String, Object> consuming = new HashMap<>(quick);
        consuming.putAll(Map.of(
                "group.id", "copy",
                "group.protocol", protocol,
                "enable.auto.commit", false,
                "auto.offset.reset", "earliest",
                "isolation.level", "read_committed",
                "fetch.max.wait.ms", 50,
                "max.poll.records", 25));
        if (protocol.equals("classic")) {
            consuming.put("session.timeout.ms", 1500);
            consuming.put("heartbeat.interval.ms", 200);
        }
        producer = new KafkaProducer<>(producing, new StringSerializer(), new StringSerializer());
        // A worker that comes back shuts out the one that was killed.
        producer.initTransactions();
        consumer = new KafkaConsumer<>(consuming, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(source));
    }

    private void copy(ConsumerRecords<String, String> batch) {
        producer.beginTransaction();
        boolean regretted = chance.nextDouble() < ABORTED;
        try {
            write(batch);
            if (!regretted) {
                commit();
                return;
            }
        } catch (KafkaException failed) {
            regretted = false;
        }
        // If it is shut out this fails as well, which ends the process: another takes its place.
        producer.abortTransaction();
        if (regretted) {
            System.out.println("aborted " + name);
        }
        rewind();
    }

    private void write(ConsumerRecords<String, String> batch) {
        Map<TopicPartition, OffsetAndMetadata> behind = new HashMap<>();
        for (ConsumerRecord<String, String> each : batch) {
            producer.send(new ProducerRecord<>(target, each.key(), each.value() + COPIED));
            behind.put(
                    new TopicPartition(each.topic(), each.partition()),
                    new OffsetAndMetadata(each.offset() + 1));
        }
        producer.sendOffsetsToTransaction(behind, consumer.groupMetadata());
        producer.flush();
    }

    private void commit() {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException again) {
                continue; // the end of a transaction may be asked for again
            }
        }
    }

    /** Back to where the last transaction ended, in each partition that is still ours. */
    private void rewind() {
        consumer.committed(consumer.assignment()).forEach((partition, found) -> {
            if (found == null) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, found);
            }
        });
    }

    public static void main(String[] args) {
        CopyWorker worker = new CopyWorker(args[0], args[1], args[2], args[3], args[4]);
        while (true) {
            ConsumerRecords<String, String> batch = worker.consumer.poll(POLL);
            if (!batch.isEmpty()) {
                worker.copy(batch);
            }
        }
    }
}
