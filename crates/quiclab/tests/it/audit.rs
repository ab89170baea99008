//! The auditor on runs of real stacks: as they are, and altered by hand.

use std::{fs, path::Path};

use quiclab_record::{AuditReport, Record, audit_record, layout::CAPTURE_FILE};
use quiclab_units::Time;
use quiclab_wire::{CaptureReader, CaptureWriter, PacketToWrite, TapDescription};

use crate::common::{CommandOutput, output_of, prepared::Prepared, quiclab};

/// A packet of a capture.
#[derive(Clone)]
struct Captured {
    time: u64,
    interface: u32,
    length: u32,
    bytes: Vec<u8>,
}

/// Reads the packets of a capture, changes them, and writes them in the order of time.
fn alter(capture: &Path, change: impl FnOnce(&mut Vec<Captured>)) {
    let bytes = fs::read(capture).unwrap();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        let (interface, length) = (frame.interface, frame.length);
        packets.push(Captured { time: frame.time.as_nanos(), interface, length, bytes: frame.captured.to_vec() });
    }
    change(&mut packets);
    packets.sort_by_key(|packet| packet.time);
    let interfaces = reader.into_summary().interfaces;
    let tap = |one: &'_ quiclab_wire::Interface| (one.name.clone().unwrap(), one.snap_length);
    let taps: Vec<_> = interfaces.iter().map(tap).collect();
    let taps: Vec<_> =
        taps.iter().map(|(name, snap_length)| TapDescription { name, snap_length: *snap_length }).collect();
    let mut written = Vec::new();
    let mut writer = CaptureWriter::new(&mut written, &taps, None).unwrap();
    for packet in &packets {
        let Captured { time, interface, length, bytes } = packet;
        let time = Time::from_nanos(*time);
        let packet =
            PacketToWrite { time, interface: *interface, frame_length: *length, captured: bytes, direction: None };
        writer.write_packet(&packet).unwrap();
    }
    writer.finish().unwrap();
    fs::write(capture, written).unwrap();
}

/// The first frame from `after` on that this tap saw of the server, by its index, with that of the same packet at the tap at the sender.
fn from_server(packets: &[Captured], tap: u32, after: usize) -> usize {
    let is_from_server =
        |packet: &Captured| packet.interface == tap && packet.bytes.get(34..36) == Some(&443_u16.to_be_bytes());
    after + packets[after..].iter().position(is_from_server).unwrap()
}

/// What the auditor says of a record of virtual machines whose capture was altered.
fn audited_after(change: impl FnOnce(&mut Vec<Captured>)) -> AuditReport {
    let results = Prepared::Controllers.copy();
    let name = Prepared::Controllers.records()[0].file_name().unwrap().to_owned();
    let folder = results.path().join(name);
    // Read before, because a changed file is damage.
    let record = Record::load(&folder).unwrap();
    alter(&folder.join(CAPTURE_FILE), change);
    audit_record(&folder, &record.run.run, &record.observed).unwrap()
}

/// The violations: the law, the frame, and what is wrong.
fn violations(report: &AuditReport) -> Vec<(String, u64, String)> {
    let laws = report.laws().flat_map(|(direction, law)| {
        let name = format!("{direction}: {}", law.law.in_words());
        law.violations.iter().map(move |one| (name.clone(), one.frame, one.message.clone()))
    });
    laws.collect()
}

#[test]
fn a_real_run_keeps_every_law_and_one_that_was_written_again_does_too() {
    let report = audited_after(|_| {});
    assert_eq!(violations(&report), []);
    for (direction, law) in report.laws() {
        let is_timeless = law.not_audited.iter().any(|why| why.contains("the record does not say when"));
        // A direction without a rate has none to keep.
        let has_nothing = direction == "to_server" && law.law.in_words() == "none over the rate";
        assert!(law.checked > 100 || is_timeless || has_nothing, "{direction}: {law:?}");
    }
}

#[test]
fn a_packet_that_is_missing_at_a_tap_is_caught() {
    let is_same =
        |one: &Captured, other: &Captured| one.interface == 0 && one.bytes.get(42..128) == Some(&other.bytes[42..128]);
    let mut frame = 0;
    let report = audited_after(|packets| {
        let removed = packets.remove(from_server(packets, 1, packets.len() / 2));
        frame = 1 + packets.iter().position(|packet| is_same(packet, &removed)).unwrap() as u64;
    });
    // The path dropped nothing in this run.
    let lost = "it did not leave, and no stage lists it as dropped".to_owned();
    assert_eq!(violations(&report), [("to_client: every loss accounted for".to_owned(), frame, lost)]);

    let report = audited_after(|packets| {
        let behind = from_server(packets, 1, packets.len() / 2);
        let sent = packets.iter().position(|packet| is_same(packet, &packets[behind])).unwrap();
        packets.remove(sent);
        // Its number, counted from 1, with one frame less before it.
        frame = behind as u64;
    });
    let found = violations(&report);
    assert!(
        found.iter().any(|(law, at, _)| law == "to_client: no packet created" && *at == frame),
        "{frame}: {found:?}"
    );
}

#[test]
fn a_packet_that_left_a_nanosecond_before_its_delay_had_passed_is_caught() {
    let mut early = 0;
    let report = audited_after(|packets| {
        let behind = from_server(packets, 1, 0);
        // The first packet waits for nothing but its delay, and only then for the kernel.
        let sent = from_server(packets, 0, 0);
        assert_eq!(packets[sent].bytes[42..128], packets[behind].bytes[42..128]);
        let record = Record::load(&Prepared::Controllers.records()[0]).unwrap();
        let delay = record.run.run.settings.path.delay_to_client.as_nanos();
        early = packets[sent].time + delay - 1;
        packets[behind].time = early;
    });
    let found = violations(&report);
    let [(law, _, message)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(law, "to_client: none faster than its delay");
    assert!(message.starts_with("it left 1 ns before its delay of "), "{message}");
}

#[test]
fn a_byte_that_was_changed_at_a_tap_is_caught() {
    let mut frame = 0;
    let report = audited_after(|packets| {
        let behind = from_server(packets, 1, packets.len() / 2);
        packets[behind].bytes[77] ^= 1;
        frame = behind as u64 + 1;
    });
    let found = violations(&report);
    let [(law, at, message)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((law.as_str(), *at), ("to_client: content unchanged", frame));
    assert!(
        message.starts_with("1 of its bytes changed, at offset 77 first, and no stage accounts for it"),
        "{message}"
    );
}

fn check(folder: &Path, more: &[&str]) -> CommandOutput {
    output_of(quiclab().args(["check", "--audit"]).arg(folder).args(more))
}

#[test]
fn check_audits_records_that_exist_and_names_what_it_could_not_audit() {
    let result = check(&Prepared::Controllers.results(), &[]);
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    assert!(result.output.contains("audit: 4 of 4 records keep every law that was audited"), "{}", result.output);
    assert!(
        result.output.contains("not audited   to_client: none over the buffer: the queue delay: "),
        "{}",
        result.output
    );

    // Of real time as well.
    let result = check(&Prepared::RealTime.results(), &[]);
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    assert!(result.output.contains("audit: 1 of 1 records keep every law that was audited"), "{}", result.output);

    let result = check(&Prepared::Models.results(), &[]);
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    assert!(result.output.contains("audit: no record has packets"), "{}", result.output);
}

#[test]
fn a_record_that_violates_a_law_counts_in_the_exit_status_of_check() {
    let results = Prepared::Controllers.copy();
    let name = Prepared::Controllers.records()[0].file_name().unwrap().to_owned();
    let capture = results.path().join(&name).join(CAPTURE_FILE);
    let mut bytes = fs::read(&capture).unwrap();
    // Some byte of the last packet that is long enough; the length of the file stays, so that nobody takes it for damaged.
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let mut at = 0;
    while let Some(frame) = reader.next_frame().unwrap() {
        if frame.interface == 1 && frame.length > 1000 {
            at = frame.byte_offset as usize;
        }
    }
    // Behind the head of a block, at byte 72 of the frame.
    bytes[at + 28 + 72] ^= 1;
    fs::write(&capture, bytes).unwrap();
    let result = check(results.path(), &[]);
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
    assert!(result.output.contains("audit: 3 of 4 records keep every law"), "{}", result.output);
    assert!(result.output.contains("1 of its bytes changed, at offset 72 first"), "{}", result.output);
    let result = check(results.path(), &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!(json["violated"], 1);
    assert_eq!(json["results"][0]["audits"][0]["audit"]["directions"][0]["direction"], "to_client");
}
