import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.opensearch.action.bulk.BulkItemResponse;
import org.opensearch.action.bulk.BulkRequest;
import org.opensearch.action.index.IndexRequest;
import org.opensearch.client.Client;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.XContentType;
import org.opensearch.index.mapper.MapperExtrasPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/**
 * Index FOLDER LINES MAPPING...: indexes each line of a file into an index for each mapping, in an
 * OpenSearch within this process, and prints what it refuses. The status is 1 if it refuses a line,
 * and also if it accepts one of CONTROLS. The first index takes the lines as they are, the second
 * one with dotted keys as objects, as Filebeat's `expand_keys` sends them.
 */
final class Index {
    private static final int BATCH = 500;
    /** The most reasons that are printed of an index. */
    private static final int REASONS = 20;

    /** Documents that any mapping of the schema refuses: the check can fail. */
    private static final List<String> CONTROLS = List.of(
        "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"user\":\"bob\"}",
        "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"error\":true}",
        "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"error.message\":{\"a\":1}}",
        "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"labels\":1}",
        "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"labels. \":\"x\"}",
        "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"message\":\"a\",\"message\":\"b\"}",
        "{\"@timestamp\":\"yesterday\"}",
        "{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"process.thread.id\":\"x\"}"
    );

    private static final class InProcess extends Node {
        InProcess(Settings settings) {
            super(
                InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "schemas"),
                List.of(Netty4Plugin.class, MapperExtrasPlugin.class),
                false
            );
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Settings settings = Settings.builder()
            .put("path.home", folder.toString())
            .put("cluster.name", "schemas")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("transport.port", "0")
            .put("http.port", "0")
            // The disk may be as full as it is.
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        int problems = 0;
        try (Node node = new InProcess(settings).start()) {
            for (int at = 2; at < arguments.length; at++) {
                Path mapping = Path.of(arguments[at]);
                problems += index(node.client(), mapping, Path.of(arguments[1]), at > 2);
            }
        }
        System.exit(problems == 0 ? 0 : 1);
    }

    private static int index(Client client, Path mapping, Path lines, boolean expands)
        throws Exception {
        String name = mapping.getFileName().toString().replace(".json", "");
        Settings settings = Settings.builder()
            .put("index.number_of_shards", 1)
            .put("index.number_of_replicas", 0)
            // Each name of the schema becomes a label here, and the schema alone has more fields
            // than an index has by default.
            .put("index.mapping.total_fields.limit", 20_000)
            .put("index.refresh_interval", "-1")
            .put("index.translog.durability", "async")
            .build();
        client.admin().indices().prepareCreate(name).setSettings(settings)
            .setMapping(Files.readString(mapping)).get();
        for (String control : CONTROLS) {
            IndexRequest request = new IndexRequest().source(control, XContentType.JSON);
            BulkRequest one = new BulkRequest(name).add(request);
            if (!client.bulk(one).actionGet().hasFailures()) {
                System.out.printf("%s: accepted %s%n", name, control);
                return 1;
            }
        }
        Map<String, Integer> refused = new TreeMap<>();
        int count = 0, problems = 0;
        try (BufferedReader reader = Files.newBufferedReader(lines)) {
            BulkRequest batch = new BulkRequest(name);
            for (String line; (line = reader.readLine()) != null; count++) {
                IndexRequest request = new IndexRequest();
                if (expands) {
                    var members = XContentHelper.convertToMap(XContentType.JSON.xContent(), line, true);
                    request.source(expanded(members));
                } else {
                    request.source(line, XContentType.JSON);
                }
                batch.add(request);
                if (batch.numberOfActions() == BATCH) {
                    problems += send(client, batch, refused);
                    batch = new BulkRequest(name);
                }
            }
            if (batch.numberOfActions() > 0) {
                problems += send(client, batch, refused);
            }
        }
        refused.entrySet().stream().limit(REASONS).forEach(one ->
            System.out.printf("%s: %d times: %s%n", name, one.getValue(), one.getKey())
        );
        System.out.printf("%s: %d lines, %d refused%n", name, count, problems);
        return count == 0 ? 1 : problems;
    }

    /** Returns the members with dotted keys as objects within objects. */
    private static Map<String, Object> expanded(Map<String, Object> members) {
        Map<String, Object> all = new LinkedHashMap<>();
        members.forEach((key, value) -> {
            Map<String, Object> within = all;
            String[] path = key.split("\\.", -1);
            for (int at = 0; at < path.length - 1; at++) {
                Object object = within.computeIfAbsent(path[at], name -> new LinkedHashMap<>());
                if (!(object instanceof Map)) {
                    throw new IllegalArgumentException(key + " is below a value");
                }
                @SuppressWarnings("unchecked")
                Map<String, Object> inner = (Map<String, Object>) object;
                within = inner;
            }
            if (within.put(path[path.length - 1], value) != null) {
                throw new IllegalArgumentException(key + " is a value and an object");
            }
        });
        return all;
    }

    /** Indexes a batch, and counts the reasons of the refusals. */
    private static int send(Client client, BulkRequest batch, Map<String, Integer> refused) {
        int problems = 0;
        for (BulkItemResponse item : client.bulk(batch).actionGet()) {
            if (item.isFailed()) {
                problems++;
                Throwable cause = item.getFailure().getCause();
                String reason = String.valueOf(cause.getMessage());
                while ((cause = cause.getCause()) != null) {
                    reason += ": " + cause.getMessage();
                }
                // Without the number of the document and the value, one reason is one line.
                reason = reason.replaceAll("document with id '[^']*'", "a document");
                reason = reason.replaceAll("(?s)\\. Preview.*", "");
                reason = reason.substring(0, Math.min(reason.length(), 300));
                refused.merge(reason, 1, Integer::sum);
            }
        }
        return problems;
    }
}
