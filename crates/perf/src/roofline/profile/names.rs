//! Names of functions.

use std::{
    fs::File,
    io::{Read, Seek},
    path::Path,
};

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// Largest file that is read for its names. Those of Java's virtual machine have 30 MB.
const MOST_BYTES: u64 = 256 << 20;

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

/// A name for people: without the mangling of Rust, and without its hash.
pub fn shown(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// A file with code.
pub struct Code {
    /// Device and inode.
    pub identity: (String, u64),
    path: String,
    file: File,
    /// Read when the first name is asked for.
    names: Option<Names>,
}

impl Code {
    pub fn new(identity: (String, u64), path: String, file: File) -> Self {
        Self { identity, path, file, names: None }
    }

    /// The function at this offset of the file. `None`: it has no name; many programs are stripped of them.
    pub fn name_at(&mut self, offset: u64) -> Option<String> {
        let is_library = self.is_all_cryptography();
        let file = &mut self.file;
        let names = self.names.get_or_insert_with(|| Names::read(file).unwrap_or_default());
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

#[derive(Default)]
struct Names {
    /// Offset in the file, length and address of each segment.
    segments: Vec<(u64, u64, u64)>,
    /// Address, length (0: not known) and name, in the order of addresses.
    functions: Vec<(u64, u64, String)>,
}

impl Names {
    /// Reads the names of an ELF file. `None`: it is something else.
    fn read(file: &mut File) -> Option<Self> {
        let mut bytes = Vec::new();
        file.rewind().ok()?;
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let elf = object::File::parse(bytes).ok()?;
        let segments = elf.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        });
        let symbols = elf.symbols().chain(elf.dynamic_symbols());
        let functions = symbols.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
        let named = functions.filter_map(|one| Some((one.address(), one.size(), one.name().ok()?.to_owned())));
        let mut functions: Vec<_> = named.filter(|(_, _, name)| !name.is_empty()).collect();
        functions.sort();
        Some(Self { segments: segments.collect(), functions })
    }

    fn at(&self, offset: u64) -> Option<&str> {
        let inside = |(start, length, _): &&(u64, u64, u64)| offset >= *start && offset - *start < *length;
        let (start, _, address) = self.segments.iter().find(inside)?;
        let address = (offset - start).checked_add(*address)?;
        let last = self.functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (start, length, name) = &self.functions[last];
        (*length == 0 || address - start < *length).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn a_symbol_ends_where_its_length_says() {
        let function = |address, length, name: &str| (address, length, name.to_owned());
        let names = Names {
            segments: vec![(0x1000, 0x1000, 0x40_1000)],
            functions: vec![function(0x40_1010, 0x20, "one"), function(0x40_1100, 0, "two")],
        };
        assert_eq!(names.at(0x1010), Some("one"));
        assert_eq!((names.at(0x100f), names.at(0x1030), names.at(0x2000)), (None, None, None));
        assert_eq!(names.at(0x1fff), Some("two"), "its length is not known");
    }

    #[test]
    fn names_are_for_people() {
        assert_eq!(shown("_ZN5quinn10connection4poll17h0123456789abcdefE"), "quinn::connection::poll");
        assert_eq!(shown("main.serve"), "main.serve");
    }

    proptest! {
        /// A program that is measured can be any file.
        #[test]
        fn no_file_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), offset: u64, is_elf: bool) {
            let mut bytes = bytes;
            if is_elf {
                bytes.splice(0..0, *b"\x7fELF\x02\x01\x01\0");
            }
            if let Some(names) = Names::parse(&bytes) {
                let _ = names.at(offset);
            }
        }
    }
}
