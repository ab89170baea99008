//! Captures with the two taps of a record: what `analyze` and `packets` make of the one that is cut on purpose.

use std::fs::{self, File};

use crate::common::{CommandOutput, has_no_converter, output_of, quiclab};
use quiclab_record::{Observed, TapRole, TapSeen};
use quiclab_testing::files::capture as stored_capture;
use quiclab_units::{Duration, Time};
use quiclab_wire::{CaptureReader, CaptureWriter, PacketToWrite, TapDescription};
use serde_json::Value;

/// Time from one tap to the other.
const CROSSING: Duration = Duration::from_millis(3);
/// Every such packet of the server is dropped between the taps.
const DROPPED: u64 = 9;
const SNAP_LENGTH: u32 = 128;

/// A capture as a record has it, from one with a single tap: the server's packets come to the second tap later, cut, and not
/// all of them.
struct TwoTaps {
    folder: tempfile::TempDir,
    /// Frames of the server at the first tap that never come to the second one, by their numbers.
    dropped: Vec<u64>,
}

impl TwoTaps {
    /// `has_drops`: every ninth packet of the server is dropped, though the client went on to acknowledge it.
    fn of(capture: &str, has_drops: bool) -> Self {
        Self::with_port(capture, has_drops, 4433)
    }

    fn with_port(capture: &str, has_drops: bool, server_port: u16) -> Self {
        let mut reader = CaptureReader::new(File::open(stored_capture(capture)).unwrap()).unwrap();
        let mut frames = Vec::new();
        let mut server_packets = 0;
        let mut lost = Vec::new();
        while let Some(frame) = reader.next_frame().unwrap() {
            let is_server = frame.segment().unwrap().source.port() == 4433;
            server_packets += u64::from(is_server);
            let is_lost = has_drops && is_server && server_packets % DROPPED == 0;
            // What the client sends passes the other tap first.
            let time = if is_server { frame.time + CROSSING } else { before(frame.time) };
            let mut captured = frame.captured.to_vec();
            // The server of a record has another port: behind Ethernet and IPv4 stand source and destination.
            for place in [34, 36] {
                if captured[place..place + 2] == 4433_u16.to_be_bytes() {
                    captured[place..place + 2].copy_from_slice(&server_port.to_be_bytes());
                }
            }
            let kept = captured[..captured.len().min(SNAP_LENGTH as usize)].to_vec();
            frames.push((frame.time, 0, frame.length, captured, is_lost));
            if !is_lost {
                frames.push((time, 1, frame.length, kept, false));
            }
        }
        frames.sort_by_key(|(time, ..)| *time);
        let names = [("sender", None), ("behind-bottleneck", Some(SNAP_LENGTH))];
        let taps = names.map(|(name, snap_length)| TapDescription { name, snap_length });
        let keys: Vec<u8> = reader.summary().secrets.iter().flat_map(|secrets| secrets.data.clone()).collect();
        let mut writer = CaptureWriter::new(Vec::new(), &taps, Some(&keys)).unwrap();
        for (number, (time, interface, frame_length, captured, is_lost)) in frames.iter().enumerate() {
            if *is_lost {
                lost.push(number as u64 + 1);
            }
            writer
                .write_packet(&PacketToWrite {
                    time: *time,
                    interface: *interface,
                    frame_length: *frame_length,
                    captured,
                    direction: None,
                })
                .unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wire.pcapng"), writer.finish().unwrap()).unwrap();
        TwoTaps { folder, dropped: lost }
    }

    fn path(&self) -> String {
        self.folder.path().join("wire.pcapng").display().to_string()
    }
}

fn before(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() - 1_000)
}

fn run(arguments: &[&str]) -> CommandOutput {
    output_of(quiclab().args(arguments))
}

fn json(arguments: &[&str]) -> Value {
    let result = run(&[arguments, &["--json"]].concat());
    assert_eq!(result.status, Some(0), "{}", result.errors);
    serde_json::from_str(&result.output).unwrap_or_else(|error| panic!("{error}: {}", result.output))
}

fn rows(listing: &Value) -> &Vec<Value> {
    listing["packets"].as_array().unwrap()
}

#[test]
fn a_tap_that_is_cut_on_purpose_is_one_note_and_no_warning() {
    let capture = TwoTaps::of("ngtcp2-qlog.pcapng", false);
    let qlog = stored_capture("ngtcp2-qlog.sqlog").display().to_string();
    let result = run(&["analyze", &capture.path(), "--qlog", &qlog, "--response-size", "40 kB"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    // What this qlog says of round trips has nothing to do with the taps.
    let of_taps = |line: &&str| line.starts_with("warning") && !line.ends_with("(probe_timeout_differs)");
    let warnings: Vec<_> = result.output.lines().filter(of_taps).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(result.output.matches("keeps the first 128 bytes of each packet").count(), 1, "{}", result.output);
    assert!(result.output.contains("at the sender's tap") && result.output.contains("tap behind"), "{}", result.output);
}

#[test]
fn precision_is_measured_at_the_tap_nearest_to_the_sender_only() {
    let capture = TwoTaps::of("ngtcp2-qlog.pcapng", false);
    let qlog = stored_capture("ngtcp2-qlog.sqlog").display().to_string();
    let one = json(&["analyze", &stored_capture("ngtcp2-qlog.pcapng").display().to_string(), "--qlog", &qlog]);
    let two = json(&["analyze", &capture.path(), "--qlog", &qlog]);
    let of = |all: &Value, interface: u64| {
        let flows = all["flows"].as_array().unwrap();
        let found =
            flows.iter().find(|flow| flow["flow"]["interface"] == interface && flow["flow"]["sender"] == "server");
        found.unwrap()["metrics"]["precision_sd_ns"].clone()
    };
    assert!(of(&one, 0).is_f64());
    assert_eq!(of(&two, 0), of(&one, 0));
    assert!(of(&two, 1).is_null(), "the way between the taps is no imprecision of the sender");
}

#[test]
fn the_page_names_the_taps() {
    let capture = TwoTaps::of("ngtcp2.pcapng", false);
    let page = capture.folder.path().join("page.html");
    let result = run(&["analyze", &capture.path(), "--html", page.to_str().unwrap()]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let page = fs::read_to_string(page).unwrap();
    let begin = page.find("<body>").unwrap();
    assert!(
        page[begin..].contains("at the sender's tap") && page[begin..].contains("at the tap behind the bottleneck")
    );
    assert!(!page[begin..].contains("payload_cut"), "the cut is no warning");
}

#[test]
fn packets_that_never_came_to_the_second_tap_are_marked() {
    let capture = TwoTaps::of("ngtcp2.pcapng", true);
    let listing = json(&["packets", &capture.path()]);
    assert_eq!(listing["tap"], "sender (0)");
    let server = || rows(&listing).iter().filter(|row| row["sender"] == "server");
    let dropped: Vec<u64> =
        server().filter(|row| row["is_dropped"] == true).map(|row| row["frame"].as_u64().unwrap()).collect();
    assert!(capture.dropped.len() > 3);
    // Behind the last packet that came through, nothing shows whether a packet was dropped or is still under way.
    let crossed = |row: &&Value| row["behind_bottleneck_after_ns"].is_u64();
    let last = server().filter(crossed).map(|row| row["frame"].as_u64().unwrap()).max().unwrap();
    let expected: Vec<u64> = capture.dropped.iter().copied().filter(|frame| *frame < last).collect();
    assert_eq!(dropped, expected);
    assert!(server().filter(|row| row["frame"].as_u64() > Some(last)).all(|row| row["is_dropped"].is_null()));
    let crossings = server().filter_map(|row| row["behind_bottleneck_after_ns"].as_u64());
    let crossings: Vec<_> = crossings.collect();
    assert_eq!(crossings.len() + capture.dropped.len(), server().count());
    assert!(crossings.iter().all(|after| *after == CROSSING.as_nanos()), "{crossings:?}");
    assert!(rows(&listing).iter().filter(|row| row["sender"] == "client").all(|row| row["is_dropped"].is_null()));
}

#[test]
fn a_packet_is_acknowledged_when_the_first_ack_that_names_it_arrives() {
    let listing = json(&["packets", stored_capture("ngtcp2.pcapng").to_str().unwrap()]);
    // The packet of a row with a single 1-RTT packet, and the numbers that a row's ACKs name, read from the words.
    let number = |row: &Value| {
        let content = row["content"].as_str().unwrap().to_owned();
        content.strip_prefix("1-RTT ")?.split(':').next()?.parse::<u64>().ok()
    };
    let names = |row: &Value, number: u64| {
        let content = row["content"].as_str().unwrap();
        let Some(begin) = content.strip_prefix("1-RTT ").and_then(|_| content.find("ACK ")) else { return false };
        let ranges = content[begin + 4..].split(", ").next().unwrap_or_default();
        ranges.split(' ').any(|range| {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            low.parse::<u64>().is_ok_and(|low| low <= number) && high.parse::<u64>().is_ok_and(|high| number <= high)
        })
    };
    let mut checked = 0;
    for (place, row) in rows(&listing).iter().enumerate().filter(|(_, row)| row["sender"] == "server") {
        let (Some(number), Some(after)) = (number(row), row["acknowledged_after_ns"].as_u64()) else { continue };
        let first = rows(&listing)[place..].iter().find(|later| later["sender"] == "client" && names(later, number));
        let first = first.unwrap_or_else(|| panic!("no ACK of {row}"))["time_ns"].as_u64().unwrap();
        assert_eq!(row["time_ns"].as_u64().unwrap() + after, first, "{row}");
        checked += 1;
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn a_window_holds_the_packets_within_the_span_and_no_others() {
    let path = stored_capture("ngtcp2.pcapng").display().to_string();
    let all = json(&["packets", &path]);
    let times = |listing: &Value| rows(listing).iter().map(|row| row["time_ns"].as_u64().unwrap()).collect::<Vec<_>>();
    let expected: Vec<_> = times(&all).into_iter().filter(|time| (54_000_000..=60_000_000).contains(time)).collect();
    let window = json(&["packets", &path, "--around", "57 ms", "--span", "3ms"]);
    assert!(expected.len() > 3);
    assert_eq!(times(&window), expected);
    // The first one at or after the time is marked.
    let result = run(&["packets", &path, "--around", "57ms", "--span", "3ms"]);
    let marked: Vec<_> = result.output.lines().filter(|line| line.starts_with('>')).collect();
    let first = expected.iter().find(|time| **time >= 57_000_000).unwrap();
    assert_eq!(marked.len(), 1, "{}", result.output);
    assert!(marked[0].contains(&format!("0.{first:09}")), "{}", result.output);
}

#[test]
fn an_empty_window_says_where_there_are_packets() {
    let path = stored_capture("ngtcp2.pcapng").display().to_string();
    let result = run(&["packets", &path, "--around", "100 s"]);
    assert_eq!((result.status, result.output.as_str()), (Some(0), ""));
    let all: Vec<_> = rows(&json(&["packets", &path])).iter().map(|row| row["time_ns"].as_u64().unwrap()).collect();
    let seconds = |ns: u64| format!("{:.9} s", ns as f64 / 1e9);
    let last = seconds(*all.last().unwrap());
    let expected =
        format!("within 5 ms of that time; the nearest at tap sender (0) are at {last}, of packets from 0 to {last}");
    assert!(result.errors.contains(&expected), "{}", result.errors);
    assert!(rows(&json(&["packets", &path, "--around", "100 s"])).is_empty());
    // In the longest pause, packets before and after it are named.
    let pause = all.windows(2).max_by_key(|pair| pair[1] - pair[0]).unwrap();
    let middle = format!("{} ns", (pause[0] + pause[1]) / 2);
    let result = run(&["packets", &path, "--around", &middle, "--span", "1 us"]);
    let expected = format!("are at {} and {}, of packets", seconds(pause[0]), seconds(pause[1]));
    assert!(result.errors.contains(&expected), "{}", result.errors);
}

#[test]
fn a_tap_that_is_not_there_and_a_folder_without_a_capture_are_errors() {
    let result = run(&["packets", stored_capture("ngtcp2.pcapng").to_str().unwrap(), "--tap", "eth7"]);
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("found no packet at tap \"eth7\"; its taps are"), "{}", result.errors);
    let result = run(&["packets", concat!(env!("CARGO_MANIFEST_DIR"), "/src")]);
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("expected a record's folder or a capture file"), "{}", result.errors);
}

/// Settings of a record, as `run.toml` has them.
const RUN: &str = r#"
id = "abc"
[run]
experiment = "tests/taps"
repetition = 1
seed = 1
start_shift = "3 ms"
[run.settings]
kernel = "6.1"
[run.settings.stack]
name = "ngtcp2"
server = "ngtcp2"
client = "quic-go"
congestion_control = "cubic"
gso = "off"
pacing = "off"
http = "h3"
[run.settings.workload]
test_case = "transfer"
files = 1
name_bytes = 1
certificate = "small"
certificate_delay = "0 ns"
size = "40 kB"
timeout = "300 s"
[run.settings.path]
ip = "4"
drops_to_server = []
rate = "40 Mbit/s"
burst = "1535 B"
delay_to_client = "20 ms"
delay_to_server = "20 ms"
queue_limit_packets = 143
return_limit_packets = 1000
[run.settings.hosts]
udp_receive_buffer = "50 MiB"
udp_send_buffer = "212992 B"
[run.settings.hosts.server_qdisc]
kind = "none"
[run.settings.tap]
enabled = true
send_sizes = false
qlog = false
[run.settings.analysis]
train_threshold = "100 us"
[versions]
qemu = "7.2"
"#;

#[test]
fn a_single_record_is_reported_over_time_with_the_drops_between_its_taps() {
    if has_no_converter() {
        return;
    }
    let made = TwoTaps::with_port("ngtcp2.pcapng", true, 443);
    let record = made.folder.path().join("ngtcp2-01-abc");
    fs::create_dir(&record).unwrap();
    fs::rename(made.path(), record.join("wire.pcapng")).unwrap();
    fs::write(record.join("run.toml"), RUN).unwrap();
    let tap = |role, interface| TapSeen {
        role,
        interface,
        snaplen: None,
        packets_seen: 0,
        packets_lost: 0,
        super_packets: None,
        stamps: None,
    };
    let taps = vec![tap(TapRole::Sender, 0), tap(TapRole::BehindBottleneck, 1)];
    let observed = Observed { taps, ..Observed::nothing("vm", 443) };
    fs::write(record.join("path.json"), observed.to_json()).unwrap();
    fs::write(record.join("metrics.json"), quiclab_metrics::RunMetrics::empty().to_json()).unwrap();
    let figures = made.folder.path().join("figures");
    let [record, figures] = [&record, &figures].map(|path| path.to_str().unwrap());
    let result = run(&["report", record, "--figures", figures]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.output.contains("quic-go"), "whose client it was: {}", result.output);
    let page = fs::read_to_string(format!("{record}.html")).unwrap();
    // Nothing that was sent after the last one arrives: it may still be on its way when the capture ends.
    let drops = made.dropped.len() - 1;
    assert!(page.contains(&format!("dropped between the taps, when they were sent: {drops}")), "{drops}");
    assert!(page.contains("minus its smallest value, 3.000 ms"));
    assert!(page.contains("in flight at the tap") && page.contains("RTT at the tap"));
    let svg = fs::read_to_string(format!("{figures}/run-ngtcp2-01-abc.svg")).unwrap();
    assert!(page.contains(&svg));
    let table = run(&["report", record, "--markdown"]);
    assert!(
        table.output.starts_with("| tests/taps |") && table.output.contains("(client: quic-go)"),
        "{}",
        table.output
    );
}
