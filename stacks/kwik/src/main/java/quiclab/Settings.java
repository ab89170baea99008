package quiclab;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Everything this endpoint was asked to do. If the object exists, it can be done. */
final class Settings {
    static final List<String> TEST_CASES =
            List.of("handshake", "transfer", "http3", "retry", "chacha20", "keyupdate", "resumption", "zerortt", "v2", "perf");
    /** The values of a setting that this endpoint can honour; the first one is used where nothing is asked. */
    static final Map<String, List<String>> CHOICES = Map.of(
            "QUICLAB_CCA", List.of("reno"),
            "QUICLAB_GSO", List.of("off"),
            "QUICLAB_PACING", List.of("off"),
            "QUICLAB_HTTP", List.of("h3", "hq"),
            "QUICLAB_IP", List.of("4", "6"));
    /** Settings that are the server's matter; a client must not take nonsense. */
    static final Map<String, Integer> LARGEST = Map.of("QUICLAB_PORT", 65535, "QUICLAB_CERT_DELAY", Integer.MAX_VALUE);

    /** Settings of the test case perf. */
    static final List<String> PERF = List.of("QUICLAB_PERF_REQUEST", "QUICLAB_PERF_RESPONSE", "QUICLAB_PERF_DURATION",
            "QUICLAB_PERF_PROGRESS", "QUICLAB_PERF_INTERVAL", "QUICLAB_PERF_LOAD", "QUICLAB_PERF_LATENCIES");

    final String testCase;
    /** What the client fetches, all from one host and port. Never empty. */
    final List<URI> requests;
    /** Most requests open at the same time. */
    final int streams;
    final Path downloads;
    final Path certs;
    /** Where TLS secrets are appended; null: nowhere. */
    final Path keyLog;
    /** False: HTTP/0.9. */
    final boolean http3;
    final boolean ipv6;
    /** Bytes of each request and of each response in perf; 0 otherwise. */
    final Load.Sizes perfSizes;
    /** How long perf goes on from its handshake; zero: until every response is complete. */
    final Duration perfDuration;
    final Load load;
    /** Where the latencies of a load that repeats are written; null: nowhere. */
    final Path latencies;
    /** Where lines of progress are appended; null: nowhere. */
    final Path progress;
    /** Milliseconds from a line of progress to the next. */
    final int progressInterval;

    private Settings(Map<String, String> environment, List<URI> requests) throws Refused {
        this.requests = requests;
        testCase = environment.get("TESTCASE");
        String most = environment.getOrDefault("QUICLAB_STREAMS", "all");
        streams = most.equals("all") ? Integer.MAX_VALUE : number("QUICLAB_STREAMS", most, 1, Integer.MAX_VALUE);
        downloads = Path.of(environment.getOrDefault("DOWNLOADS", "/downloads"));
        certs = Path.of(environment.getOrDefault("CERTS", "/certs"));
        String log = environment.getOrDefault("SSLKEYLOGFILE", "");
        keyLog = log.isEmpty() ? null : Path.of(log);
        http3 = chosen(environment, "QUICLAB_HTTP").equals("h3");
        ipv6 = chosen(environment, "QUICLAB_IP").equals("6");
        for (String name : new TreeMap<>(LARGEST).keySet()) {
            number(name, environment.getOrDefault(name, "0"), 0, LARGEST.get(name));
        }
        perfSizes = isPerf() ? new Load.Sizes(size(environment, PERF.get(0), Perf.HEAD), size(environment, PERF.get(1), 0)) : new Load.Sizes(0, 0);
        perfDuration = Duration.ofMillis(environment.containsKey(PERF.get(2)) ? size(environment, PERF.get(2), 1) : 0);
        String path = environment.getOrDefault(PERF.get(3), "");
        progress = path.isEmpty() ? null : Path.of(path);
        progressInterval = number(PERF.get(4), environment.getOrDefault(PERF.get(4), "1000"), 10, 60_000);
        if (progress == null && environment.containsKey(PERF.get(4))) {
            throw Refused.notUnderstood(PERF.get(3), path, "a file, as " + PERF.get(4) + " is set");
        }
        load = Load.of(PERF.get(5), environment.getOrDefault(PERF.get(5), Load.BULK.word()));
        if (load.repeats() && perfDuration.isZero()) {
            throw Refused.notUnderstood(PERF.get(5), load.word(), PERF.get(2) + " beside it");
        }
        path = environment.getOrDefault(PERF.get(6), "");
        latencies = path.isEmpty() ? null : Path.of(path);
        if (latencies != null && !load.repeats()) {
            throw Refused.notUnderstood(PERF.get(6), path, "it with " + PERF.get(5) + " requests or handshakes only");
        }
    }

    /** Reads the endpoint contract from an environment. */
    static Settings parse(Map<String, String> environment) throws Refused {
        String role = environment.getOrDefault("ROLE", "");
        String testCase = environment.getOrDefault("TESTCASE", "");
        if (!TEST_CASES.contains(testCase)) {
            throw Refused.notSupported("TESTCASE", testCase, String.join(", ", TEST_CASES));
        }
        // In order of name, so that the same environment always gets the same answer.
        for (Map.Entry<String, String> variable : new TreeMap<>(environment).entrySet()) {
            String name = variable.getKey();
            String value = variable.getValue();
            List<String> allowed = CHOICES.get(name);
            if (allowed != null && !allowed.contains(value)) {
                throw Refused.notSupported(name, value, String.join(", ", allowed));
            }
            boolean isPerf = PERF.contains(name);
            if (isPerf && !testCase.equals("perf")) {
                throw Refused.notSupported(name, value, "it with TESTCASE=perf");
            }
            boolean known = isPerf || allowed != null || LARGEST.containsKey(name) || name.equals("QUICLAB_STREAMS");
            if (name.startsWith("QUICLAB_") && !known) {
                throw Refused.notSupported(name, value, "no such setting");
            }
            if ((name.equals("SERVER_PARAMS") || name.equals("CLIENT_PARAMS")) && !value.isEmpty()) {
                throw Refused.notSupported(name, value, "no parameters");
            }
        }
        String http = chosen(environment, "QUICLAB_HTTP");
        if (testCase.equals("http3") && !http.equals("h3")) {
            throw Refused.notSupported("QUICLAB_HTTP", http, "h3 in test case http3");
        }
        if (role.equals("server")) {
            throw Refused.notSupported("ROLE", role, "client");
        }
        if (!role.equals("client")) {
            throw Refused.notUnderstood("ROLE", role, "client");
        }
        List<URI> requests = requests(environment.getOrDefault("REQUESTS", ""));
        Settings settings = new Settings(environment, requests);
        if (settings.twoConnections() && requests.size() < 2) {
            throw Refused.notUnderstood("REQUESTS", environment.get("REQUESTS"), "at least two URLs in test case " + testCase);
        }
        return settings;
    }

    /** True where the client opens a second connection by the session of the first. */
    boolean twoConnections() {
        return testCase.equals("resumption") || testCase.equals("zerortt");
    }

    /** True where there are no files, but numbers of bytes. */
    boolean isPerf() {
        return testCase.equals("perf");
    }

    /** Where the body of a request is stored. */
    Path stored(URI request) {
        return downloads.resolve(lastPart(request));
    }

    private static String chosen(Map<String, String> environment, String name) {
        return environment.getOrDefault(name, CHOICES.get(name).get(0));
    }

    private static int number(String name, String text, int smallest, int largest) throws Refused {
        try {
            int number = Integer.parseInt(text);
            if (number >= smallest && number <= largest && Character.isDigit(text.charAt(0))) {
                return number;
            }
        }
        catch (NumberFormatException error) {
            // Falls through to the one message for both.
        }
        throw Refused.notUnderstood(name, text, "a whole number, " + smallest + " to " + largest);
    }

    /** A number of bytes or of milliseconds. */
    private static long size(Map<String, String> environment, String name, long smallest) throws Refused {
        String text = environment.getOrDefault(name, "");
        try {
            long number = Long.parseLong(text);
            if (number >= smallest && Character.isDigit(text.charAt(0))) {
                return number;
            }
        }
        catch (NumberFormatException error) {
            // Falls through to the one message for both.
        }
        throw Refused.notUnderstood(name, text, "a whole number, at least " + smallest);
    }

    private static List<URI> requests(String text) throws Refused {
        List<URI> requests = new ArrayList<>();
        for (String word : text.trim().split("\\s+")) {
            try {
                URI uri = new URI(word);
                boolean whole = "https".equals(uri.getScheme()) && uri.getHost() != null && uri.getPort() <= 65535;
                String name = whole ? lastPart(uri) : "";
                if (!whole || name.isEmpty() || name.equals(".") || name.equals("..")) {
                    throw Refused.notUnderstood("REQUESTS", word, "https://HOST[:PORT]/FILE");
                }
                requests.add(uri);
            }
            catch (URISyntaxException error) {
                throw Refused.notUnderstood("REQUESTS", word, "https://HOST[:PORT]/FILE");
            }
        }
        URI first = requests.get(0);
        for (URI request : requests) {
            if (!request.getHost().equals(first.getHost()) || port(request) != port(first)) {
                throw Refused.notUnderstood("REQUESTS", request.toString(), "the same host and port in every URL");
            }
        }
        return requests;
    }

    /** The port of a URL, 443 where it names none. */
    static int port(URI request) {
        return request.getPort() < 0 ? 443 : request.getPort();
    }

    private static String lastPart(URI request) {
        String path = request.getPath();
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
