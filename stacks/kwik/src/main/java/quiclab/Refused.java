package quiclab;

/** Why the endpoint ends before it has done anything. */
final class Refused extends Exception {
    /** Well-formed, but not something this endpoint can do. */
    static final int NOT_SUPPORTED = 127;
    /** A value that means nothing. */
    static final int NOT_UNDERSTOOD = 1;

    /** The exit status that says so. */
    final int status;

    private Refused(int status, String message) {
        super(message);
        this.status = status;
    }

    static Refused notSupported(String name, String found, String supported) {
        return new Refused(NOT_SUPPORTED, name + ": found \"" + found + "\", this endpoint supports " + supported);
    }

    static Refused notUnderstood(String name, String found, String expected) {
        return new Refused(NOT_UNDERSTOOD, name + ": found \"" + found + "\", expected " + expected);
    }
}
