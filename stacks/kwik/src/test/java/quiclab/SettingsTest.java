package quiclab;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.HdrHistogram.Histogram;

/**
 * What the environment is read as, and how latencies are written. Needs no test library, but HdrHistogram.jar:
 * javac -cp target/classes:HdrHistogram.jar -d target/test src/test/java/quiclab/SettingsTest.java &&
 * java -cp target/classes:target/test:HdrHistogram.jar quiclab.SettingsTest
 */
final class SettingsTest {
    private SettingsTest() {}

    public static void main(String[] arguments) throws Exception {
        aPlainTransferHasTheDocumentedDefaults();
        everyDeclaredSettingIsHonoured();
        whatItCannotDoIsRefusedAndNotIgnored();
        whatItCannotReadIsAFailure();
        aLoadSaysWhatEachStreamCarries();
        latenciesAreWhatOthersRead();
    }

    private static void aPlainTransferHasTheDocumentedDefaults() throws Refused {
        Settings found = parse();
        check(found.http3 && !found.ipv6 && found.keyLog == null && found.streams == Integer.MAX_VALUE, "defaults");
        check(found.stored(found.requests.get(1)).toString().equals("/downloads/b") && Settings.port(found.requests.get(0)) == 443, "requests");
    }

    private static void everyDeclaredSettingIsHonoured() throws Refused {
        for (Map.Entry<String, List<String>> choice : Settings.CHOICES.entrySet()) {
            for (String value : choice.getValue()) {
                parse(choice.getKey(), value);
            }
        }
        for (String testCase : Settings.TEST_CASES) {
            if (!testCase.equals("perf")) {
                parse("TESTCASE", testCase);
            }
        }
        Settings perf = parse(perf());
        check(perf.perfSizes.equals(new Load.Sizes(9, 0)) && perf.perfDuration.isZero() && perf.progress == null, "perf");
        perf = parse(perf("QUICLAB_PERF_DURATION", "250", "QUICLAB_PERF_PROGRESS", "/p", "QUICLAB_PERF_INTERVAL", "50"));
        check(perf.perfDuration.toMillis() == 250 && perf.progress.toString().equals("/p") && perf.progressInterval == 50, "progress");
        check(parse().load == Load.BULK && parse(perf()).load == Load.BULK, "no load");
        for (Load load : Load.values()) {
            check(parse(perf("QUICLAB_PERF_LOAD", load.word(), "QUICLAB_PERF_DURATION", "250")).load == load, load.word());
        }
        perf = parse(perf("QUICLAB_PERF_LOAD", "handshakes", "QUICLAB_PERF_DURATION", "250", "QUICLAB_PERF_LATENCIES", "/l"));
        check(perf.latencies.toString().equals("/l") && parse(perf()).latencies == null, "latencies");
        parse("QUICLAB_CERT_DELAY", "200", "QUICLAB_PORT", "4433");
        check(parse("QUICLAB_STREAMS", "4").streams == 4 && parse("QUICLAB_IP", "6").ipv6 && !parse("QUICLAB_HTTP", "hq").http3, "settings");
    }

    private static void whatItCannotDoIsRefusedAndNotIgnored() {
        refused(Refused.NOT_SUPPORTED, "TESTCASE", "");
        refused(Refused.NOT_SUPPORTED, "TESTCASE", "multiconnect");
        refused(Refused.NOT_SUPPORTED, "TESTCASE", "http3", "QUICLAB_HTTP", "hq");
        refused(Refused.NOT_SUPPORTED, "ROLE", "server");
        refused(Refused.NOT_SUPPORTED, "QUICLAB_CCA", "cubic");
        refused(Refused.NOT_SUPPORTED, "QUICLAB_CCA", "RENO");
        refused(Refused.NOT_SUPPORTED, "QUICLAB_GSO", "on");
        refused(Refused.NOT_SUPPORTED, "QUICLAB_PACING", "user");
        refused(Refused.NOT_SUPPORTED, "QUICLAB_NO_SUCH_SETTING", "1");
        refused(Refused.NOT_SUPPORTED, "CLIENT_PARAMS", "-x");
        refused(Refused.NOT_SUPPORTED, perf("QUICLAB_PERF_LOAD", "floods", "QUICLAB_PERF_DURATION", "250"));
        refused(Refused.NOT_SUPPORTED, perf("QUICLAB_PERF_LOAD", "BULK"));
        for (String name : Settings.PERF) {
            refused(Refused.NOT_SUPPORTED, name, "20");
        }
    }

    private static void whatItCannotReadIsAFailure() {
        refused(Refused.NOT_UNDERSTOOD, "ROLE", "observer");
        refused(Refused.NOT_UNDERSTOOD, "REQUESTS", "");
        refused(Refused.NOT_UNDERSTOOD, "REQUESTS", "http://server/file");
        refused(Refused.NOT_UNDERSTOOD, "REQUESTS", "https://server:4433/");
        refused(Refused.NOT_UNDERSTOOD, "REQUESTS", "https://server:70000/file");
        refused(Refused.NOT_UNDERSTOOD, "REQUESTS", "https://server/..");
        refused(Refused.NOT_UNDERSTOOD, "REQUESTS", "https://server/a https://other/b");
        refused(Refused.NOT_UNDERSTOOD, "REQUESTS", "https://server/a", "TESTCASE", "resumption");
        refused(Refused.NOT_UNDERSTOOD, "QUICLAB_PORT", "65536");
        refused(Refused.NOT_UNDERSTOOD, "QUICLAB_STREAMS", "0");
        refused(Refused.NOT_UNDERSTOOD, "QUICLAB_CERT_DELAY", "soon");
        refused(Refused.NOT_UNDERSTOOD, "TESTCASE", "perf");
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_REQUEST", "7"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_RESPONSE", "-1"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_DURATION", "0"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_INTERVAL", "50"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_PROGRESS", "/p", "QUICLAB_PERF_INTERVAL", "9"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_LOAD", "requests"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_LOAD", "handshakes"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_DURATION", "250", "QUICLAB_PERF_LATENCIES", "/l"));
        refused(Refused.NOT_UNDERSTOOD, perf("QUICLAB_PERF_LOAD", "bidirectional", "QUICLAB_PERF_DURATION", "250", "QUICLAB_PERF_LATENCIES", "/l"));
    }

    private static void aLoadSaysWhatEachStreamCarries() {
        Load.Sizes sizes = new Load.Sizes(100, 1000);
        List<Load.Sizes> both = List.of(new Load.Sizes(100, 0), new Load.Sizes(8, 1000));
        check(Load.BULK.plan(sizes, 2).equals(List.of(sizes, sizes)) && Load.REQUESTS.plan(sizes, 1).equals(List.of(sizes)), "one stream");
        check(Load.BIDIRECTIONAL.plan(sizes, 1).equals(both) && Load.BIDIRECTIONAL.plan(sizes, 3).size() == 6, "two streams");
    }

    private static void latenciesAreWhatOthersRead() throws Exception {
        Path path = Files.createTempFile("latencies", null);
        Latencies latencies = new Latencies();
        latencies.write(path);
        check(read(path).getTotalCount() == 0, "none");
        for (long took : new long[] {30_000, 7_000_000, Long.MAX_VALUE}) {
            latencies.record(took);
        }
        latencies.write(path);
        Histogram found = read(path);
        check(found.getTotalCount() == 3 && found.getLowestDiscernibleValue() == Latencies.LEAST, "values");
        check(Math.abs(found.getValueAtPercentile(50) - 7_000_000) <= 7_000, "the one between");
        check(found.valuesAreEquivalent(found.getMaxValue(), Latencies.MOST), "an hour");
        Files.delete(path);
    }

    /** What a file of one line has. */
    private static Histogram read(Path path) throws Exception {
        String text = Files.readString(path);
        check(text.indexOf('\n') == text.length() - 1, "one line");
        return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(Base64.getDecoder().decode(text.trim())), 0);
    }

    /** Reads a plain client's environment with changes: names and values in turn. */
    private static Settings parse(String... changes) throws Refused {
        Map<String, String> environment = new HashMap<>();
        environment.putAll(Map.of("ROLE", "client", "TESTCASE", "transfer", "REQUESTS", "https://server/a https://server:443/b"));
        for (int i = 0; i < changes.length; i += 2) {
            environment.put(changes[i], changes[i + 1]);
        }
        return Settings.parse(environment);
    }

    /** The changes that make perf of it, and more. */
    private static String[] perf(String... more) {
        String[] plain = {"TESTCASE", "perf", "QUICLAB_PERF_REQUEST", "9", "QUICLAB_PERF_RESPONSE", "0"};
        return Stream.concat(Stream.of(plain), Stream.of(more)).toArray(String[]::new);
    }

    private static void refused(int status, String... changes) {
        try {
            parse(changes);
        }
        catch (Refused refused) {
            check(refused.status == status, String.join(" ", changes) + ": " + refused.getMessage());
            return;
        }
        check(false, String.join(" ", changes) + " was taken");
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
