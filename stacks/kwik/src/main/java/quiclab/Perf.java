package quiclab;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;

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

    private Perf() {}

    /** Sends a request of so many bytes on a stream of its own, and reads the response, of which nothing is kept. */
    static void exchange(QuicConnection connection, long request, long response) throws IOException {
        QuicStream stream = connection.createStream(true);
        byte[] buffer = new byte[CHUNK];
        ByteBuffer.wrap(buffer).putLong(response);
        try (OutputStream output = stream.getOutputStream()) {
            for (long left = request; left > 0;) {
                int length = (int) Math.min(left, CHUNK);
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
        Progress.EXCHANGES.incrementAndGet();
    }
}
