package quiclab;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

import tech.kwik.core.QuicConnection;
import tech.kwik.core.impl.Inside;

/** What this process has carried so far, as lines of a file that grows while it works. */
final class Progress implements AutoCloseable {
    /** Bytes of streams that were handed to kwik and taken from it. */
    static final AtomicLong SENT = new AtomicLong();
    static final AtomicLong RECEIVED = new AtomicLong();
    /** Streams that are over in both directions. */
    static final AtomicLong EXCHANGES = new AtomicLong();
    /** Completed handshakes. */
    private static final AtomicLong CONNECTIONS = new AtomicLong();
    private static final long NANOSECONDS_PER_MILLISECOND = 1_000_000;

    /** The newest connection, once its handshake is complete. */
    private static volatile QuicConnection connected;

    private final FileOutputStream file;
    private final Thread thread;
    private final int interval;
    private volatile boolean ends;

    /** Writes the first line, and more of them each interval, in milliseconds. */
    Progress(Path path, int interval) throws IOException {
        this.interval = interval;
        file = new FileOutputStream(path.toFile(), true);
        write();
        thread = new Thread(this::report, "progress");
        thread.setDaemon(true);
        thread.start();
    }

    /** The handshake of this connection is complete. */
    static void connected(QuicConnection connection) {
        CONNECTIONS.incrementAndGet();
        connected = connection;
    }

    private void report() {
        long due = System.nanoTime();
        try {
            while (!ends) {
                due = Math.max(due + interval * NANOSECONDS_PER_MILLISECOND, System.nanoTime());
                long left = due - System.nanoTime();
                Thread.sleep(Math.max(left, 0) / NANOSECONDS_PER_MILLISECOND, (int) (Math.max(left, 0) % NANOSECONDS_PER_MILLISECOND));
                write();
            }
        }
        catch (InterruptedException ended) {
            // The last line is close's.
        }
        catch (IOException error) {
            System.err.println("QUICLAB_PERF_PROGRESS: " + error);
        }
    }

    private void write() throws IOException {
        file.write(line(System.nanoTime(), connected).getBytes(StandardCharsets.US_ASCII));
    }

    /** One line; what the connection knows of its path is null without one. */
    static String line(long now, QuicConnection connection) {
        String path = "\"rtt_ns\":null,\"window\":null,\"lost\":null";
        if (connection != null) {
            // In whole milliseconds: 0 is less than one, and not known.
            int rtt = connection.getStats().smoothedRtt();
            path = String.format("\"rtt_ns\":%s,\"window\":%d,\"lost\":%d", rtt > 0 ? rtt * NANOSECONDS_PER_MILLISECOND : null,
                    Inside.congestionWindow(connection), connection.getStats().lostPackets());
        }
        return String.format("{\"monotonic_ns\":%d,\"sent\":%d,\"received\":%d,\"exchanges\":%d,\"connections\":%d,%s}\n", now, SENT.get(),
                RECEIVED.get(), EXCHANGES.get(), CONNECTIONS.get(), path);
    }

    /** Writes the last line. */
    @Override
    public void close() throws IOException {
        ends = true;
        thread.interrupt();
        try {
            thread.join();
        }
        catch (InterruptedException error) {
            throw new IOException(error);
        }
        write();
        file.close();
    }
}
