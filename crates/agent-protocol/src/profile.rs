//! Where an endpoint spent its CPU time, by function.

use serde::{Deserialize, Serialize};

/// File of a role's [`Profile`], below its folder of logs.
pub const PROFILE: &str = "profile.json";
/// Most bytes of a profile that anything reads.
pub const MOST_PROFILE_BYTES: u64 = 16 << 20;

/// Samples of one endpoint, with its threads and children, from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// CPU time between two samples.
    pub period_ns: u64,
    /// CPU time by the kernel's counter, which the samples stand for.
    pub cpu_ns: u64,
    /// How many samples were kept; those of all functions together.
    pub samples: u64,
    /// Functions, those with most samples first.
    pub functions: Vec<FunctionSamples>,
    /// What is missing, and what to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Samples in one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSamples {
    /// Path of the program or library, as the endpoint sees it; [`KERNEL`] for the kernel.
    pub program: String,
    /// Name of the function; `None` where the program has no symbol for the place.
    pub function: Option<String>,
    /// How many samples.
    pub samples: u64,
}

/// Program of samples that were taken in the kernel.
pub const KERNEL: &str = "[kernel]";
