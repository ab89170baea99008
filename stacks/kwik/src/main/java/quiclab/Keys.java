package quiclab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;

/** The laboratory's certificates as Java's key stores, in memory. */
final class Keys {
    static final String ALIAS = "endpoint";
    /** Of a store that never leaves this process. */
    static final char[] PASSWORD = "none".toCharArray();

    private Keys() {}

    /** Certificate chain and ECDSA key of the server. */
    static KeyStore own(Path folder) throws IOException, GeneralSecurityException {
        String pem = Files.readString(folder.resolve("priv.key"));
        String base64 = pem.replaceAll("-----[A-Z ]*-----", "");
        PrivateKey key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(base64)));
        KeyStore store = empty();
        store.setKeyEntry(ALIAS, key, PASSWORD, certificates(folder.resolve("cert.pem")).toArray(new Certificate[0]));
        return store;
    }

    /** What the client trusts: the laboratory's authority and nothing else. */
    static KeyStore trusted(Path folder) throws IOException, GeneralSecurityException {
        KeyStore store = empty();
        for (Certificate certificate : certificates(folder.resolve("ca.pem"))) {
            store.setCertificateEntry("authority" + store.size(), certificate);
        }
        return store;
    }

    /** Of the kind that derives its password's key fastest. */
    private static KeyStore empty() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("JKS");
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path file) throws IOException, GeneralSecurityException {
        try (var stream = Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificates(stream);
        }
    }
}
