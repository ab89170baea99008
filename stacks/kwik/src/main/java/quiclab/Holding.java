package quiclab;

import java.nio.ByteBuffer;
import java.util.concurrent.locks.LockSupport;

import tech.kwik.core.QuicConnection;
import tech.kwik.core.impl.Inside;
import tech.kwik.core.log.NullLogger;

/**
 * Holds back the first packets of a server until the client expects them. kwik gives its ClientHello to its sender thread, and only then
 * agent15 notes that it waits for an answer; a ServerHello that comes between is dropped in silence, and the handshake never ends. With a
 * server on the same machine that is about one in fifty. A logger is the only thing of the endpoint's that kwik calls before it processes a
 * datagram.
 */
final class Holding extends NullLogger {
    /** Nanoseconds between two looks. */
    private static final long PAUSE = 20_000;

    private volatile QuicConnection connection;
    /** True once there is nothing to be held back. */
    private volatile boolean expects;

    /** To be called before it connects. */
    void of(QuicConnection connection) {
        this.connection = connection;
    }

    @Override
    public void raw(String message, ByteBuffer data, int offset, int length) {
        // kwik logs in other threads too, which ClientHello needs.
        if (!expects && Thread.currentThread().getName().equals("receiver-loop")) {
            while (!Inside.expectsServerHello(connection) && !Thread.currentThread().isInterrupted()) {
                LockSupport.parkNanos(PAUSE);
            }
            expects = true;
        }
    }
}
