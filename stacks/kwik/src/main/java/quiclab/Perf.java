package quiclab;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;

import tech.kwik.core.QuicConnection;
import tech.kwik.core.QuicStream;

/** draft-banks-quic-performance: numbers of bytes in both directions, without files. */
final class Perf {
    /** Name in ALPN, section 2.1. */
    static final String ALPN = "perf";
    /** Bytes of a request that have a meaning, section 2.3. */
    static final int HEAD = 8;
    /** Largest piece that is handed over at once, in bytes. */
    private static final int CHUNK = 64 << 10;
    /** The smallest exchange there is. */
    static final Load.Sizes SMALLEST = new Load.Sizes(HEAD, 0);

    private static final Latencies LATENCIES = new Latencies();
    /** Whether the end of something still counts. Afterwards it would be in only one of the last line of progress and the latencies. */
    private static boolean counts = true;

    private Perf() {}

    /** A handshake is complete, which took so many nanoseconds. */
    static synchronized void connected(QuicConnection connection, Load load, long took) {
        if (counts) {
            Progress.connected(connection);
            if (load == Load.HANDSHAKES) {
                LATENCIES.record(took);
            }
        }
    }

    private static synchronized void exchanged(Load load, long took) {
        if (counts) {
            Progress.EXCHANGES.incrementAndGet();
            if (load == Load.REQUESTS) {
                LATENCIES.record(took);
            }
        }
    }

    /** From now on, nothing is counted: threads may go on until the process ends. */
    static synchronized void end() {
        counts = false;
    }

    /** Writes what was counted. */
    static void writeLatencies(Path path) throws IOException {
        LATENCIES.write(path);
    }

    /** Sends a request of so many bytes on a stream of its own, and reads the response, of which nothing is kept. */
    static void exchange(QuicConnection connection, Load load, Load.Sizes sizes) throws IOException {
        long request = sizes.request();
        long response = sizes.response();
        // Waits until the server allows it.
        QuicStream stream = connection.createStream(true);
        long began = System.nanoTime();
        byte[] buffer = new byte[(int) Math.min(CHUNK, Math.max(request, response))];
        ByteBuffer.wrap(buffer).putLong(response);
        try (OutputStream output = stream.getOutputStream()) {
            for (long left = request; left > 0;) {
                int length = (int) Math.min(left, buffer.length);
                output.write(buffer, 0, length);
                Progress.SENT.addAndGet(length);
                left -= length;
                if (left == request - length) {
                    // The head is sent.
                    ByteBuffer.wrap(buffer).putLong(0);
                }
            }
        }
        long received = 0;
        InputStream input = stream.getInputStream();
        for (int length = input.read(buffer); length >= 0; length = input.read(buffer)) {
            received += length;
            Progress.RECEIVED.addAndGet(length);
            if (received > response) {
                break;
            }
        }
        if (received != response) {
            throw new IOException("found a response of " + received + " bytes, expected " + response);
        }
        exchanged(load, System.nanoTime() - began);
    }
}
