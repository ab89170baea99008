//! Names of functions.

use std::{fs::File, path::Path};

use quiclab_symbols::FunctionNames;

/// Libraries that do nothing but cryptography, or nothing else between a handshake's end and a connection's.
const LIBRARIES: [&str; 8] = [
    "libcrypto.so",
    "libgnutls.so",
    "libnettle.so",
    "libhogweed.so",
    "libgcrypt.so",
    "libmbedcrypto.so",
    "_crypto.",
    "libssl.so",
];

/// Words in the names of functions that do cryptography: OpenSSL's, BoringSSL's, AWS-LC's, ring's, RustCrypto's and Go's.
const WORDS: [&str; 14] = [
    "aes",
    "gcm",
    "ghash",
    "gmult",
    "chacha",
    "poly1305",
    "crypto/internal",
    "sha256",
    "sha512",
    "x25519",
    "curve25519",
    "ecp_nistz",
    "p256_",
    "ml_kem",
];

/// Whether a function of this name does cryptography.
pub fn is_cryptography(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// A file with code.
pub struct Code {
    /// Device and inode.
    pub identity: (String, u64),
    path: String,
    file: File,
    /// Read when the first name is asked for.
    names: Option<FunctionNames>,
}

impl Code {
    pub fn new(identity: (String, u64), path: String, file: File) -> Self {
        Self { identity, path, file, names: None }
    }

    /// The function at this offset of the file. `None`: it has no name; many programs are stripped of them.
    pub fn name_at(&mut self, offset: u64) -> Option<String> {
        let is_library = self.is_all_cryptography();
        let file = &self.file;
        let names = self.names.get_or_insert_with(|| FunctionNames::read(file).unwrap_or_default());
        let found = names.at(offset).map(str::to_owned);
        // Its own name says enough.
        found.or_else(|| is_library.then(|| self.path.rsplit('/').next().unwrap_or_default().to_owned()))
    }

    /// Whether all of it does cryptography.
    pub fn is_all_cryptography(&self) -> bool {
        let name = Path::new(&self.path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        LIBRARIES.iter().any(|library| name.starts_with(library))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_of_all_libraries_are_cryptography_and_the_rest_is_not() {
        for name in [
            "aes_gcm_enc_update_vaes_avx2",
            "ring_core_0_17_14__aes_hw_ctr32_encrypt_blocks",
            "aws_lc_0_39_0_gcm_ghash_vpclmulqdq_avx2",
            "crypto/internal/fips140/aes/gcm.gcmAesEnc",
            "_ZN4ring4aead17chacha20_poly13054seal17h0123456789abcdefE",
            "ChaCha20_ctr32_avx2",
        ] {
            assert!(is_cryptography(name), "{name}");
        }
        for name in [
            "memcpy",
            "_ZN11quinn_proto10connection10Connection13poll_transmit17h0123456789abcdefE",
            "runtime.mallocgc",
        ] {
            assert!(!is_cryptography(name), "{name}");
        }
    }
}
