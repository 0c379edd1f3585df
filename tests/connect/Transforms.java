import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Applies Kafka Connect's own transforms: reads a case of JSON per line ({"class", "config", "record"}) and writes the
 * record as it leaves, {"dropped": true}, or {"error": sentence}.
 */
public final class Transforms {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonConverter CONVERTER = new JsonConverter();

    private static SchemaAndValue read(JsonNode envelope) throws IOException {
        return CONVERTER.toConnectData("t", JSON.writeValueAsBytes(envelope));
    }

    private static JsonNode write(org.apache.kafka.connect.data.Schema schema, Object value) throws IOException {
        byte[] bytes = CONVERTER.fromConnectData("t", schema, value);
        return bytes == null ? null : JSON.readTree(bytes);
    }

    private static SinkRecord record(JsonNode given) throws IOException {
        SchemaAndValue key = read(given.get("key"));
        SchemaAndValue value = read(given.get("value"));
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : given.get("headers")) {
            headers.add(header.get(0).asText(), read(header.get(1)));
        }
        Long timestamp = given.get("timestamp").isNull() ? null : given.get("timestamp").asLong();
        return new SinkRecord(given.get("topic").asText(), given.get("partition").asInt(), key.schema(), key.value(),
                value.schema(), value.value(), given.get("offset").asLong(), timestamp, TimestampType.CREATE_TIME, headers);
    }

    private static ObjectNode shown(SinkRecord record) throws IOException {
        ObjectNode shown = JSON.createObjectNode();
        shown.put("topic", record.topic());
        shown.put("partition", record.kafkaPartition());
        shown.set("key", write(record.keySchema(), record.key()));
        shown.set("value", write(record.valueSchema(), record.value()));
        shown.put("timestamp", record.timestamp());
        ArrayNode headers = shown.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(write(header.schema(), header.value()));
        }
        return shown;
    }

    @SuppressWarnings("unchecked")
    private static ObjectNode answer(JsonNode given) {
        ObjectNode answer = JSON.createObjectNode();
        Map<String, String> config = new HashMap<>();
        given.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        try (Transformation<SinkRecord> transform = (Transformation<SinkRecord>)
                Class.forName(given.get("class").asText()).getDeclaredConstructor().newInstance()) {
            transform.configure(config);
            SinkRecord found = transform.apply(record(given.get("record")));
            return found == null ? answer.put("dropped", true) : shown(found);
        } catch (Exception wrong) {
            return answer.put("error", wrong.getClass().getSimpleName() + ": " + wrong.getMessage());
        }
    }

    public static void main(String[] args) throws IOException {
        CONVERTER.configure(Map.of("schemas.enable", "true", "decimal.format", "BASE64"), false);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader cases = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
        out.flush();
    }
}
