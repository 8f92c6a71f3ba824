// Receivers on com.sun.net.httpserver, many in one process, which answer 202 and work later. For each line of its standard
// input, the options of a receiver as JSON, it starts one and prints its port. Each is right, except for the one bug that its
// options name.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    record Effect(String type, String userId, Object token, String at) {
        String json() {
            return "{\"type\":" + Json.text(type) + ",\"userId\":" + Json.text(userId) + ",\"token\":" + Json.text(token) + "}";
        }
    }

    static final Set<String> knownTypes = Set.of("identify", "track", "page", "screen", "group", "alias", "delete");
    final Set<String> queued = ConcurrentHashMap.newKeySet();
    final List<Effect> effects = new ArrayList<>();
    final Map<String, Effect> profiles = new HashMap<>();
    final ScheduledExecutorService worker = Executors.newSingleThreadScheduledExecutor();
    /** To the database. */
    final AtomicInteger connections = new AtomicInteger(4);
    final String bug;
    final String secret;

    Receiver(Object bug, Object secret) {
        this.bug = bug instanceof String name ? name : "";
        this.secret = (String) secret;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<?, ?> options = (Map<?, ?>) new Json(line, "").read();
            System.out.println(new Receiver(options.get("bug"), options.get("secret")).start());
        }
        System.exit(0);
    }

    /** Returns its port. */
    int start() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 512);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/hooks", exchange -> {
            int status = 500;
            try {
                status = receive(exchange);
            } catch (Exception problem) {
                // It answers 500.
            }
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.createContext("/effects", this::listEffects);
        server.start();
        return server.getAddress().getPort();
    }

    int receive(HttpExchange exchange) throws Exception {
        if (!exchange.getRequestMethod().equals("POST")) return 405;
        byte[] body = exchange.getRequestBody().readAllBytes();
        if (connections.get() <= 0) return 503;
        int status = handle(exchange, body);
        if (bug.equals("leaks-when-refusing") && status >= 400) connections.decrementAndGet();
        return status;
    }

    int handle(HttpExchange exchange, byte[] body) throws Exception {
        if (!isSigned(body, exchange.getRequestHeaders().getFirst("X-Signature"))) return 401;
        Object value;
        try {
            value = new Json(new String(body, StandardCharsets.UTF_8), bug).read();
        } catch (Json.Unreadable problem) {
            if (bug.equals("bad-json-crash")) throw problem;
            return 400;
        }
        if (!(value instanceof Map<?, ?> message)) return 400;
        if (!(message.get("type") instanceof String type)) return 400;
        if (!knownTypes.contains(type)) return 200;
        Object key = type.equals("delete") ? "delete " + message.get("userId") : message.get("messageId");
        if (key == null) return 400;
        if (queued.add(key.toString())) worker.schedule(() -> work(type, message), 1, TimeUnit.SECONDS);
        return 202;
    }

    boolean isSigned(byte[] body, String signature) throws Exception {
        byte[] bytes = bug.equals("verifies-ascii") ? new String(body, StandardCharsets.US_ASCII).getBytes(StandardCharsets.UTF_8) : body;
        Mac mac = Mac.getInstance("HmacSHA1");
        mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA1"));
        String expected = HexFormat.of().formatHex(mac.doFinal(bytes));
        return signature != null && MessageDigest.isEqual(expected.getBytes(), signature.getBytes());
    }

    synchronized void work(String type, Map<?, ?> message) {
        Object user = null;
        for (String name : List.of("userId", "User ID", "anonymousId")) if (user == null) user = message.get(name);
        Object token = null;
        for (String name : List.of("properties", "traits")) {
            if (token == null && message.get(name) instanceof Map<?, ?> members) token = members.get("token");
        }
        Effect effect = new Effect(type, String.valueOf(user), token, String.valueOf(message.get("timestamp")));
        if (type.equals("identify")) {
            Effect known = profiles.get(effect.userId);
            boolean isNewer = known == null || known.at.compareTo(effect.at) <= 0;
            if (isNewer || bug.equals("older-identify-wins")) profiles.put(effect.userId, effect);
            return;
        }
        if (type.equals("delete")) profiles.remove(effect.userId);
        effects.add(effect);
    }

    void listEffects(HttpExchange exchange) throws IOException {
        List<String> rows = new ArrayList<>();
        synchronized (this) {
            for (Effect effect : profiles.values()) rows.add(effect.json());
            for (Effect effect : effects) rows.add(effect.json());
        }
        byte[] text = ("[" + String.join(",\n", rows) + "]").getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, text.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(text);
        }
    }

    /** Java's standard library reads no JSON. */
    static class Json {
        static class Unreadable extends RuntimeException {}

        final String text;
        final String bug;
        int at = 0;
        int depth = 0;

        Json(String text, String bug) {
            this.text = text;
            this.bug = bug;
        }

        static String text(Object value) {
            if (value == null) return "null";
            StringBuilder quoted = new StringBuilder("\"");
            for (char one : value.toString().toCharArray()) {
                if (one < ' ' || one == '"' || one == '\\') quoted.append(String.format("\\u%04x", (int) one));
                else quoted.append(one);
            }
            return quoted.append('"').toString();
        }

        Object read() {
            Object value = value();
            if (next() != 0) throw new Unreadable();
            return value;
        }

        char next() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        void take(char wanted) {
            if (next() != wanted) throw new Unreadable();
            at++;
        }

        Object value() {
            if (++depth > 40 && bug.equals("recursion-limit")) throw new IllegalStateException("too deep");
            if (depth > 1000) throw new Unreadable();
            Object value = switch (next()) {
                case '{' -> object();
                case '[' -> array();
                case '"' -> string();
                default -> literal();
            };
            depth--;
            return value;
        }

        Map<String, Object> object() {
            Map<String, Object> members = new LinkedHashMap<>();
            take('{');
            while (next() != '}') {
                if (!members.isEmpty()) take(',');
                next();
                String name = string();
                take(':');
                members.put(name, value());
            }
            take('}');
            return members;
        }

        List<Object> array() {
            List<Object> elements = new ArrayList<>();
            take('[');
            while (next() != ']') {
                if (!elements.isEmpty()) take(',');
                elements.add(value());
            }
            take(']');
            return elements;
        }

        String string() {
            take('"');
            StringBuilder read = new StringBuilder();
            while (at < text.length() && text.charAt(at) != '"') {
                char one = text.charAt(at++);
                read.append(one == '\\' ? escape() : one);
            }
            take('"');
            return read.toString();
        }

        char escape() {
            if (at >= text.length()) throw new Unreadable();
            char kind = text.charAt(at++);
            if (kind == 'u') {
                at = Math.min(at + 4, text.length());
                String digits = text.substring(at - 4, at);
                if (!digits.matches("[0-9a-fA-F]{4}")) throw new Unreadable();
                return (char) Integer.parseInt(digits, 16);
            }
            int known = "\"\\/bfnrt".indexOf(kind);
            if (known < 0) throw new Unreadable();
            return "\"\\/\b\f\n\r\t".charAt(known);
        }

        Object literal() {
            int start = at;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            if (word.equals("true") || word.equals("false")) return word.equals("true");
            if (word.equals("null")) return null;
            if (!word.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")) throw new Unreadable();
            if (bug.equals("int-32") && word.matches("-?\\d+")) return Integer.parseInt(word);
            return Double.parseDouble(word);
        }
    }
}
