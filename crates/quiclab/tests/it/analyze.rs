//! `quiclab analyze`, as a user would call it: what it prints, and what it makes of bad input.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::common::{CommandOutput, output_of, quiclab};
use quiclab_testing::{files::capture, has_program};
use quiclab_wire::{CaptureReader, CaptureWriter, PacketToWrite, TapDescription};
use serde_json::Value;

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../metrics/tests/data/ngtcp2-cubic-rep1.pcap.gz");

fn analyze(arguments: &[&str]) -> CommandOutput {
    output_of(quiclab().arg("analyze").args(arguments))
}

/// The JSON, of a command that worked.
fn json(arguments: &[&str]) -> Value {
    let result = analyze(&[arguments, &["--json"]].concat());
    assert!(matches!(result.status, Some(0 | 1)), "{}", result.errors);
    serde_json::from_str(&result.output).unwrap()
}

/// What the server sent in the first flow.
fn first_flow(json: &Value) -> &Value {
    &json["flows"][0]
}

fn codes(of: &Value) -> Vec<&str> {
    of["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The first interface of a capture, without its secrets.
fn without_secrets(name: &str) -> Made {
    let mut reader = CaptureReader::new(File::open(capture(name)).unwrap()).unwrap();
    let mut writer =
        CaptureWriter::new(Vec::new(), &[TapDescription { name: "tap", snap_length: None }], None).unwrap();
    while let Some(frame) = reader.next_frame().unwrap() {
        writer
            .write_packet(&PacketToWrite {
                time: frame.time,
                interface: 0,
                frame_length: frame.length,
                captured: frame.captured,
                direction: None,
            })
            .unwrap();
    }
    Made::new(&writer.finish().unwrap())
}

/// A file of these bytes.
struct Made(tempfile::TempDir);

impl Made {
    fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("made"), bytes).unwrap();
        Made(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("made")
    }
}

/// Classic pcap, ns: (seconds, link type, frame, bytes of it on the wire).
fn pcap(link_type: u32, frames: &[(u32, Vec<u8>, u32)]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, link_type] {
        file.extend(field.to_le_bytes());
    }
    for (time, frame, length) in frames {
        for field in [*time, 0, frame.len() as u32, *length] {
            file.extend(field.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// IPv4 and UDP without a link layer.
fn udp(source_port: u16, destination_port: u16, payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(source_port.to_be_bytes());
    packet.extend(destination_port.to_be_bytes());
    packet.extend((length - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

#[test]
fn a_published_capture_gives_the_published_numbers() {
    let json = json(&[PUBLISHED, "--response-size", "100 MiB"]);
    let flow = first_flow(&json);
    assert_eq!(flow["flow"]["server"], "10.0.0.1:4433");
    let near = |name: &str, published: f64, tolerance: f64| {
        let ours = flow["metrics"][name].as_f64().unwrap();
        assert!((ours - published).abs() <= tolerance, "{name}: {ours}, published {published}");
    };
    near("gap_share_below_100us", 0.512, 0.001);
    near("train_share_of_packets_1", 0.003, 0.001);
    near("train_share_of_packets_le_5", 0.9942, 0.001);
    near("goodput_wire_bps", 37.20e6, 0.04e6);
}

#[test]
fn the_reference_page_describes_the_version_of_the_json() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/analyze.md")).unwrap();
    let version = json(&[PUBLISHED])["schema"].as_u64().unwrap();
    assert!(page.contains(&format!("| `schema` | {version}: ")), "schema {version} is not that of the page");
    let versions: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit()).collect();
    assert!(versions.last().unwrap().starts_with(&format!("| {version} | ")), "no row for schema {version}");
}

#[test]
fn every_protocol_has_a_handshake_losses_and_rtt() {
    for (name, protocol) in [("quiche", "quic"), ("ngtcp2", "quic"), ("quic-go", "quic"), ("tcp-tls", "tcp")] {
        let json = json(&[text(&capture(&format!("{name}.pcapng")))]);
        let flow = first_flow(&json);
        assert_eq!(flow["protocol"], protocol, "{name}");
        let metric = |metric: &str| flow["metrics"][metric].as_u64().unwrap_or_else(|| panic!("{name}: no {metric}"));
        // The path has 2 x 20 ms; the handshake takes one round trip, the answer another.
        assert!((40_000_000..41_000_000).contains(&metric("rtt_min_ns")), "{name}");
        assert!(metric("handshake_first_reply_ns") < 10_000_000, "{name}");
        assert!((40_000_000..200_000_000).contains(&metric("time_to_first_byte_ns")), "{name}");
        assert!((65_536..80_000).contains(&metric("stream_bytes")), "{name}");
        assert_eq!(metric("packets_retransmitted"), 0, "{name}");
        assert!(metric("bytes_in_flight_max") > 10_000, "{name}");
    }
}

#[test]
fn standard_input_gzip_and_zstd_are_read_alike() {
    if !has_program("zstd", "zstd") {
        return;
    }
    let file = capture("quiche.pcapng");
    let expected = json(&[text(&file)])["flows"][0]["metrics"].clone();
    let folder = tempfile::tempdir().unwrap();
    for (program, name) in [("gzip", "a.gz"), ("zstd", "a.zst")] {
        let packed = folder.path().join(name);
        let done = Command::new(program).arg("-c").arg(&file).stdout(File::create(&packed).unwrap()).status();
        assert!(done.is_ok_and(|status| status.success()), "{program}");
        assert_eq!(json(&[text(&packed)])["flows"][0]["metrics"], expected, "{program}");
    }
    let mut child =
        quiclab().args(["analyze", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(&file).unwrap()).unwrap();
    let output: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(output["flows"][0]["metrics"], expected);
}

#[test]
fn the_page_and_the_trace_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (page, trace) = (folder.path().join("page.html"), folder.path().join("trace"));
    let result = analyze(&[text(&capture("ngtcp2.pcapng")), "--html", text(&page), "--parquet", text(&trace)]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let html = fs::read_to_string(page).unwrap();
    for heading in ["Gaps between packets", "Packet trains", "Time and sequence", "Bytes in flight", "Round-trip time"]
    {
        assert!(html.contains(heading), "{heading}");
    }
    for file in ["packets.parquet", "frames.parquet", "events.parquet"] {
        assert!(fs::metadata(trace.join(file)).unwrap().len() > 0, "{file}");
    }
}

#[test]
fn windows_add_up_to_the_flow() {
    let json = json(&[text(&capture("quic-go.pcapng")), "--window", "10 ms"]);
    let flow = first_flow(&json);
    let windows = flow["windows"].as_array().unwrap();
    let packets: u64 = windows.iter().map(|window| window["metrics"]["packets_sent"].as_u64().unwrap()).sum();
    assert_eq!(Some(packets), flow["metrics"]["packets_sent"].as_u64());
    let bytes: u64 = windows.iter().map(|window| window["metrics"]["bytes_sent"].as_u64().unwrap()).sum();
    assert_eq!(Some(bytes), flow["metrics"]["bytes_sent"].as_u64());
}

#[test]
fn planned_times_of_a_list_are_joined_by_packet_number() {
    // Packet n planned at n ms: the deviation is that of the real times from an even spacing.
    let list: String = (0..100).map(|number| format!("{number},{}\n", number * 1_000_000)).collect();
    let made = Made::new(format!("packet_number,planned_ns\n{list}").as_bytes());
    let json = json(&[text(&capture("quiche.pcapng")), "--planned", text(&made.path())]);
    let metrics = &first_flow(&json)["metrics"];
    assert!(metrics["precision_samples"].as_u64().unwrap() > 40);
    assert!(metrics["precision_sd_ns"].as_f64().unwrap() > 1e6);
}

/// Logged times of a real server, by packet number and by connection ID: quic-go writes ns, ngtcp2 whole ms.
#[test]
fn a_qlog_is_joined_to_the_capture_of_its_connection() {
    for (name, least, most) in [("quic-go", 1e3, 0.5e6), ("ngtcp2", 0.1e6, 0.6e6)] {
        let qlog = capture(&format!("{name}-qlog.sqlog"));
        let json = json(&[text(&capture(&format!("{name}-qlog.pcapng"))), "--qlog", text(&qlog)]);
        let flow = first_flow(&json);
        assert!(!codes(flow).contains(&"planned_times_not_joined"), "{name}: {}", flow["warnings"]);
        assert!(flow["metrics"]["precision_samples"].as_u64().unwrap() >= 40, "{name}");
        let deviation = flow["metrics"]["precision_sd_ns"].as_f64().unwrap();
        assert!((least..most).contains(&deviation), "{name}: {deviation}");
        assert!(json["notes"][0].as_str().unwrap().contains("no planned send times"), "{name}");
        assert!(json["flows"][1]["metrics"]["precision_samples"].is_null(), "{name}: the client has no plan");
    }
}

/// quic-go names its handshake datagrams by CRC32c, so that some are found without keys.
/// The client moves to another port with a connection ID that only an encrypted frame gave out.
#[test]
fn a_connection_that_cannot_be_followed_has_no_goodput() {
    let goodput = |path: &Path| {
        let json = json(&[text(path), "--response-size", "100 kB"]);
        let flow = first_flow(&json).clone();
        (json["flows"].as_array().unwrap().len(), flow["metrics"]["goodput_wire_bps"].clone(), flow)
    };
    let (flows, known, _) = goodput(&capture("migration.pcapng"));
    assert!(flows == 2 && known.is_f64());
    let bare = without_secrets("migration.pcapng");
    let (flows, unknown, flow) = goodput(&bare.path());
    assert!(flows > 2, "the rest of the connection is a flow of its own");
    assert_eq!(unknown, Value::Null);
    assert!(codes(&flow).contains(&"connection_lost"), "{:?}", codes(&flow));
}

#[test]
fn a_qlog_is_joined_by_checksum_where_there_are_no_keys() {
    let bare = without_secrets("quic-go-qlog.pcapng");
    let json = json(&[text(&bare.path()), "--qlog", text(&capture("quic-go-qlog.sqlog"))]);
    assert_eq!(first_flow(&json)["metrics"]["precision_samples"], 4);
    assert!(codes(first_flow(&json)).contains(&"planned_times_not_joined"));
}

#[test]
fn without_keys_what_headers_show_is_there_and_the_rest_is_said_to_be_missing() {
    let bare = without_secrets("quiche.pcapng");
    let json = json(&[text(&bare.path())]);
    let flow = first_flow(&json);
    assert!(codes(flow).contains(&"keys_missing"), "{:?}", codes(flow));
    assert!(flow["metrics"]["gap_median_ns"].is_u64());
    assert_eq!(flow["flow"]["server_name"], "server");
    for cause in ["start_up", "ack", "application_pause", "recovery_end"] {
        assert!(flow["metrics"][format!("burst_share_{cause}")].is_null(), "{cause} cannot be known");
    }
    for missing in ["packets_lost", "rtt_median_ns", "bytes_in_flight_max", "stream_bytes"] {
        assert!(flow["metrics"][missing].is_null(), "{missing}");
        let reasons = flow["withheld"].as_array().unwrap();
        let reason = reasons.iter().find(|it| it["metrics"].as_array().unwrap().contains(&missing.into()));
        assert!(
            reason.is_some_and(|it| it["reason"].as_str().unwrap().contains("without keys")),
            "{missing}: {reasons:?}"
        );
    }
    // The keys of another connection are as good as none; lines that are no keys are counted.
    let wrong =
        Made::new(format!("CLIENT_TRAFFIC_SECRET_0 {} {}\nnonsense\n", "00".repeat(32), "11".repeat(32)).as_bytes());
    let result = analyze(&[text(&bare.path()), "--keys", text(&wrong.path())]);
    assert_eq!(result.status, Some(0));
    assert!(result.output.contains("1 lines of the key logs are not of the format"), "{}", result.output);
    assert!(result.output.contains("keys_missing"), "{}", result.output);
}

fn refused(path: &Path) -> String {
    let result = analyze(&[text(path)]);
    assert_eq!(result.status, Some(125), "{}", result.output);
    assert!(result.errors.contains(text(path)), "the file is named: {}", result.errors);
    assert!(result.errors.contains("hint:"), "{}", result.errors);
    result.errors
}

#[test]
fn what_is_no_capture_is_refused_with_its_place() {
    assert!(refused(Made::new(b"").path().as_path()).contains("byte 0: the file is empty"));
    assert!(refused(Made::new(b"<html></html>").path().as_path()).contains("byte 0: found"));
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(folder.path()).contains("found a folder"));
    // A block of 300 MB: its length is damaged, whatever follows.
    let mut block = fs::read(capture("quiche.pcapng")).unwrap();
    let at = u32::from_le_bytes(block[4..8].try_into().unwrap()) as usize;
    block[at + 4..at + 8].copy_from_slice(&300_000_000_u32.to_le_bytes());
    let result = refused(Made::new(&block).path().as_path());
    assert!(result.contains(&format!("byte {at}: a block of 300000000 bytes")), "{result}");
}

#[test]
fn a_capture_that_was_cut_off_is_measured_up_to_the_cut() {
    let whole = fs::read(capture("quiche.pcapng")).unwrap();
    let made = Made::new(&whole[..whole.len() - 7]);
    let result = analyze(&[text(&made.path()), "--json"]);
    assert_eq!(result.status, Some(1), "{}", result.errors);
    let json: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!(codes(&json["captures"][0]), ["capture_truncated"]);
    assert!(json["captures"][0]["truncated_at_byte"].as_u64().unwrap() < whole.len() as u64);
    assert!(json["captures"][0]["packets"].as_u64().unwrap() > 100);
}

#[test]
fn a_snap_length_shorter_than_the_headers_is_counted() {
    let frames: Vec<_> = (0..5).map(|time| (time, udp(4433, 5000, &[0x40; 100])[..20].to_vec(), 128)).collect();
    let json = json(&[text(&Made::new(&pcap(101, &frames)).path())]);
    assert_eq!(json["captures"][0]["skipped_frames"]["headers cut by the snap length"], 5);
    assert_eq!(codes(&json["captures"][0]), ["frames_not_understood"]);
    assert_eq!(json["flows"].as_array().unwrap().len(), 0);
}

#[test]
fn odd_packets_are_counted_and_never_fatal() {
    let mut packets = vec![
        (0, udp(4433, 5000, &[]), 28),
        (0, Vec::new(), 0),
        (1, udp(53, 5353, b"other traffic, of another protocol"), 62),
    ];
    // The same datagram twice, then time running backwards.
    packets.push((9, udp(4433, 5000, &[0x41; 600]), 628));
    packets.push((9, udp(4433, 5000, &[0x41; 600]), 628));
    packets.push((3, udp(4433, 5000, &[0x42; 600]), 628));
    let made = Made::new(&pcap(101, &packets));
    let all = json(&[text(&made.path())]);
    assert_eq!(all["flows"].as_array().unwrap().len(), 2);
    let flow = first_flow(&all);
    assert_eq!(flow["metrics"]["packets_duplicated"], 1);
    // One of four: how many there really were is not known.
    assert!(flow["metrics"]["packets_sent"].is_null() && flow["metrics"]["gap_median_ns"].is_null());
    for code in ["time_backwards", "packets_duplicated", "roles_guessed"] {
        assert!(codes(flow).contains(&code), "{code} in {:?}", codes(flow));
    }
    let of_port = json(&[text(&made.path()), "--server-port", "4433"]);
    assert_eq!(of_port["flows"].as_array().unwrap().len(), 1);
    assert_eq!(of_port["captures"][0]["other_packets"], 1);
}

#[test]
fn connections_of_one_port_are_told_apart() {
    // Two connections, one after the other, on the same ports but for the client's.
    let json = json(&[text(&capture("zero-rtt.pcapng"))]);
    let numbers: Vec<_> = json["flows"].as_array().unwrap().iter().map(|flow| flow["flow"]["number"].clone()).collect();
    assert_eq!(numbers, [0, 0, 1, 1]);
    for flow in json["flows"].as_array().unwrap() {
        assert_eq!(flow["quic_packets"]["failed"], 0);
        assert_eq!(flow["quic_packets"]["no_keys"], 0);
    }
    // A connection that moves to another port is one.
    let moved = self::json(&[text(&capture("migration.pcapng"))]);
    assert_eq!(moved["flows"].as_array().unwrap().len(), 2);
    assert_eq!(moved["flows"][0]["flow"]["migrations"], 1);
}

/// The capture is as tcpdump on a sender with segmentation offload sees packets: up to 27 kB in a frame.
#[test]
fn super_packets_are_cut_into_segments_where_keys_open_them() {
    let json = json(&[text(&capture("super-packets.pcapng"))]);
    let flow = first_flow(&json);
    assert!(codes(flow).contains(&"super_packets"), "{:?}", codes(flow));
    assert_eq!(flow["quic_packets"]["failed"], 0);
    assert!(flow["quic_packets"]["verified"].as_u64().unwrap() > 40);
    assert!(flow["metrics"]["packets_sent"].is_null() && flow["metrics"]["train_max_packets"].is_null());
    // 48 000 bytes and the framing of HTTP/3.
    assert_eq!(flow["metrics"]["stream_bytes"], 48_060);
    assert_eq!(flow["metrics"]["packet_numbers_missing"], 0);
}

#[test]
fn several_captures_are_told_apart_in_the_order_given() {
    let json = json(&[text(&capture("ipv6.pcapng")), text(&capture("aes256.pcapng")), text(&capture("ipv6.pcapng"))]);
    let files: Vec<_> =
        json["flows"].as_array().unwrap().iter().map(|flow| flow["flow"]["file"].as_str().unwrap()).collect();
    assert_eq!(files.len(), 6);
    assert!(
        files[0].ends_with("ipv6.pcapng") && files[2].ends_with("aes256.pcapng") && files[4].ends_with("ipv6.pcapng")
    );
    assert_eq!(json["flows"][0]["metrics"], json["flows"][4]["metrics"]);
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for arguments in [
        &["--train-threshold", "0 ms"][..],
        &["--window", "fast"],
        &["--server-port", "70000"],
        &["--qlog", "/no/such.qlog"],
        &["--keys", "/no/such.keys"],
    ] {
        let file = capture("quiche.pcapng");
        let result = analyze(&[&[text(&file)], arguments].concat());
        assert_eq!(result.status, Some(125), "{arguments:?}");
        assert!(!result.errors.is_empty());
    }
    let file = capture("quiche.pcapng");
    let result = analyze(&[text(&file), text(&file), "--parquet", "/tmp"]);
    assert_eq!(result.status, Some(125));
}
