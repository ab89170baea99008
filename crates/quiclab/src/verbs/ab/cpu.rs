//! CPU time by function of both sides, where the runs were sampled.

use std::path::Path;

use quiclab_record::profile;
use quiclab_report::{Comparison, Key, Pair, ReportInput, RunRow, SeededProfiles};

use super::folders::record_of;

/// Adds the CPU time of both endpoints to the comparison of two inputs, whose records are in the folders of A and of B.
pub fn add(comparison: &mut Comparison, inputs: &[ReportInput; 2], keys: [Key; 2], folders: [&Path; 2]) {
    comparison.attribute_cpu_time(|pair: &Pair, role, side| -> SeededProfiles {
        let was_sampled = |run: &&RunRow| run.run.settings.tap.profile && keys[side](&run.run.settings) == pair.key;
        let of_run = |run: &RunRow| {
            let record = record_of(folders[side], run).map_err(|error| format!("{error:#}"));
            (run.run.seed, record.and_then(|record| profile(&record, role)))
        };
        inputs[side].runs.iter().filter(was_sampled).map(of_run).collect()
    });
}
