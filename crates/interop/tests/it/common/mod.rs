//! Facts of the captures of real stacks, which the README.md beside them describe: those of crates/wire and our own.
#![allow(dead_code)]

use std::path::Path;

use quiclab_interop::{End, EndpointFacts, Facts, FactsSettings, Verdict, case_named, judge};
use quiclab_testing::files;
use quiclab_units::Time;
use quiclab_wire::{CaptureReader, CaptureWriter, PacketToWrite, TapDescription};

/// Reads the capture of this name, from either folder.
pub fn capture(name: &str) -> Vec<u8> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/{name}.pcapng"));
    std::fs::read(own).or_else(|_| std::fs::read(files::capture(name))).unwrap()
}

pub fn read(bytes: &[u8]) -> Facts {
    read_with(bytes, &FactsSettings::default())
}

pub fn read_with(bytes: &[u8], settings: &FactsSettings) -> Facts {
    Facts::read(CaptureReader::new(bytes).unwrap(), &[], settings).unwrap()
}

pub fn facts(name: &str) -> Facts {
    read(&capture(name))
}

/// Both endpoints did what they should, as far as they say.
pub fn well() -> EndpointFacts {
    EndpointFacts { client: End::Status(0), server: End::Signal, files_ok: Ok(()) }
}

pub fn verdict(case: &str, facts: &Facts) -> Verdict {
    judge(case_named(case).unwrap(), facts, &well())
}

/// A packet of a capture, for those who make another capture of it.
pub struct Seen {
    pub number: usize,
    /// First byte of the UDP payload.
    pub first_byte: u8,
    pub from_server: bool,
}

/// Which secrets [`remade`] keeps: all, or none.
pub const ALL: fn(&str) -> bool = |_| true;
pub const NO_KEYS: fn(&str) -> bool = |_| false;

/// The capture with every packet as often as `times` says, and with those lines of its key log that `keep` takes.
pub fn remade(name: &str, keep: fn(&str) -> bool, times: impl FnMut(&Seen) -> usize) -> Vec<u8> {
    remade_at(name, keep, times, &[0])
}

/// The same, with each packet at each of these of two taps.
pub fn remade_at(name: &str, keep: fn(&str) -> bool, mut times: impl FnMut(&Seen) -> usize, taps: &[u32]) -> Vec<u8> {
    let bytes = capture(name);
    let mut reader = CaptureReader::new(bytes.as_slice()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        let Ok(segment) = frame.segment() else { continue };
        let seen = Seen {
            number: frames.len(),
            first_byte: segment.payload[0],
            from_server: segment.source.port() == 4433 || segment.source.port() == 443,
        };
        frames.push((frame.time, frame.captured.to_vec(), times(&seen)));
    }
    let log: Vec<u8> = reader.summary().secrets.iter().flat_map(|secrets| secrets.data.clone()).collect();
    let log = String::from_utf8(log).unwrap();
    let log = log.lines().filter(|line| keep(line)).map(|line| format!("{line}\n")).collect::<String>();
    let interfaces = ["server", "behind the path"].map(|name| TapDescription { name, snap_length: None });
    let mut writer = CaptureWriter::new(Vec::new(), &interfaces, Some(log.as_bytes())).unwrap();
    let mut time = Time::default();
    for (seen_at, captured, times) in &frames {
        // Loopback is seen by several processors; the writer wants one order.
        time = time.max(*seen_at);
        for _ in 0..*times {
            for &interface in taps {
                let frame_length = captured.len() as u32;
                let packet = PacketToWrite { time, interface, frame_length, captured, direction: None };
                writer.write_packet(&packet).unwrap();
            }
        }
    }
    writer.finish().unwrap()
}

#[track_caller]
pub fn assert_passes(case: &str, facts: &Facts) {
    assert_eq!(verdict(case, facts), Verdict::Succeeded, "{case}");
}

/// Fails, with a reason that has all of these words.
#[track_caller]
pub fn assert_fails(case: &str, facts: &Facts, words: &[&str]) {
    let Verdict::Failed { reasons } = verdict(case, facts) else { panic!("{case} must fail for {words:?}") };
    let found = reasons.iter().any(|reason| words.iter().all(|word| reason.contains(word)));
    assert!(found, "{case}: no reason has {words:?}: {reasons:#?}");
}

/// Cannot be judged, with a reason that has all of these words.
#[track_caller]
pub fn assert_cannot_be_judged(case: &str, facts: &Facts, words: &[&str]) {
    let Verdict::CannotBeJudged { reasons } = verdict(case, facts) else {
        panic!("{case} cannot be judged for {words:?}, found {:?}", verdict(case, facts))
    };
    let found = reasons.iter().any(|reason| words.iter().all(|word| reason.contains(word)));
    assert!(found, "{case}: no reason has {words:?}: {reasons:#?}");
}
