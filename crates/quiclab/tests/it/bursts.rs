//! Causes of bursts in runs that were made so that the cause is known.

use std::{collections::BTreeMap, fs};

use crate::common::{Bench, REAL_STACKS, output_of};
use quiclab_metrics::RunMetrics;

/// quiche-0.24 without pacing: with GSO, packets leave in batches of one system call; without, each has its own.
#[test]
fn batches_are_found_with_segmentation_offload_and_not_without() {
    let bench = Bench::new(
        "name = \"bursts\"\ntitle = \"GSO on and off\"\n[stack]\nname = \"quiche-0.24\"\npacing = \"off\"\n\
         [workload]\nsize = \"2 MiB\"\n[matrix]\n\"stack.gso\" = [\"off\", \"on\"]\n",
    );
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let mut batches = BTreeMap::new();
    for record in fs::read_dir(bench.out("out")).unwrap() {
        let folder = record.unwrap().path();
        let Ok(metrics) = fs::read_to_string(folder.join("metrics.json")) else { continue };
        let metrics = RunMetrics::from_json(&metrics).unwrap().metrics;
        let is_on = fs::read_to_string(folder.join("run.toml")).unwrap().contains("gso = \"on\"");
        assert!(metrics.burst_share_of_packets.unwrap() > 0.0);
        assert_eq!(metrics.burst_share_late_timer, Some(0.0), "nothing was planned");
        batches.insert(is_on, metrics.burst_share_batch.unwrap());
    }
    assert_eq!(batches[&false], 0.0);
    assert!(batches[&true] > 0.2, "{batches:?}");
}
