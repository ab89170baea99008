package quiclab;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;

import tech.kwik.core.QuicStream;
import tech.kwik.core.generic.VariableLengthInteger;
import tech.kwik.flupke.impl.ConnectionError;
import tech.kwik.flupke.impl.DataFramesReader;
import tech.kwik.flupke.impl.HeadersFrame;
import tech.kwik.qpack.Decoder;
import tech.kwik.qpack.Encoder;

/** A request of HTTP/3 as bytes for kwik's early data, made of flupke's frames: flupke itself sends none before the handshake is over. */
final class EarlyRequest {
    /** RFC 9114, section 7.2.2. */
    private static final int HEADERS = 0x01;
    /** MAX_PUSH_ID, RFC 9114, section 7.2.7: frames of other types are passed over (section 9). */
    private static final int LAST_KNOWN = 0x0d;

    private EarlyRequest() {}

    static byte[] of(URI request) {
        Map<String, String> fields = Map.of(
                ":method", "GET",
                ":scheme", "https",
                ":authority", request.getHost() + ":" + Settings.port(request),
                ":path", request.getRawPath());
        return new HeadersFrame(HttpHeaders.of(Map.of(), (name, value) -> true), fields).toBytes(Encoder.newBuilder().build());
    }

    /** Stores the body of the answer. Any status but 200 and any length but the announced one is an error. */
    static void store(QuicStream stream, URI request, Path stored) throws IOException {
        InputStream input = stream.getInputStream();
        try {
            long type;
            byte[] payload;
            do {
                type = VariableLengthInteger.parseLong(input);
                payload = input.readNBytes(VariableLengthInteger.parse(input));
            } while (type > LAST_KNOWN);
            if (type != HEADERS) {
                throw new IOException(request + ": found a frame of type " + type + ", expected HEADERS");
            }
            HeadersFrame headers = new HeadersFrame().parsePayload(payload, Decoder.newBuilder().build());
            String status = headers.getPseudoHeader(":status");
            if (!"200".equals(status)) {
                throw new IOException(request + ": found status " + status + ", expected 200");
            }
            DataFramesReader body = new DataFramesReader(input, Long.MAX_VALUE);
            long length;
            try (OutputStream output = Files.newOutputStream(stored)) {
                length = body.getDataFramesStream().transferTo(output);
            }
            body.checkForConnectionError();
            OptionalLong announced = headers.headers().firstValueAsLong("content-length");
            if (announced.isPresent() && announced.getAsLong() != length) {
                throw new IOException(request + ": found " + length + " bytes, expected " + announced.getAsLong());
            }
        }
        catch (ConnectionError error) {
            throw new IOException(request + ": " + error, error);
        }
    }
}
