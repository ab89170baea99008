//! A small scenario, and what tests of scenarios do with it.

use std::{fs, path::Path};

use super::{Bench, CommandOutput, TEST_STACKS, output_of};

/// Two groups, two buffers, two repetitions, a second of work.
pub const SMALL: &str = r#"
name = "small"
title = "Small"
[scenario]
duration = "3 s"
repetitions = 2
[bottleneck]
rate = "5 Mbit/s"
[flows]
congestion_control = "reno"
[flows.plain]
count = 3
[flows.paced]
count = 3
pacing = "rtt"
[matrix]
"bottleneck.buffer_bdp" = [0.25, 1]
[[figure]]
title = "Goodput"
y = "goodput_bps.plain"
[[expect]]
claim = "the link is used"
metric = "utilisation"
above = 0.3
"#;

/// Runs the file of `bench` into a folder.
pub fn run(bench: &Bench, out: &str, more: &[&str]) -> CommandOutput {
    output_of(&mut bench.run(TEST_STACKS, out, more))
}

/// The bytes of a file.
pub fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
