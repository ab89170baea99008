package quiclab;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;

/** The laboratory's certificates as a key store of Java's, in memory. */
final class Trust {
    private Trust() {}

    /** What the client trusts: the laboratory's authority and nothing else. */
    static KeyStore of(Path folder) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("JKS");
        store.load(null, null);
        try (InputStream stream = Files.newInputStream(folder.resolve("ca.pem"))) {
            for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(stream)) {
                store.setCertificateEntry("authority" + store.size(), certificate);
            }
        }
        return store;
    }
}
