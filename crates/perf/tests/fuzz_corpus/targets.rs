//! What the fuzzer runs, and the test of its corpus. Besides panics they look for wrong answers.

use std::{fmt::Debug, io::Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use quiclab_perf::{
    Asked, Direction, Interval, Latencies, Load, Reading, Sample, Sizes, Tracker,
    control::{Answer, Lines, Question, line, parse},
    exchange_interval, exchanges, interval, iperf, iperf_of_both, iperf_of_exchanges, summary, summary_of_both,
    udp::{Arrivals, Datagram, UdpAnswer, UdpInterval, UdpQuestion, UdpSummary, UdpTest, iperf_of_udp},
};
use serde::{Deserialize, Serialize};

/// A target.
pub type Target = fn(&[u8]);

/// All of them, by the names of their corpora.
#[allow(dead_code, reason = "for the test")]
pub const ALL: [(&str, Target); 3] = [("control", control), ("progress", progress), ("latencies", latencies)];

/// What both ends read at once, and the longest line that they take.
const READ: usize = 4096;
const LONGEST: usize = 64 << 10;

/// What a peer says over its connection: the same lines whole and byte by byte, messages that survive their lines, and results of any numbers.
pub fn control(input: &[u8]) {
    let input = &input[..input.len().min(LONGEST)];
    let lines = lines(input, READ);
    assert_eq!(lines, self::lines(input, 1));
    let (mut samples, mut readings, mut tests) = (Vec::new(), Vec::new(), Vec::new());
    for line in &lines {
        survives::<Question>(line);
        if let Some(UdpQuestion::Begin(test)) = survives(line) {
            tests.push(test);
        }
        if let Some(Answer::Sample { sample }) = survives(line) {
            samples.push(*sample);
        }
        if let Ok(UdpAnswer::Reading(reading)) = parse(line) {
            // The last bit of a number with a point may change; the others do not.
            let mut whole = reading;
            whole.arrivals.jitter_ns = 0.0;
            survives::<UdpAnswer>(self::line(&UdpAnswer::Reading(whole)).trim_ascii_end()).expect("a reading");
            readings.push(reading);
        }
    }
    for pair in samples.windows(2) {
        results(&reading(1.0, pair[0]), &reading(2.0, pair[1]));
    }
    let test = UdpTest { number: 1, server_sends: true, length: 1200, bits_per_second: 0, nanoseconds: 1 };
    let test = tests.first().copied().unwrap_or(test);
    for pair in readings.windows(2) {
        let row = UdpInterval::of((1.0, &pair[0].arrivals), (2.0, &pair[1].arrivals), pair[1].sent);
        let summary = UdpSummary::of(test, &pair[0], &pair[1]);
        assert!(summary.lost_packets <= summary.sent, "{summary:?}");
        iperf_of_udp(&asked(Direction::ServerSends), &[row], &summary);
    }
    let mut arrivals = Arrivals::default();
    for bytes in input.chunks(24).take(100) {
        let Some(datagram) = Datagram::of_bytes(bytes) else { continue };
        assert_eq!(datagram.to_bytes(), bytes);
        arrivals.take(datagram, 24, 5);
        assert!(arrivals.jitter_ns >= 0.0 && arrivals.out_of_order < arrivals.packets, "{arrivals:?}");
    }
}

/// The lines of what comes in pieces of this length, until one is refused.
fn lines(input: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let (mut lines, mut found) = (Lines::default(), Vec::new());
    for bytes in input.chunks(piece) {
        let mut taken = bytes;
        while let Some(line) = lines.take(taken).expect("no line is too long") {
            found.push(line);
            taken = &[];
        }
    }
    found
}

/// What a line says, which is the same after it is said again.
fn survives<T: Serialize + for<'a> Deserialize<'a> + PartialEq + Debug>(said: &[u8]) -> Option<T> {
    let found = parse::<T>(said).ok()?;
    let again = line(&found);
    let (end, text) = again.split_last().expect("a line");
    assert!(*end == b'\n' && !text.contains(&b'\n'), "{found:?}");
    assert_eq!(parse::<T>(text).expect("what was said is understood"), found);
    Some(found)
}

/// Two clients and a server that say the same.
fn reading(at_seconds: f64, sample: Sample) -> Reading {
    Reading { at_seconds, clients: vec![sample; 2], server: Some(sample) }
}

fn asked(direction: Direction) -> Asked {
    let version = "quiclab".to_owned();
    let (seconds, bytes, more) = (Some(1.0), None, serde_json::Value::Null);
    Asked { version, protocol: "QUIC", streams: 1, connections: 2, direction, seconds, bytes, more }
}

/// Results of every load: no rate and no share is negative, or no number at all.
fn results(before: &Reading, after: &Reading) {
    let number = |value: Option<f64>| assert!(value.is_none_or(|value| value.is_finite() && value >= 0.0), "{value:?}");
    let rows = [Direction::ClientSends, Direction::ServerSends].map(|direction| {
        let row: Interval = interval(before, after, direction);
        [row.bits_per_second, row.client_cpu_percent, row.server_cpu_percent].into_iter().for_each(number);
        let found = summary(before, after, direction);
        [found.goodput(), found.fairness].into_iter().for_each(number);
        iperf(&asked(direction), std::slice::from_ref(&row), &found);
        row
    });
    let both = summary_of_both(before, after);
    iperf_of_both(&asked(Direction::ClientSends), [&rows[..1], &rows[1..]], &both);
    for load in [Load::Handshakes, Load::Requests(Sizes { request_bytes: 1, response_bytes: 1 })] {
        let row = exchange_interval(before, after, load);
        let found = exchanges(before, after, load, &Latencies::default());
        [row.per_second, found.per_second, found.client.cpu_ns_each].into_iter().for_each(number);
        iperf_of_exchanges(&asked(Direction::ClientSends), &[row], &found);
    }
}

/// What an endpoint appends to its progress file: the same whole and byte by byte, and counters that never go back.
pub fn progress(input: &[u8]) {
    let (mut whole, mut pieces) = (Tracker::default(), Tracker::default());
    let said = whole.take(input);
    let again = input.iter().try_for_each(|byte| pieces.take(&[*byte]));
    assert_eq!((&said, whole.sample()), (&again, pieces.sample()));
    let Sample { newest, first, last, .. } = whole.sample();
    assert!(first.bytes() <= last.bytes() && last.bytes() <= newest.bytes(), "{:?}", whole.sample());
    assert!(first.monotonic_ns <= last.monotonic_ns && last.monotonic_ns <= newest.monotonic_ns);
    if let Err(error) = said {
        assert!(error.to_string().len() < 2000, "{error}");
    }
    whole.restart();
    results(&reading(1.0, pieces.sample()), &reading(2.0, whole.sample()));
}

/// A file with latencies: percentiles in order, and twice as many when it is taken twice. The first byte says how much of the file is made
/// here: nothing, the base64, or all but the content.
pub fn latencies(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    let file = match kind % 3 {
        0 => rest.to_vec(),
        1 => STANDARD.encode(rest).into_bytes(),
        _ => around(rest),
    };
    let mut latencies = Latencies::default();
    if let Err(error) = latencies.take(&file) {
        assert!(latencies.count() == 0 && error.to_string().len() < 1000, "{error}");
        return;
    }
    let once = latencies.figures();
    assert_eq!(once.count, latencies.count());
    let in_order = [once.p50_ns, once.p90_ns, once.p99_ns, once.p99_9_ns, once.p99_99_ns, once.max_ns];
    assert!(in_order.iter().flatten().is_sorted(), "{once:?}");
    // An hour, of which a value is known to a thousandth.
    assert!(once.max_ns.is_none_or(|most| most < 3_615_000_000_000), "{once:?}");
    if latencies.take(&file).is_ok() {
        let twice = latencies.figures();
        assert_eq!((twice.count, twice.max_ns), (2 * once.count, once.max_ns));
    }
}

/// A file around a content whose first word may be anything but is right here, as are its lengths.
fn around(content: &[u8]) -> Vec<u8> {
    let mut content = content.to_vec();
    let counters = u32::try_from(content.len().saturating_sub(40)).unwrap_or(0);
    for (at, word) in [(0, 0x1c84_9313), (4, counters)] {
        if let Some(four) = content.get_mut(at..at + 4) {
            four.copy_from_slice(&word.to_be_bytes());
        }
    }
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&content).expect("memory is written");
    let compressed = zlib.finish().expect("memory is written");
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(compressed.len()).expect("a short input").to_be_bytes());
    bytes.extend(compressed);
    STANDARD.encode(bytes).into_bytes()
}
