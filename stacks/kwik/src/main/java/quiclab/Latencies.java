package quiclab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;

import org.HdrHistogram.Histogram;

/** How long exchanges or handshakes took, in memory that does not grow. */
final class Latencies {
    /** Differences of less are not kept, in nanoseconds. */
    static final long LEAST = 1_000;
    /** An hour, in nanoseconds. What is more counts as that. */
    static final long MOST = 3_600_000_000_000L;
    /** Decimal digits of a value that are kept. */
    private static final int DIGITS = 3;

    /** Null until there is need of it: it is large. */
    private Histogram histogram;

    /** One took so many nanoseconds. */
    synchronized void record(long nanoseconds) {
        histogram().recordValue(Math.min(nanoseconds, MOST));
    }

    private Histogram histogram() {
        if (histogram == null) {
            histogram = new Histogram(LEAST, MOST, DIGITS);
        }
        return histogram;
    }

    /** Writes all of them, as base64 of the compressed serialisation, version 2. */
    synchronized void write(Path path) throws IOException {
        Histogram histogram = histogram();
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        byte[] bytes = new byte[histogram.encodeIntoCompressedByteBuffer(buffer)];
        buffer.rewind().get(bytes);
        Files.write(path, (Base64.getEncoder().encodeToString(bytes) + "\n").getBytes(StandardCharsets.US_ASCII));
    }
}
