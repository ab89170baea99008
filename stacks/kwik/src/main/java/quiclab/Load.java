package quiclab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** What a client of perf does with its URLs: QUICLAB_PERF_LOAD. */
enum Load {
    /** A stream for each, all at the same time. */
    BULK,
    /** Two streams for each, all at the same time: one for each direction. */
    BIDIRECTIONAL,
    /** As many exchanges at a time as there are URLs, one after the other on one connection, until the time is over. */
    REQUESTS,
    /** As many connections at a time as there are URLs, one after the other, until the time is over. None resumes a session. */
    HANDSHAKES;

    /** Bytes on one stream, in each direction. */
    record Sizes(long request, long response) {}

    static Load of(String name, String word) throws Refused {
        for (Load load : values()) {
            if (load.word().equals(word)) {
                return load;
            }
        }
        throw Refused.notSupported(name, word, Arrays.stream(values()).map(Load::word).collect(Collectors.joining(", ")));
    }

    /** As the contract has it. */
    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether what is over is followed by another until the time is over, and latencies can be asked for. */
    boolean repeats() {
        return this == REQUESTS || this == HANDSHAKES;
    }

    /** The streams that a connection has at the same time; not of handshakes. */
    List<Sizes> plan(Sizes sizes, int urls) {
        List<Sizes> plan = new ArrayList<>();
        for (int i = 0; i < urls; i++) {
            switch (this) {
                case BULK, REQUESTS -> plan.add(sizes);
                case BIDIRECTIONAL -> {
                    plan.add(new Sizes(sizes.request(), 0));
                    plan.add(new Sizes(Perf.HEAD, sizes.response()));
                }
                case HANDSHAKES -> throw new IllegalArgumentException("one small exchange on each connection");
            }
        }
        return plan;
    }
}
