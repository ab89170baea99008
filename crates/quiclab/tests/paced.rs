//! Paced segmentation offload: the kernel module is built against Debian's headers and runs in the guest.

mod common;

use std::{collections::BTreeMap, fs};

use common::{Bench, REAL_STACKS, said};
use quiclab_metrics::RunMetrics;

/// quiche-0.24 plans the times that the module computes: they are the same formula, so the tap must see what was planned.
#[test]
fn the_segments_of_a_buffer_leave_at_times_of_their_own() {
    let bench = Bench::new(
        "name = \"paced\"\ntitle = \"GSO with and without pacing\"\n[stack]\nname = \"quiche-0.24\"\n\
         [workload]\nsize = \"2 MiB\"\n[tap]\nsend_sizes = true\n[matrix]\n\"stack.gso\" = [\"on\", \"paced\"]\n\
         \"path.ip\" = [\"4\", \"6\"]\n\"hosts.server_qdisc\" = [\"none\", \"fq\"]\n",
    );
    let told = said(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(told.status, Some(0), "{}", told.errors);
    let mut runs = BTreeMap::new();
    for record in fs::read_dir(bench.out("out")).unwrap() {
        let folder = record.unwrap().path();
        let Ok(metrics) = fs::read_to_string(folder.join("metrics.json")) else { continue };
        let settings = fs::read_to_string(folder.join("run.toml")).unwrap();
        let has = |text: &str| settings.contains(text);
        let key = (has("gso = \"paced\""), has("ip = \"6\""), has("kind = \"fq\""));
        let sizes = fs::read_to_string(folder.join("path.json")).unwrap();
        runs.insert(key, (RunMetrics::from_json(&metrics).unwrap(), sizes));
    }
    assert_eq!(runs.len(), 8);
    for ((is_paced, is_ipv6, has_fq), (run, sizes)) in &runs {
        let which = format!("paced {is_paced}, IPv6 {is_ipv6}, fq {has_fq}: {:?}", run.warnings);
        let metrics = &run.metrics;
        // Both hand over buffers that are longer than a frame.
        let report: serde_json::Value = serde_json::from_str(sizes).unwrap();
        let longest = report["send_sizes"].as_object().unwrap().keys().map(|key| key.parse::<u64>().unwrap()).max();
        assert!(longest.unwrap() > 5_000, "{which}: {longest:?}");
        if !is_paced {
            continue;
        }
        let plain = &runs[&(false, *is_ipv6, *has_fq)].0.metrics;
        let alone = [metrics, plain].map(|metrics| metrics.train_share_of_packets_1.unwrap());
        assert!(alone[0] > 0.8 && alone[1] < 0.5, "{which}: packets alone {alone:?}");
        assert_eq!(metrics.train_share_of_packets_le_5, Some(1.0), "{which}");
        let (samples, packets) = (metrics.precision_samples.unwrap(), metrics.packets_sent.unwrap());
        assert!(samples * 100 > packets * 95, "{which}: the plans of {samples} of {packets} packets");
        // One CPU for both hosts delays a packet by some 0.1 ms at times; without pacing a segment is milliseconds off.
        let precision = [metrics, plain].map(|metrics| metrics.precision_sd_ns.unwrap());
        assert!(precision[0] < 400_000.0 && precision[1] > 800_000.0, "{which}: precision {precision:?}");
    }
}
