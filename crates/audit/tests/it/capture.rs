//! Captures of two taps, as records have them.

use etherparse::{IpEcn, PacketBuilder};
use quiclab_audit::{Account, AuditReport, AuditedPath, Law, LawReport, Rules, Stage, StageKind, Timing, audit};
use quiclab_units::{Duration, Time};
use quiclab_wire::{CaptureWriter, PacketToWrite, TapDescription};

const BEGIN: u64 = 1_000_000_000;

/// A packet from the server: when it was at each tap, in ns; `None` where it was not.
#[derive(Clone, Debug)]
pub struct Sent {
    pub entered: Option<u64>,
    pub left: Option<u64>,
    /// What tells it from others.
    pub number: u8,
    /// Bytes of its frame.
    pub length: usize,
    /// A byte that is another one at the second tap.
    pub changed_at: Option<usize>,
    /// The ECN bits at both taps.
    pub ecn: [u8; 2],
    /// Port of the client.
    pub port: u16,
}

/// A packet of 1000 bytes that entered and left at these times.
pub fn sent(number: u8, entered: u64, left: u64) -> Sent {
    Sent { entered: Some(entered), left: Some(left), number, length: 1000, changed_at: None, ecn: [2, 2], port: 5000 }
}

/// One that did not leave.
pub fn lost(number: u8, entered: u64) -> Sent {
    Sent { left: None, ..sent(number, entered, 0) }
}

fn frame(packet: &Sent, ecn: u8) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let mut ip = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    ip.ecn = IpEcn::try_new(ecn).unwrap();
    let builder = builder.ip(etherparse::IpHeaders::Ipv4(ip, etherparse::Ipv4Extensions::default()));
    let mut bytes = Vec::new();
    builder.udp(443, packet.port).write(&mut bytes, &vec![packet.number; packet.length - 42]).unwrap();
    bytes
}

/// The capture of these packets, whose second tap keeps `snaplen` bytes.
pub fn capture(packets: &[Sent], snaplen: Option<u32>) -> Vec<u8> {
    let mut frames = Vec::new();
    for packet in packets {
        if let Some(time) = packet.entered {
            frames.push((time, 0, frame(packet, packet.ecn[0])));
        }
        if let Some(time) = packet.left {
            let mut bytes = frame(packet, packet.ecn[1]);
            if let Some(place) = packet.changed_at {
                bytes[place] ^= 0x10;
            }
            frames.push((time, 1, bytes));
        }
    }
    frames.sort_by_key(|(time, ..)| *time);
    let tap = |name, snap_length| TapDescription { name, snap_length };
    let mut written = Vec::new();
    let mut writer = CaptureWriter::new(&mut written, &[tap("sender", None), tap("behind", snaplen)], None).unwrap();
    for (time, interface, bytes) in &frames {
        let kept = if *interface == 1 {
            snaplen.map_or(bytes.len(), |most| bytes.len().min(most as usize))
        } else {
            bytes.len()
        };
        writer
            .write_packet(&PacketToWrite {
                time: Time::from_nanos(BEGIN + time),
                interface: *interface,
                frame_length: bytes.len() as u32,
                captured: &bytes[..kept],
                direction: None,
            })
            .unwrap();
    }
    writer.finish().unwrap();
    written
}

pub fn stage(name: &str, kind: StageKind) -> Stage {
    Stage { name: name.to_owned(), kind }
}

/// A constant delay.
pub fn delay(nanoseconds: u64) -> Stage {
    stage(
        "delay",
        StageKind::Wait { at_least: Duration::from_nanos(nanoseconds), is_constant: true, keeps_order: true },
    )
}

/// A path to the client of these stages, whose times are exact.
pub fn path(stages: Vec<Stage>, account: Account) -> AuditedPath {
    AuditedPath {
        taps: [("sender".to_owned(), 0), ("behind".to_owned(), 1)],
        sender_is_server: true,
        server_port: 443,
        timing: Timing { is_exact: true, rounds_each_packet: false, in_words: "exact".to_owned() },
        directions: [
            Rules { stages, account: Some(account) },
            Rules { account: Some(Account::default()), ..Rules::default() },
        ],
    }
}

pub fn audited(packets: &[Sent], path: &AuditedPath) -> AuditReport {
    let bytes = capture(packets, None);
    audit(|| Ok(&bytes[..]), path).unwrap()
}

/// What came of a law towards the client.
pub fn law(report: &AuditReport, law: Law) -> &LawReport {
    report.directions[0].laws.iter().find(|report| report.law == law).unwrap()
}

/// The laws that are violated, with the frames and the messages.
pub fn violations(report: &AuditReport) -> Vec<(Law, u64, String)> {
    let of = |law: &LawReport| {
        let all = law.violations.iter().map(|one| (law.law, one.frame, one.message.clone()));
        all.collect::<Vec<_>>()
    };
    report.laws().flat_map(|(_, law)| of(law)).collect()
}

/// That exactly this law is violated, once, by this frame, with a message that has these words.
#[track_caller]
pub fn assert_only(report: &AuditReport, law: Law, frame: u64, words: &str) {
    let found = violations(report);
    let [(found_law, found_frame, message)] = &found[..] else {
        panic!("expected one violation of {law:?}: {found:?}")
    };
    assert_eq!((*found_law, *found_frame), (law, frame), "{message}");
    assert!(message.contains(words), "{message}");
    assert_eq!(report.violated(), 1);
}

/// That no law is violated.
#[track_caller]
pub fn assert_kept(report: &AuditReport) {
    assert_eq!(violations(report), []);
    assert_eq!(report.violated(), 0);
}
