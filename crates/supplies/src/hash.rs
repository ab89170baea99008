//! Identities of files and texts: SHA-256, written in hexadecimal.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use sha2::{Digest, Sha256};

/// Digits by which things are named in folders and run identities: 64 bits, ample for what one cache ever holds.
const SHORT_DIGITS: usize = 16;

/// A running hash that can be written into.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds a part with its length, so that two parts never read as one other.
    pub fn part(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// All 64 hexadecimal digits.
    pub fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The first digits, for names.
    pub fn short(self) -> String {
        let mut hex = self.hex();
        hex.truncate(SHORT_DIGITS);
        hex
    }
}

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// SHA-256 of everything `reader` yields.
///
/// # Errors
/// Those of the reader.
pub fn of_reader(reader: &mut impl Read) -> io::Result<String> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hasher.hex()),
            count => hasher.write_all(&buffer[..count])?,
        }
    }
}

/// SHA-256 of a file.
///
/// # Errors
/// Where it cannot be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    of_reader(&mut File::open(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha_256() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_reader(&mut &b"abc"[..]).unwrap(), expected);
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Hasher::default().part(b"ab").part(b"c").hex(), Hasher::default().part(b"a").part(b"bc").hex());
    }
}
