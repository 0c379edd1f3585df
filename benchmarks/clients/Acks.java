import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Produces steadily whatever happens to the cluster, as benchmarks/clients/acks.py does on librdkafka, and prints the
 * longest time without an acknowledgement.
 *
 * <p>java Acks.java BOOTSTRAP TOPIC VALUE_SIZE. It says `ready`, tells how many acknowledgements have come for each line
 * it reads, and ends with its input.
 */
public final class Acks {
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1) / 500;

    private final List<Long> times = new ArrayList<>();
    private int failed = 0;
    private volatile boolean ended = false;

    private synchronized void delivered(Exception error) {
        if (error == null) {
            times.add(System.nanoTime());
        } else {
            failed += 1;
        }
    }

    private synchronized int acked() {
        return times.size();
    }

    private synchronized void print(long end) {
        long longest = 0;
        long last = times.get(0);
        for (long each : times) {
            if (each >= end) {
                break;
            }
            longest = Math.max(longest, each - last);
            last = each;
        }
        longest = Math.max(longest, end - last);
        System.out.printf(
                "{\"longest_gap_seconds\": %.6f, \"acked\": %d, \"failed\": %d}%n", longest / 1e9, times.size(), failed);
    }

    private void produce(KafkaProducer<byte[], byte[]> producer, ProducerRecord<byte[], byte[]> record) {
        long until = System.nanoTime() + PAUSE_NANOS;
        producer.send(record, (metadata, error) -> delivered(error));
        LockSupport.parkNanos(until - System.nanoTime());
    }

    /** Answers lines until the input ends. */
    private void answer() {
        try (BufferedReader asked = new BufferedReader(new InputStreamReader(System.in))) {
            while (asked.readLine() != null) {
                System.out.println(acked());
            }
        } catch (IOException closed) {
            // The benchmark is gone: nobody asks any more.
        }
        ended = true;
    }

    public static void main(String[] args) {
        ByteArraySerializer bytes = new ByteArraySerializer();
        Acks acks = new Acks();
        long end;
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(Map.of("bootstrap.servers", args[0]), bytes, bytes)) {
            ProducerRecord<byte[], byte[]> record =
                    new ProducerRecord<>(args[1], 0, null, new byte[Integer.parseInt(args[2])]);
            while (acks.acked() == 0) {
                acks.produce(producer, record);
            }
            System.out.println("ready");
            Thread answering = new Thread(acks::answer);
            answering.setDaemon(true);
            answering.start();
            while (!acks.ended) {
                acks.produce(producer, record);
            }
            end = System.nanoTime();
        }
        acks.print(end);
    }
}
