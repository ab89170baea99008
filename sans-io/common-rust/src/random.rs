//! Everything random, from one seed.

use std::{fmt, sync::Mutex};

use rand_chacha::{
    ChaCha20Rng,
    rand_core::{RngCore, SeedableRng},
};
use ring::hmac;

// Not for documentation: rustdoc has flags of its own.
#[cfg(not(any(doc, getrandom_backend = "custom")))]
compile_error!(
    "expected the flags `--cfg getrandom_backend=\"custom\"`, in .cargo/config.toml or CARGO_ENCODED_RUSTFLAGS: \
     without them libraries take random bytes of the operating system, and no run is repeatable"
);

/// The variable that has the seed.
pub const VARIABLE: &str = "QUICLAB_SEED";

/// What everything random of a program follows from.
#[derive(Clone)]
pub struct Seed {
    bytes: [u8; 32],
    role: String,
}

/// A seed that is not 64 hexadecimal digits.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE}: found {found:?}, expected 64 hexadecimal digits")]
pub struct SeedError {
    found: String,
}

impl Seed {
    /// Reads `QUICLAB_SEED`. Two roles with one seed have nothing in common: `ROLE` counts, too.
    ///
    /// # Errors
    /// Where it is not set, or not 64 hexadecimal digits.
    pub fn from_environment() -> Result<Self, SeedError> {
        let value = |name| std::env::var(name).unwrap_or_default();
        Self::parse(&value(VARIABLE), &value("ROLE"))
    }

    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn parse(text: &str, role: &str) -> Result<Self, SeedError> {
        let error = || SeedError { found: text.to_owned() };
        let digits = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<_>>>().ok_or_else(error)?;
        if digits.len() != 64 {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (pair[0] << 4 | pair[1]) as u8;
        }
        Ok(Self { bytes, role: role.to_owned() })
    }

    /// The seed of the endpoint that is started anew after this one, for the `number`-th time.
    pub fn next(&self, number: u64) -> Self {
        Self { bytes: self.key(&format!("anew {number}")), role: self.role.clone() }
    }

    /// A generator for one purpose: it gives the same from run to run, whatever others are used for.
    pub fn stream(&self, purpose: &str) -> ChaCha20Rng {
        ChaCha20Rng::from_seed(self.key(purpose))
    }

    /// 32 bytes for one purpose.
    pub fn key(&self, purpose: &str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.bytes);
        let tag = hmac::sign(&key, format!("{}\0{purpose}", self.role).as_bytes());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(tag.as_ref());
        bytes
    }
}

impl fmt::Debug for Seed {
    /// Without the bytes: keys follow from them.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Seed").field("role", &self.role).finish_non_exhaustive()
    }
}

/// What the crate getrandom gives, of whoever asks; `None`: nobody has asked yet.
static AMBIENT: Mutex<Option<ChaCha20Rng>> = Mutex::new(None);

/// What libraries get from the crate getrandom follows from this seed from now on.
pub fn begin(seed: &Seed) {
    *AMBIENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(seed.stream("getrandom"));
}

/// Fills `bytes` with what libraries get from the crate getrandom.
///
/// # Errors
/// Where the environment has no seed.
pub fn fill_ambient(bytes: &mut [u8]) -> Result<(), SeedError> {
    let mut ambient = AMBIENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let generator = match &mut *ambient {
        Some(generator) => generator,
        none => none.insert(Seed::from_environment()?.stream("getrandom")),
    };
    generator.fill_bytes(bytes);
    Ok(())
}

/// The custom backend of the crate getrandom, versions 0.3 and 0.4:
/// <https://docs.rs/getrandom/0.4.3/getrandom/#custom-backend>.
///
/// # Safety
/// `bytes` is valid for writes of `length` bytes.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(bytes: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // SAFETY: by contract the pointer is valid for writes of that many bytes; they need not be initialised yet.
    let bytes = unsafe {
        std::ptr::write_bytes(bytes, 0, length);
        std::slice::from_raw_parts_mut(bytes, length)
    };
    fill_ambient(bytes).map_err(|_| getrandom::Error::UNSUPPORTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(role: &str) -> Seed {
        Seed::parse(&"0123456789abcdef".repeat(4), role).unwrap()
    }

    #[test]
    fn a_seed_is_64_hexadecimal_digits() {
        assert_eq!(seed("client").bytes[..9], [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01]);
        for text in [String::new(), "0".repeat(63), "0".repeat(65), "g".repeat(64), "é".repeat(32), "+".repeat(64)] {
            let error = Seed::parse(&text, "").unwrap_err();
            assert_eq!(error, SeedError { found: text });
        }
    }

    #[test]
    fn streams_have_nothing_in_common_and_repeat() {
        let first = |seed: &Seed, purpose| seed.stream(purpose).next_u64();
        let client = seed("client");
        assert_eq!(first(&client, "tls"), first(&client, "tls"));
        assert_ne!(first(&client, "tls"), first(&client, "quic"));
        assert_ne!(first(&client, "tls"), first(&seed("server"), "tls"));
        assert_ne!(client.key("tls"), client.key("quic"));
    }

    #[test]
    fn each_start_has_a_seed_of_its_own() {
        let first = seed("client");
        let [second, third] = [first.next(1), first.next(1).next(2)];
        assert_eq!(second.bytes, seed("client").next(1).bytes);
        assert!(
            first.bytes != second.bytes && second.bytes != third.bytes && second.bytes != seed("server").next(1).bytes
        );
    }

    #[test]
    fn the_crate_getrandom_asks_here() {
        // Without a seed in the environment there is nothing, above all nothing of the operating system.
        let mut bytes = [0; 8];
        assert_eq!(getrandom::fill(&mut bytes), Err(getrandom::Error::UNSUPPORTED));
    }
}
