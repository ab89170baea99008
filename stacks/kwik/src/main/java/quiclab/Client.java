package quiclab;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Inet6Address;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import tech.kwik.agent15.TlsConstants.CipherSuite;
import tech.kwik.core.ConnectionListener;
import tech.kwik.core.ConnectionTerminatedEvent;
import tech.kwik.core.QuicClientConnection;
import tech.kwik.core.QuicClientConnection.StreamEarlyData;
import tech.kwik.core.QuicConnection.QuicVersion;
import tech.kwik.core.QuicSessionTicket;
import tech.kwik.core.QuicStream;
import tech.kwik.core.concurrent.DaemonThreadFactory;
import tech.kwik.core.impl.Inside;
import tech.kwik.core.impl.QuicClientConnectionImpl;
import tech.kwik.flupke.impl.Http3ClientConnectionImpl;

/** The client: fetches all URLs over one connection, or over two where the test case is about sessions. */
final class Client {
    /** That a server which does not answer is given, and a session ticket. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    /** For kwik's sender to send CONNECTION_CLOSE. Nobody waits for the end of the closing period. */
    private static final Duration CLOSING = Duration.ofMillis(50);
    /** For handshakes that have begun when the time of perf is over. */
    private static final Duration FINISHING = Duration.ofMillis(200);
    /** Most requests at the same time: each has a thread, flupke starts another one for its response, and an endpoint may have 256 in the guest. */
    private static final int MAX_REQUEST_THREADS = 100;

    private final Settings settings;
    private final KeyStore trust;
    /** True where no handshake follows any more. */
    private volatile boolean isOver;
    private final ExecutorService threads = Executors.newCachedThreadPool(new DaemonThreadFactory("client"));

    private Client(Settings settings) throws IOException, GeneralSecurityException {
        this.settings = settings;
        trust = Trust.of(settings.certs);
    }

    /** Fetches everything; throws at the first thing that goes wrong. */
    static void fetchAll(Settings settings) throws IOException, GeneralSecurityException {
        Client client = new Client(settings);
        List<URI> requests = settings.requests;
        if (settings.load == Load.HANDSHAKES) {
            client.shakeHands();
        }
        else if (settings.twoConnections()) {
            QuicSessionTicket ticket = client.fetch(requests.subList(0, 1), null, true);
            client.fetch(requests.subList(1, requests.size()), ticket, false);
        }
        else {
            client.fetch(requests, null, false);
        }
    }

    /** Opens connections, one after the other, as many at a time as there are URLs. */
    private void shakeHands() throws IOException {
        Callable<Void> oneAfterTheOther = () -> {
            while (!isOver) {
                fetch(settings.requests.subList(0, 1), null, false);
            }
            return null;
        };
        ExecutorService running = run(Collections.nCopies(settings.requests.size(), oneAfterTheOther), settings.requests.size());
        isOver = true;
        running.shutdown();
        try {
            // So that the server knows all that are counted, and no others.
            running.awaitTermination(FINISHING.toNanos(), TimeUnit.NANOSECONDS);
        }
        catch (InterruptedException error) {
            throw new IOException(error);
        }
    }

    /** Opens a connection, fetches the requests and closes it. Returns a session ticket if asked for one. */
    private QuicSessionTicket fetch(List<URI> requests, QuicSessionTicket session, boolean wantsTicket)
            throws IOException, GeneralSecurityException {
        Path secrets = settings.keyLog == null ? null : Files.createTempFile("secrets", null);
        QuicClientConnection connection = open(requests.get(0), session, secrets);
        Main.reportCongestionControl(connection);
        connection.setConnectionListener(new ConnectionListener() {
            @Override
            public void disconnected(ConnectionTerminatedEvent event) {
                // What the streams throw says nothing of the cause.
                if (event.hasError() || event.closeReason() != ConnectionTerminatedEvent.CloseReason.ImmediateClose) {
                    System.err.println("connection ended: " + event.closeReason() + ", " + event.errorDescription());
                }
            }
        });
        try {
            boolean early = session != null && settings.testCase.equals("zerortt");
            List<URI> first = early ? requests.subList(0, Math.min(requests.size(), settings.streams)) : List.of();
            List<StreamEarlyData> earlyData = new ArrayList<>();
            for (URI request : first) {
                earlyData.add(new StreamEarlyData(settings.http3 ? EarlyRequest.of(request) : hqRequest(request), true));
            }
            long began = System.nanoTime();
            List<QuicStream> opened = connection.connect(earlyData);
            Perf.connected(connection, settings.load, System.nanoTime() - began);
            if (early && ((QuicClientConnectionImpl) connection).getEarlyDataStatus() == QuicClientConnectionImpl.EarlyDataStatus.Refused) {
                throw new IOException("second connection: the server did not take the early data");
            }
            if (settings.testCase.equals("keyupdate")) {
                await("no confirmed handshake", () -> Inside.handshakeConfirmed(connection));
                ((QuicClientConnectionImpl) connection).updateKeys();
            }
            if (settings.load == Load.HANDSHAKES) {
                Perf.exchange(connection, settings.load, Perf.SMALLEST);
            }
            else if (settings.isPerf()) {
                carry(connection);
            }
            else {
                requestAll(connection, requests, opened);
            }
            if (wantsTicket) {
                await("no session ticket", () -> !connection.getNewSessionTickets().isEmpty());
                return connection.getNewSessionTickets().get(0);
            }
            return null;
        }
        finally {
            if (connection.isConnected()) {
                if (settings.load == Load.HANDSHAKES && !isOver) {
                    // The process goes on, so kwik's sender has its time.
                    connection.close();
                }
                else {
                    connection.closeAndWait(CLOSING);
                }
            }
            if (secrets != null) {
                Files.write(settings.keyLog, Files.readAllBytes(secrets), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                Files.delete(secrets);
            }
        }
    }

    private QuicClientConnection open(URI server, QuicSessionTicket session, Path secrets) throws IOException {
        boolean version2 = settings.testCase.equals("v2");
        QuicClientConnection.Builder builder = QuicClientConnection.newBuilder()
                .host(server.getHost())
                .port(Settings.port(server))
                .applicationProtocol(settings.isPerf() ? Perf.ALPN : settings.http3 ? Main.H3 : Main.HQ)
                .initialVersion(QuicVersion.V1)
                .connectTimeout(PATIENCE)
                .maxIdleTimeout(Duration.ofSeconds(Main.IDLE_TIMEOUT))
                .defaultStreamReceiveBufferSize(Main.STREAM_WINDOW)
                .customTrustStore(trust)
                .socketFactory(this::socket);
        // Only a preference: the family is checked where the socket is made.
        builder = settings.ipv6 ? builder.preferIPv6() : builder.preferIPv4();
        if (version2) {
            builder.preferredVersion(QuicVersion.V2);
        }
        if (settings.testCase.equals("chacha20")) {
            builder.cipherSuite(CipherSuite.TLS_CHACHA20_POLY1305_SHA256);
        }
        if (session != null) {
            builder.sessionTicket(session);
        }
        if (secrets != null) {
            builder.secrets(secrets);
        }
        if (!settings.isPerf()) {
            return builder.build();
        }
        Holding holding = new Holding();
        QuicClientConnection connection = builder.logger(holding).build();
        holding.of(connection);
        return connection;
    }

    private java.net.DatagramSocket socket(InetAddress server) throws SocketException {
        if (server instanceof Inet6Address != settings.ipv6) {
            throw new SocketException("found only " + server + ", expected an address of IPv" + (settings.ipv6 ? 6 : 4));
        }
        try {
            return Main.socket(settings);
        }
        catch (IOException error) {
            throw new SocketException(error.toString());
        }
    }

    /** The exchanges of perf, but those of handshakes, on one connection. */
    private void carry(QuicClientConnection connection) throws IOException {
        List<Callable<Void>> exchanges = new ArrayList<>();
        for (Load.Sizes sizes : settings.load.plan(settings.perfSizes, settings.requests.size())) {
            exchanges.add(() -> {
                do {
                    Perf.exchange(connection, settings.load, sizes);
                } while (settings.load.repeats());
                return null;
            });
        }
        // Whatever is not complete when the time is over ends with the connection.
        run(exchanges, exchanges.size());
    }

    /** As many requests at the same time as settings, server and threads allow; the first ones may be open already. */
    private void requestAll(QuicClientConnection connection, List<URI> requests, List<QuicStream> opened) throws IOException {
        Http3ClientConnectionImpl http3 = null;
        if (settings.http3) {
            http3 = new Http3ClientConnectionImpl(connection, threads);
            http3.connect();
        }
        List<Callable<Void>> fetches = new ArrayList<>();
        for (int i = 0; i < requests.size(); i++) {
            URI request = requests.get(i);
            QuicStream early = i < opened.size() ? opened.get(i) : null;
            Http3ClientConnectionImpl over = http3;
            fetches.add(() -> {
                if (over != null && early != null) {
                    EarlyRequest.store(early, request, settings.stored(request));
                }
                else if (over != null) {
                    fetchHttp3(over, request);
                }
                else {
                    fetchHq(early != null ? early : send(connection, request), request);
                }
                return null;
            });
        }
        run(fetches, MAX_REQUEST_THREADS);
    }

    /** Runs tasks, as many at the same time as settings and `most` allow, until all are done or the time of perf is over. Returns what runs them. */
    private ExecutorService run(List<Callable<Void>> tasks, int most) throws IOException {
        int together = Math.min(Math.min(tasks.size(), settings.streams), most);
        ExecutorService pool = Executors.newFixedThreadPool(together, new DaemonThreadFactory("request"));
        CompletionService<Void> running = new ExecutorCompletionService<>(pool);
        long deadline = System.nanoTime() + settings.perfDuration.toNanos();
        tasks.forEach(running::submit);
        try {
            for (int left = tasks.size(); left > 0; left--) {
                Future<Void> done = settings.perfDuration.isZero() ? running.take()
                        : running.poll(Math.max(deadline - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
                if (done == null) {
                    break;
                }
                done.get();
            }
        }
        catch (ExecutionException error) {
            throw new IOException(error.getCause());
        }
        catch (InterruptedException error) {
            throw new IOException(error);
        }
        return pool;
    }

    private void fetchHttp3(Http3ClientConnectionImpl connection, URI request) throws IOException {
        Path stored = settings.stored(request);
        HttpResponse<Path> response = connection.send(HttpRequest.newBuilder(request).build(), answer -> answer.statusCode() == 200
                ? HttpResponse.BodySubscribers.ofFile(stored)
                : HttpResponse.BodySubscribers.replacing(stored));
        if (response.statusCode() != 200) {
            throw new IOException(request + ": found status " + response.statusCode() + ", expected 200");
        }
        OptionalLong announced = response.headers().firstValueAsLong("content-length");
        if (announced.isPresent() && announced.getAsLong() != Files.size(stored)) {
            throw new IOException(request + ": found " + Files.size(stored) + " bytes, expected " + announced.getAsLong());
        }
    }

    private static QuicStream send(QuicClientConnection connection, URI request) throws IOException {
        QuicStream stream = connection.createStream(true);
        OutputStream output = stream.getOutputStream();
        output.write(hqRequest(request));
        output.close();
        return stream;
    }

    private void fetchHq(QuicStream stream, URI request) throws IOException {
        try (InputStream input = stream.getInputStream(); OutputStream output = Files.newOutputStream(settings.stored(request))) {
            input.transferTo(output);
        }
    }

    private static byte[] hqRequest(URI request) {
        return ("GET " + request.getRawPath() + "\r\n").getBytes(StandardCharsets.ISO_8859_1);
    }

    /** kwik tells nobody when these things happen. */
    private static void await(String otherwise, BooleanSupplier happened) throws IOException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!happened.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IOException(otherwise + " after " + PATIENCE.toSeconds() + " s");
            }
            try {
                Thread.sleep(1);
            }
            catch (InterruptedException error) {
                throw new UncheckedIOException(new IOException(error));
            }
        }
    }
}
