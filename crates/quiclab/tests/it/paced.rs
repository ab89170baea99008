//! Paced segmentation offload: the kernel module is built against Debian's headers and runs in the guest, and the kernel patch does the same.

use std::{collections::BTreeMap, fs};

use crate::common::{Bench, REAL_STACKS, output_of};
use quiclab_metrics::RunMetrics;

/// quiche-0.24 plans the times that the module computes: they are the same formula, so the tap must see what was planned.
#[test]
fn the_segments_of_a_buffer_leave_at_times_of_their_own() {
    let bench = Bench::new(
        "name = \"paced\"\ntitle = \"GSO with and without pacing\"\n[stack]\nname = \"quiche-0.24\"\n\
         [workload]\nsize = \"2 MiB\"\n[tap]\nsend_sizes = true\n[matrix]\n\"stack.gso\" = [\"on\", \"paced\"]\n\
         \"path.ip\" = [\"4\", \"6\"]\n\"hosts.server_qdisc\" = [\"none\", \"fq\"]\n",
    );
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let mut runs = BTreeMap::new();
    for record in fs::read_dir(bench.out("out")).unwrap() {
        let folder = record.unwrap().path();
        let Ok(metrics) = fs::read_to_string(folder.join("metrics.json")) else { continue };
        let settings = fs::read_to_string(folder.join("run.toml")).unwrap();
        let has = |text: &str| settings.contains(text);
        let key = (has("gso = \"paced\""), has("ip = \"6\""), has("server_qdisc = \"fq\""));
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
        // Found: 0.73 to 0.81 of the packets alone, 0.946 to 0.979 in trains of five or less, 0.11 to 0.16 ms of precision; another build of the
        // agent moves each a little.
        let alone = [metrics, plain].map(|metrics| metrics.train_share_of_packets_1.unwrap());
        assert!(alone[0] > 0.7 && alone[1] < 0.5, "{which}: packets alone {alone:?}");
        let few = metrics.train_share_of_packets_le_5.unwrap();
        assert!(few > 0.93, "{which}: {few} in trains of five or less");
        // In another order than their numbers' they would be taken for lost ones.
        assert_eq!(metrics.packets_lost_spuriously, Some(0), "{which}");
        let (samples, packets) = (metrics.precision_samples.unwrap(), metrics.packets_sent.unwrap());
        assert!(samples * 100 > packets * 95, "{which}: the plans of {samples} of {packets} packets");
        // One CPU for both hosts delays a packet by some 0.1 ms at times; without pacing a segment is milliseconds off.
        let precision = [metrics, plain].map(|metrics| metrics.precision_sd_ns.unwrap());
        assert!(precision[0] < 250_000.0 && precision[1] > 800_000.0, "{which}: precision {precision:?}");
    }
}

/// The rate as a mark for the module, and as a control message for the patched kernel: the packets are not the same, since the kernels need
/// other times for the same work, but their distribution is.
#[test]
#[ignore = "needs kernel 6.1-paced, which takes minutes to build: make test-kernel"]
fn module_and_patch_agree() {
    let bench = Bench::new(
        "name = \"agree\"\ntitle = \"Paced by a module and by a patch\"\n[stack]\nname = \"quiche-0.24\"\ngso = \"paced\"\n\
         [workload]\nsize = \"2 MiB\"\nrepetitions = 3\n[hosts]\nserver_qdisc = \"fq\"\n[matrix]\n\"vm.kernel\" = [\"6.1\", \"6.1-paced\"]\n\
         \"path.ip\" = [\"4\", \"6\"]\n",
    );
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--json"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let result: serde_json::Value = serde_json::from_str(&result.output).unwrap();
    let groups = result["report"]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 4);
    for ip in ["4", "6"] {
        let of = |kernel: &str, metric: &str, statistic: &str| {
            let is_it = |group: &&serde_json::Value| {
                group["settings"]["vm"]["kernel"] == kernel && group["settings"]["path"]["ip"] == ip
            };
            groups.iter().find(is_it).unwrap()["metrics"][metric][statistic].as_f64().unwrap()
        };
        for metric in ["train_share_of_packets_1", "train_share_of_packets_le_5", "gap_share_below_100us"] {
            let [module, patch] = ["6.1", "6.1-paced"].map(|kernel| of(kernel, metric, "mean"));
            let spread = of("6.1", metric, "standard_deviation") + of("6.1-paced", metric, "standard_deviation");
            // Three repetitions know their own spread badly, so it is taken for 0.01 at least.
            assert!(
                (module - patch).abs() < 2.0 * spread.max(0.01),
                "IPv{ip}, {metric}: {module} and {patch}, {spread}"
            );
        }
    }
}
