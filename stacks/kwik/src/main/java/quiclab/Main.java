package quiclab;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.security.GeneralSecurityException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import tech.kwik.core.QuicConnection;
import tech.kwik.core.impl.Inside;

/**
 * kwik as a quiclab endpoint: a client.
 *
 * Nothing of QUIC is decided here: timers, packet sizes and congestion control are kwik's. Read Settings first (what is honoured,
 * what is refused), then Client. Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.
 */
final class Main {
    /** Flow control for one stream, in bytes. */
    static final long STREAM_WINDOW = 16 << 20;
    /** Seconds of silence that end a connection. */
    static final int IDLE_TIMEOUT = 30;
    /** ALPN of HTTP/0.9 over QUIC. */
    static final String HQ = "hq-interop";
    static final String H3 = "h3";
    private static final Set<String> REPORTED = ConcurrentHashMap.newKeySet();

    private Main() {}

    public static void main(String[] arguments) {
        int status = 0;
        try {
            Settings settings = Settings.parse(System.getenv());
            // Its last line comes with its end.
            try (Progress progress = settings.progress == null ? null : new Progress(settings.progress, settings.progressInterval)) {
                Client.fetchAll(settings);
                Perf.end();
            }
            if (settings.latencies != null) {
                Perf.writeLatencies(settings.latencies);
            }
        }
        catch (Refused refused) {
            System.err.println(refused.getMessage());
            status = refused.status;
        }
        catch (IOException | GeneralSecurityException | RuntimeException error) {
            System.err.println(error);
            status = 1;
        }
        // Nothing is left to do: threads that still run need not end by themselves.
        System.err.flush();
        Runtime.getRuntime().halt(status);
    }

    /** A socket of one IP version. Buffers stay as the kernel makes them. */
    static DatagramSocket socket(Settings settings) throws IOException {
        DatagramChannel channel = DatagramChannel.open(settings.ipv6 ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET);
        channel.bind(new InetSocketAddress(0));
        return channel.socket();
    }

    /** Says which controller kwik made, once each: a client of perf can open thousands of connections. */
    static void reportCongestionControl(QuicConnection connection) {
        String name = Inside.congestionController(connection);
        if (REPORTED.add(name)) {
            System.err.println("congestion control: " + name);
        }
    }
}
