package tech.kwik.core.impl;

import java.lang.reflect.Field;

import tech.kwik.agent15.engine.impl.TlsClientEngineImpl;
import tech.kwik.core.QuicConnection;

/** What kwik knows and has no public method for; it stands in kwik's package to read its protected members. Changes nothing. */
public final class Inside {
    private static final Field STATUS = status();

    private Inside() {}

    /** The class of a connection's congestion controller. */
    public static String congestionController(QuicConnection connection) {
        return ((QuicConnectionImpl) connection).getSender().getCongestionController().getClass().getSimpleName();
    }

    /** The congestion window of a connection, in bytes. */
    public static long congestionWindow(QuicConnection connection) {
        return ((QuicConnectionImpl) connection).getSender().getCongestionController().getWindowSize();
    }

    /** Whether a client's connection has noted that it sent its ClientHello. */
    public static boolean expectsServerHello(QuicConnection connection) {
        try {
            return !STATUS.get(((QuicClientConnectionImpl) connection).getTlsEngine()).toString().equals("Start");
        }
        catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Field status() {
        try {
            Field status = TlsClientEngineImpl.class.getDeclaredField("status");
            status.setAccessible(true);
            return status;
        }
        catch (NoSuchFieldException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Whether a client's connection may update its keys already. */
    public static boolean handshakeConfirmed(QuicConnection connection) {
        return ((QuicConnectionImpl) connection).handshakeState == HandshakeState.Confirmed;
    }
}
