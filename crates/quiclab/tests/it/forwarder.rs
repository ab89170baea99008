//! Stages that the kernel of the virtual machine lacks: packets move through them in user space, and what the path says of them is what
//! both taps saw.

use std::{fs, path::Path};

use crate::common::{Bench, TEST_STACKS, output_of, records};
use quiclab_units::Time;
use quiclab_wire::CaptureReader;
use serde_json::Value;

/// Every 20th packet to the client is lost by a rule, others by CoDel. A bit of some acknowledgments flips.
const EXPERIMENT: &str = r#"
name = "tests/forwarder"
title = "Stages in user space"
stack.name = "misbehaving"
workload.size = "256 KiB"
tap.snaplen = "full"
tap.bottleneck_snaplen = "full"
[[path.to_client]]
stage = "loss"
name = "holes"
model = "rule"
every = 20
[[path.to_client]]
stage = "queue"
discipline = "codel"
limit = "100 packets"
interval = "20 ms"
[[path.to_client]]
stage = "rate"
rate = "5 Mbit/s"
[[path.to_client]]
stage = "delay"
delay = "5 ms"
[[path.to_server]]
stage = "delay"
delay = "5 ms"
[[path.to_server]]
stage = "bit_errors"
name = "noise"
per_bit = 0.0001
"#;

/// A frame at a tap.
struct Frame {
    time: Time,
    bytes: Vec<u8>,
}

/// Frames from the server and from the client, at the sender's tap and at the one behind the bottleneck.
fn frames(capture: &Path) -> [[Vec<Frame>; 2]; 2] {
    let bytes = fs::read(capture).unwrap();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let mut seen: [[Vec<Frame>; 2]; 2] = Default::default();
    while let Some(frame) = reader.next_frame().unwrap() {
        // Of a frame with a flipped bit the addresses may be wrong, and so may the ports: the link-layer address is not.
        let is_from_server = frame.captured[11] == 1;
        let at = frame.interface as usize;
        let bytes = frame.captured.to_vec();
        seen[usize::from(!is_from_server)][at].push(Frame { time: frame.time, bytes });
    }
    seen
}

fn drops<'a>(path: &'a Value, direction: &str) -> Vec<&'a Value> {
    path["dropped"].as_array().unwrap().iter().filter(|drop| drop["direction"] == direction).collect()
}

/// TCP's checksum, which senders leave to their cards: it stands in the frame only where somebody had to know it.
const CHECKSUM: std::ops::Range<usize> = 50..52;

fn flipped_bits(sent: &[u8], arrived: &[u8]) -> u32 {
    assert_eq!(sent.len(), arrived.len());
    let bytes = sent.iter().zip(arrived).enumerate().filter(|(place, _)| !CHECKSUM.contains(place));
    bytes.map(|(_, (one, other))| (one ^ other).count_ones()).sum()
}

#[test]
fn what_stages_in_user_space_drop_is_what_the_second_tap_misses() {
    let bench = Bench::new(EXPERIMENT);
    for out in ["one", "two"] {
        let result = output_of(&mut bench.run(TEST_STACKS, out, &[]));
        assert_eq!(result.status, Some(0), "{}", result.errors);
    }
    let [one, two] = ["one", "two"].map(|out| {
        let names = records(&bench.out(out));
        let [name] = &names[..] else { panic!("one record, not {names:?}") };
        bench.out(out).join(name)
    });
    for file in ["wire.pcapng", "path.json", "metrics.json"] {
        assert!(fs::read(one.join(file)).unwrap() == fs::read(two.join(file)).unwrap(), "{file} differs");
    }
    let read = |file: &str| -> Value { serde_json::from_slice(&fs::read(one.join(file)).unwrap()).unwrap() };
    let (path, metrics) = (read("path.json")["path"].clone(), read("metrics.json"));

    let forwarder = &path["forwarder"];
    assert!(forwarder["why"].as_str().unwrap().contains("stage \"holes\""), "{forwarder}");
    // A thousandth of the delay, mostly.
    assert!(
        forwarder["is_realtime"] == true && forwarder["lateness"]["median_ns"].as_u64() < Some(30_000),
        "{forwarder}"
    );

    let [[sent, behind], [at_server, sent_by_client]] = frames(&one.join("wire.pcapng"));
    let listed = drops(&path, "to_client");
    let places: Vec<u64> = listed.iter().map(|drop| drop["packet"].as_u64().unwrap()).collect();
    let left: Vec<&Frame> =
        (1_u64..).zip(&sent).filter(|(number, _)| !places.contains(number)).map(|(_, frame)| frame).collect();
    assert!(left.iter().map(|frame| &frame.bytes).eq(behind.iter().map(|frame| &frame.bytes)), "other packets arrived");
    for (frame, at_bottleneck) in left.iter().zip(&behind) {
        let nanoseconds = at_bottleneck.time.as_nanos() - frame.time.as_nanos();
        assert!(nanoseconds >= 5_000_000 + frame.bytes.len() as u64 * 8 * 200, "{nanoseconds} ns");
    }
    let by_rule: Vec<u64> =
        listed.iter().filter(|drop| drop["stage"] == "holes").map(|drop| drop["packet"].as_u64().unwrap()).collect();
    assert_eq!(by_rule, (1..=sent.len() as u64 / 20).map(|number| number * 20).collect::<Vec<_>>());
    let [holes, rate, _] = &path["to_client"].as_array().unwrap()[..] else { panic!("{path}") };
    let early = rate["drops"]["early"].as_u64().unwrap();
    assert!(early > 0 && holes["drops"]["rule"] == by_rule.len(), "{path}");
    assert_eq!(listed.len() as u64, early + by_rule.len() as u64);
    assert_eq!(metrics["metrics"]["drops_packets"].as_f64(), Some(listed.len() as f64));
    assert!(!metrics["warnings"].to_string().contains("drops-disagree"), "{}", metrics["warnings"]);

    assert_eq!(sent_by_client.len(), at_server.len());
    let flipped: Vec<u32> =
        sent_by_client.iter().zip(&at_server).map(|(one, other)| flipped_bits(&one.bytes, &other.bytes)).collect();
    assert!(flipped.iter().all(|bits| *bits <= 1), "{flipped:?}");
    let noise = &path["to_server"][1];
    let corrupted = noise["counts"]["corrupted"].as_u64().unwrap();
    let seen = flipped.iter().map(|bits| u64::from(*bits)).sum::<u64>();
    // A bit of the checksum itself is not told from one that was computed.
    assert!(corrupted > 3 && seen <= corrupted && seen + 3 >= corrupted, "{seen} of {noise}");
}
