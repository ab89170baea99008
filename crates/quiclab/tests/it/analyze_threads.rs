//! `quiclab analyze` gives the same bytes with any number of threads.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::common::{output_of, quiclab};
use quiclab_testing::files::{capture, captures};
use quiclab_wire::{CaptureReader, CaptureWriter, PacketToWrite, TapDescription};
use serde_json::Value;

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../metrics/tests/data/ngtcp2-cubic-rep1.pcap.gz");
/// Where the source address of IPv4 begins in an Ethernet frame; the destination follows.
const IPV4_ADDRESSES: usize = 26;

fn shipped() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(captures())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcapng"))
        .collect();
    files.sort();
    files.push(PUBLISHED.into());
    files
}

/// Everything that the command says and writes, without names of temporary folders.
#[derive(PartialEq)]
struct Outputs {
    status: Option<i32>,
    json: String,
    errors: String,
    text: String,
    html: Vec<u8>,
}

fn outputs(file: &Path, threads: u32, more: &[&str]) -> Outputs {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let threads = threads.to_string();
    let analyze = |last: &[&str]| {
        output_of(quiclab().arg("analyze").arg(file).args(["--threads", &threads]).args(more).args(last))
    };
    let json = analyze(&["--json", "--window", "100 ms"]);
    let text = analyze(&[]);
    analyze(&["--html", page.to_str().unwrap()]);
    let html = fs::read(&page).unwrap_or_default();
    Outputs { status: json.status, json: json.output, errors: json.errors, text: text.output, html }
}

fn assert_same_with_any_number(file: &Path, more: &[&str]) -> Value {
    let alone = outputs(file, 1, more);
    for threads in [2, 5] {
        let shared = outputs(file, threads, more);
        assert!(shared == alone, "{}: {threads} threads give other output than one", file.display());
    }
    serde_json::from_str(&alone.json).unwrap_or_default()
}

/// All shipped captures of IPv4 in one file, packet by packet in turns, each between addresses of its own; one after the other
/// on the given number of interfaces.
fn interleaved(path: &Path, interfaces: u32) {
    let mut captures = Vec::new();
    let mut keys = Vec::new();
    for (index, file) in shipped().iter().enumerate() {
        let mut reader = CaptureReader::new(File::open(file).unwrap()).unwrap();
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame().unwrap() {
            let is_ipv4 = frame.captured.get(12..14) == Some(&[8, 0]);
            if frame.interface == 0 && is_ipv4 && frames.len() < 2_000 {
                let mut captured = frame.captured.to_vec();
                for address in [IPV4_ADDRESSES, IPV4_ADDRESSES + 4] {
                    captured[address] = 100 + index as u8;
                }
                frames.push((frame.time, frame.length, captured));
            }
        }
        keys.extend(reader.into_summary().secrets.into_iter().flat_map(|secrets| secrets.data));
        captures.push(frames.into_iter());
    }
    let taps = vec![TapDescription { name: "tap", snap_length: None }; interfaces as usize];
    let mut writer = CaptureWriter::new(File::create(path).unwrap(), &taps, Some(&keys)).unwrap();
    let mut time = quiclab_units::Time::from_nanos(0);
    loop {
        let before = time;
        for (index, frames) in captures.iter_mut().enumerate() {
            let Some((_, frame_length, captured)) = frames.next() else { continue };
            time = time + quiclab_units::Duration::from_nanos(1_000 + index as u64);
            let interface = index as u32 % interfaces;
            let captured = &captured[..];
            writer.write_packet(&PacketToWrite { time, interface, frame_length, captured, direction: None }).unwrap();
        }
        if time == before {
            break;
        }
    }
    writer.finish().unwrap();
}

#[test]
fn shipped_captures_give_the_same_with_any_number_of_threads() {
    for file in shipped() {
        let json = assert_same_with_any_number(&file, &[]);
        assert!(!json["flows"].as_array().unwrap().is_empty(), "{}", file.display());
    }
}

#[test]
fn interleaved_flows_give_the_same_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("interleaved.pcapng");
    for interfaces in [1, 3] {
        interleaved(&file, interfaces);
        let json = assert_same_with_any_number(&file, &[]);
        // Nearly every capture is a flow with packets of both ends.
        assert!(json["flows"].as_array().unwrap().len() > 30);
        assert_same_with_any_number(&file, &["--merge-interfaces", "--server-port", "4433"]);
    }
}

#[test]
fn a_capture_that_is_cut_or_damaged_is_told_of_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made.pcapng");
    interleaved(&file, 1);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() * 2 / 3 + 1]).unwrap();
    assert_same_with_any_number(&file, &[]);
    assert_eq!(outputs(&file, 2, &[]).status, Some(1));
    // A block that claims to be longer than any.
    let block = [&6_u32.to_le_bytes()[..], &u32::MAX.to_le_bytes(), &bytes].concat();
    let half = fs::read(capture("quic-go.pcapng")).unwrap();
    fs::write(&file, [half, block].concat()).unwrap();
    assert_same_with_any_number(&file, &[]);
    let damaged = outputs(&file, 2, &[]);
    assert_eq!(damaged.status, Some(125));
    assert!(damaged.errors.contains("4294967295"), "{}", damaged.errors);
}

#[test]
fn standard_input_gives_the_same_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("interleaved.pcapng");
    interleaved(&file, 3);
    let through_pipe = |threads: &str| {
        let mut command: Command = quiclab();
        command.args(["analyze", "-", "--json", "--threads", threads]).stdin(Stdio::from(File::open(&file).unwrap()));
        output_of(&mut command).output
    };
    let alone = through_pipe("1");
    assert!(alone.len() > 10_000);
    assert!(["2", "5"].iter().all(|threads| through_pipe(threads) == alone));
}

#[test]
fn a_trace_is_the_same_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("interleaved.pcapng");
    interleaved(&file, 3);
    let trace = |threads: &str| {
        let trace = folder.path().join(threads);
        let result =
            output_of(quiclab().arg("analyze").arg(&file).args(["--threads", threads, "--parquet"]).arg(&trace));
        assert_eq!(result.status, Some(0), "{}", result.errors);
        ["packets.parquet", "frames.parquet"].map(|name| fs::read(trace.join(name)).unwrap())
    };
    assert!(trace("1") == trace("3"));
}
