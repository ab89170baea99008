//! A part of what a machine can do: its cost, or why it is not known.

use serde::{Deserialize, Serialize};

/// Why a part could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Unmeasured {
    /// The kernel refused something.
    #[error("{what}: {source}")]
    Kernel {
        /// The operation that failed.
        what: &'static str,
        /// The error of the kernel.
        source: nix::Error,
    },
    /// Datagrams were lost where none may be: their cost would be too low.
    #[error("found {found} bytes of {sent} at the receiver; expected all")]
    Lost {
        /// Bytes that arrived.
        found: u64,
        /// Bytes that were sent.
        sent: u64,
    },
    /// Cryptography failed.
    #[error("ring: unspecified error")]
    Ring,
    /// TLS failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// iperf3 is not there.
    #[error("iperf3 is not installed (Debian: apt-get install iperf3)")]
    NoIperf3,
    /// iperf3 did not measure.
    #[error("iperf3: {0}")]
    Iperf3(String),
    /// perf_event_open(2) was refused: the error's number.
    #[error(
        "perf_event_open: {}; expected root, or kernel.perf_event_paranoid of at most 0",
        std::io::Error::from_raw_os_error(*.0)
    )]
    NotPermitted(i32),
    /// Functions of the kernel cannot be told apart.
    #[error("/proc/kallsyms: found no address of a function; expected kernel.kptr_restrict of at most 1, and root")]
    KernelHidden,
    /// A thread or a socket of the standard library.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// A part, or why it is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part<T> {
    /// The measured value.
    Known(T),
    /// Nothing was.
    Unknown {
        /// Why.
        why: String,
    },
}

impl<T> Part<T> {
    /// The value, if there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown { .. } => None,
        }
    }
}

impl<T> From<Result<T, Unmeasured>> for Part<T> {
    fn from(result: Result<T, Unmeasured>) -> Self {
        result.map_or_else(|error| Self::Unknown { why: error.to_string() }, Self::Known)
    }
}

/// The cost of two ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Cost of the end that sends, in CPU nanoseconds for each byte of UDP payload.
    pub send_ns_per_byte: f64,
    /// Cost of the end that receives, in CPU nanoseconds for each byte of UDP payload.
    pub receive_ns_per_byte: f64,
}

impl Cost {
    /// Bits in a second of the slower end, with a core for each.
    pub fn bits_per_second(&self) -> f64 {
        8e9 / self.send_ns_per_byte.max(self.receive_ns_per_byte)
    }
}
