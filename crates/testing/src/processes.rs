//! Other processes, and waiting for what they do.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// Time after which a test hangs: nothing that tests wait for takes a tenth of it on an idle machine.
const HANG: Duration = Duration::from_secs(300);
/// Time between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until `condition` holds.
///
/// # Panics
/// Where it does not within five minutes. The limit measures nothing, it only ends a hang.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < HANG, "hung: waited five minutes for {what}");
        thread::sleep(POLL_INTERVAL);
    }
}

/// Command lines of all processes that have `needle` in them or in their working directory, this one left out.
pub fn processes_with(needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.parse::<u32>().is_ok_and(|number| number != std::process::id()) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            // Virtual machines work in the folder of their run, with names that are relative to it.
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            if line.contains(needle) || folder.to_string_lossy().contains(needle) {
                found.push(line);
            }
        }
    }
    found
}
