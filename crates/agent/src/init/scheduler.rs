//! Makes the guest's one CPU stand in for the server's and the client's.
//!
//! By default a task that wakes up waits until the running one has had some 3 ms: on one CPU a server that encrypts a
//! megabyte keeps the client from reading, and its acknowledgments come in lumps that two hosts would never send.
//! With small slices each side waits for at most a fraction of a packet's time on the wire.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

/// Where the kernel has the scheduler's settings, once debugfs is mounted.
const FOLDER: &str = "/sys/kernel/debug/sched";
/// The smallest slice that the kernel takes is 0.1 ms. Kernels before 6.6 have the first four files, later ones the fifth.
const SETTINGS: &[(&str, &str)] = &[
    ("tunable_scaling", "0"),
    ("min_granularity_ns", "100000"),
    ("latency_ns", "100000"),
    ("wakeup_granularity_ns", "0"),
    ("base_slice_ns", "100000"),
    // Slices end by a timer of their own and not by the tick, which comes every 4 ms.
    ("features", "HRTICK"),
];

/// Sets the slices. debugfs must be mounted.
///
/// # Errors
/// Where the kernel has none of the settings, or refuses one.
pub fn set_slices() -> Result<()> {
    let mut found = 0;
    for (name, value) in SETTINGS {
        let path = Path::new(FOLDER).join(name);
        if path.exists() {
            fs::write(&path, value).with_context(|| path.display().to_string())?;
            found += 1;
        }
    }
    ensure!(found > 2, "{FOLDER}: found no scheduler settings, expected min_granularity_ns or base_slice_ns");
    Ok(())
}
