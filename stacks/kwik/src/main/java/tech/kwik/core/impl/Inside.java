package tech.kwik.core.impl;

import tech.kwik.core.QuicConnection;

/** What kwik knows and has no public method for; it stands in kwik's package to read its protected members. Changes nothing. */
public final class Inside {
    private Inside() {}

    /** The class of a connection's congestion controller. */
    public static String congestionController(QuicConnection connection) {
        return ((QuicConnectionImpl) connection).getSender().getCongestionController().getClass().getSimpleName();
    }

    /** The congestion window of a connection, in bytes. */
    public static long congestionWindow(QuicConnection connection) {
        return ((QuicConnectionImpl) connection).getSender().getCongestionController().getWindowSize();
    }

    /** Whether a client's connection may update its keys already. */
    public static boolean handshakeConfirmed(QuicConnection connection) {
        return ((QuicConnectionImpl) connection).handshakeState == HandshakeState.Confirmed;
    }
}
