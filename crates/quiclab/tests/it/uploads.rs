//! Clients whose packets are measured, in virtual machines: the numbers are checked against the capture and against a download.

use std::{
    fs::{self, File},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use crate::common::{Bench, REAL_STACKS, output_of, quiclab, records};
use quiclab_metrics::{Metrics, RunMetrics};
use quiclab_record::Record;
use quiclab_wire::{CaptureReader, Segment};

const SERVER_PORT: u16 = 443;
const BYTES: u64 = 512 << 10;

/// The record of the only run of an experiment in which quinn transfers [`BYTES`].
fn record(bench: &Bench) -> PathBuf {
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    bench.out("out").join(records(&bench.out("out")).remove(0))
}

fn bench(workload: &str) -> Bench {
    Bench::new(&format!(
        "name = \"uploads\"\ntitle = \"One transfer\"\n[stack]\nname = \"quinn\"\n[path]\nqueue_bdp = 0.1\n\
         [workload]\ntest_case = \"perf\"\n{workload}"
    ))
}

fn metrics(record: &Path) -> Metrics {
    RunMetrics::from_json(&fs::read_to_string(record.join("metrics.json")).unwrap()).unwrap().metrics
}

/// Times in nanoseconds of the packets towards the server's port at a tap, and whether each begins with a short header.
fn towards_server(record: &Path, tap: u32) -> Vec<(u64, bool)> {
    let mut reader = CaptureReader::new(File::open(record.join("wire.pcapng")).unwrap()).unwrap();
    let mut packets = Vec::new();
    let mut on_segment = |_, segment: &Segment, _: &quiclab_wire::Capture| {
        if segment.destination.port() == SERVER_PORT {
            packets.push((segment.time.as_nanos(), segment.payload[0] & 0x80 == 0));
        }
        ControlFlow::Continue(())
    };
    reader.for_each_segment(Some(tap), &mut on_segment).unwrap();
    packets
}

#[test]
fn an_upload_is_measured_at_the_client_before_the_bottleneck_and_as_fast_as_a_download() {
    let upload_bench = bench("sender = \"client\"\nrequest_size = \"512 KiB\"\nsize = \"8 B\"\n");
    let upload = record(&upload_bench);
    let found = metrics(&upload);
    let [sent, behind] = [0, 1].map(|tap| towards_server(&upload, tap));
    assert_eq!(found.packets_sent, Some(sent.len() as u64));
    let dropped = (sent.len() - behind.len()) as u64;
    assert!(dropped > 0, "a queue of a tenth of a bandwidth-delay product overflows in slow start");
    assert_eq!(found.drops_packets, Some(dropped));
    assert_eq!(found.packets_lost, Some(dropped), "the client finds all of them lost");
    let mut gaps: Vec<u64> = sent.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_unstable();
    let middle = gaps.len() / 2;
    let median = if gaps.len() % 2 == 1 { gaps[middle] } else { gaps[middle - 1].midpoint(gaps[middle]) };
    assert_eq!(found.gap_median_ns, Some(median));
    let trains = sent.windows(2).fold(vec![1_u64], |mut trains, pair| {
        match pair[1].0 - pair[0].0 < 100_000 {
            true => *trains.last_mut().unwrap() += 1,
            false => trains.push(1),
        }
        trains
    });
    assert_eq!(found.train_max_packets, trains.into_iter().max());
    let protected: Vec<u64> = sent.iter().filter(|(_, is_short)| *is_short).map(|(time, _)| *time).collect();
    let seconds = (protected.last().unwrap() - protected[0]) as f64 / 1e9;
    let goodput = found.goodput_wire_bps.unwrap();
    assert!((goodput / (BYTES as f64 * 8.0 / seconds) - 1.0).abs() < 1e-9, "{goodput}");
    // A record says where its drops were.
    let observed = Record::load(&upload).unwrap().observed;
    let drops = |stages: &[quiclab_record::StageSeen]| stages.iter().map(|stage| stage.all_drops()).sum::<u64>();
    assert_eq!((drops(&observed.path.to_server), drops(&observed.path.to_client)), (dropped, 0));

    let download_bench = bench("size = \"512 KiB\"\n");
    let download = metrics(&record(&download_bench)).goodput_wire_bps.unwrap();
    assert!((0.8..1.25).contains(&(goodput / download)), "{goodput} up, {download} down");

    // What reads a capture alone sees the same sender.
    let result = output_of(quiclab().arg("analyze").arg(upload.join("wire.pcapng")).arg("--json"));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let analyzed: serde_json::Value = serde_json::from_str(&result.output).unwrap();
    assert!(result.output.contains("sending-client"), "{analyzed:#}");
}
