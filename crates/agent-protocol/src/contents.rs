//! The bytes that are transferred: incompressible, the same wherever they are made.

use std::io::{self, Read};

/// A stream of `length` bytes that follow from a seed.
///
/// The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014), its
/// outputs written little-endian: a few instructions per 8 bytes, because making them costs virtual time, and no
/// compression anywhere can shorten them.
#[derive(Clone, Debug)]
pub struct Contents {
    state: u64,
    remaining: u64,
}

impl Contents {
    /// The stream of `seed`, cut off after `length` bytes.
    pub fn new(seed: u64, length: u64) -> Self {
        Self { state: seed, remaining: length }
    }

    fn next_word(&mut self) -> [u8; 8] {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)).to_le_bytes()
    }
}

impl Read for Contents {
    /// Fills whole words only, so that the stream does not depend on how it is read; the last read may be shorter.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.len() < 8 && self.remaining > 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "contents are read in pieces of 8 bytes or more"));
        }
        let mut filled = 0;
        for chunk in buffer.chunks_exact_mut(8) {
            if self.remaining == 0 {
                break;
            }
            chunk.copy_from_slice(&self.next_word());
            let taken = self.remaining.min(8);
            self.remaining -= taken;
            filled += taken as usize;
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(mut contents: Contents, piece: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = vec![0; piece];
        loop {
            match contents.read(&mut buffer).unwrap() {
                0 => return all,
                count => all.extend(&buffer[..count]),
            }
        }
    }

    #[test]
    fn the_stream_is_that_of_splitmix64() {
        // First output for state 0, from the authors' reference implementation.
        assert_eq!(collect(Contents::new(0, 8), 8), 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
    }

    #[test]
    fn how_it_is_read_does_not_change_it() {
        let whole = collect(Contents::new(7, 1001), 4096);
        assert_eq!(whole.len(), 1001);
        for piece in [8, 13, 16, 999] {
            assert_eq!(collect(Contents::new(7, 1001), piece), whole, "pieces of {piece}");
        }
    }
}
