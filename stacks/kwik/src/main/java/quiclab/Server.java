package quiclab;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import tech.kwik.core.QuicConnection;
import tech.kwik.core.QuicStream;
import tech.kwik.core.concurrent.DaemonThreadFactory;
import tech.kwik.core.log.NullLogger;
import tech.kwik.core.server.ApplicationProtocolConnection;
import tech.kwik.core.server.ApplicationProtocolConnectionFactory;
import tech.kwik.core.server.ServerConnectionConfig;
import tech.kwik.core.server.ServerConnector;
import tech.kwik.flupke.server.Http3ApplicationProtocolFactory;
import tech.kwik.flupke.server.HttpServerRequest;
import tech.kwik.flupke.server.HttpServerResponse;

/** The server: files of one folder, over as many connections as come. */
final class Server {
    /** Requests of a connection that may be open at the same time; kwik raises the limit as they finish. */
    private static final int STREAMS = 100;
    /** Bytes of a body that are read and handed to kwik at once; with HTTP/3, a DATA frame. */
    private static final int CHUNK = 64 * 1024;
    /** H3_REQUEST_CANCELLED; HTTP/0.9 has neither a status nor codes of its own. */
    private static final long NOT_FOUND = 0x10c;
    private static final int LONGEST_REQUEST = 4096;

    private final Path www;

    private Server(Path www) {
        this.www = www;
    }

    /** Starts kwik's threads, which answer until the process is killed. */
    static void serve(Settings settings) throws IOException, GeneralSecurityException {
        ServerConnectionConfig configuration = ServerConnectionConfig.builder()
                .maxIdleTimeoutInSeconds(Main.IDLE_TIMEOUT)
                .maxBidirectionalStreamBufferSize(1 << 20)
                .maxUnidirectionalStreamBufferSize(1 << 20)
                .maxConnectionBufferSize(Main.STREAM_WINDOW)
                .maxOpenPeerInitiatedBidirectionalStreams(STREAMS)
                .maxOpenPeerInitiatedUnidirectionalStreams(10)
                .retryRequired(settings.testCase.equals("retry"))
                .build();
        ServerConnector connector = ServerConnector.builder()
                .withSocket(Main.socket(settings, settings.port))
                .withKeyStore(Keys.own(settings.certs), Keys.ALIAS, Keys.PASSWORD)
                .withSupportedVersions(settings.testCase.equals("v2")
                        ? List.of(QuicConnection.QuicVersion.V1, QuicConnection.QuicVersion.V2)
                        : List.of(QuicConnection.QuicVersion.V1))
                .withConfiguration(configuration)
                .withLogger(new NullLogger())
                .build();
        Server server = new Server(settings.www.toRealPath());
        if (settings.http3) {
            connector.registerApplicationProtocol(Main.H3, new Http3ApplicationProtocolFactory(server::answer));
        }
        else {
            connector.registerApplicationProtocol(Main.HQ, server.new Hq());
        }
        connector.start();
    }

    /** HTTP/3: flupke calls this on a thread of the request's own. */
    private void answer(HttpServerRequest request, HttpServerResponse response) throws IOException {
        Path file = request.method().equals("GET") ? inside(request.path()) : null;
        if (file == null) {
            response.setStatus(404);
            return;
        }
        response.setStatus(200);
        response.addHeader("content-length", Long.toString(Files.size(file)));
        copy(file, response.getOutputStream());
    }

    /** HTTP/0.9 over QUIC. */
    private final class Hq implements ApplicationProtocolConnectionFactory {
        // A blocked answer must not hold up another one: a thread for each open request.
        private final ExecutorService threads = Executors.newCachedThreadPool(new DaemonThreadFactory("hq"));

        @Override
        public ApplicationProtocolConnection createConnection(String protocol, QuicConnection connection) {
            Main.reportCongestionControl(connection);
            return new ApplicationProtocolConnection() {
                @Override
                public void acceptPeerInitiatedStream(QuicStream stream) {
                    threads.execute(() -> answer(stream));
                }
            };
        }

        @Override
        public int maxConcurrentPeerInitiatedUnidirectionalStreams() {
            return 0;
        }

        @Override
        public int maxConcurrentPeerInitiatedBidirectionalStreams() {
            return STREAMS;
        }

        private void answer(QuicStream stream) {
            try (InputStream input = stream.getInputStream()) {
                String request = new String(input.readNBytes(LONGEST_REQUEST), StandardCharsets.ISO_8859_1).strip();
                Path file = request.startsWith("GET ") ? inside(request.substring(4).strip()) : null;
                if (file == null) {
                    stream.resetStream(NOT_FOUND);
                    return;
                }
                try (OutputStream output = stream.getOutputStream()) {
                    copy(file, output);
                }
            }
            catch (IOException error) {
                // The client is gone, or does not want the answer: no fault of the server's.
                System.err.println(error);
            }
        }
    }

    private static void copy(Path file, OutputStream output) throws IOException {
        byte[] chunk = new byte[CHUNK];
        try (InputStream input = Files.newInputStream(file)) {
            for (int length = input.read(chunk); length > 0; length = input.read(chunk)) {
                output.write(chunk, 0, length);
            }
        }
    }

    /** The regular file that a path names, null where there is none in the folder, links followed. */
    private Path inside(String path) {
        try {
            Path file = www.resolve(path.replaceFirst("\\?.*", "").replaceFirst("^/+", "")).toRealPath();
            return file.startsWith(www) && Files.isRegularFile(file) ? file : null;
        }
        catch (IOException | InvalidPathException error) {
            return null;
        }
    }
}
