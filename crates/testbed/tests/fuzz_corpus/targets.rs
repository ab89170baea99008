//! What the fuzzer runs (`crates/testbed/fuzz`), and what `tests/fuzz_corpus.rs` replays: one function for each target.
//! A wrong answer panics as a crash does.
#![allow(dead_code)]

pub mod forged;
pub mod hosts;

use std::{
    io,
    path::{Component, Path},
};

use quiclab_agent_protocol::{
    orders::{Listen, Orders, Program, Tap, Transfer, Transport},
    results::check,
    ring::{LEAST_PACKET, for_each_packet},
    slot::{MANIFEST_ROOM, Manifest},
};
use quiclab_testbed::{
    guest::{
        path::StageNames,
        results::{Results, Slot, problem_of},
    },
    sim::answer::{answer, length},
};
use quiclab_wire::Capture;

pub use forged::results;
pub use hosts::hosts;

type Target = fn(&[u8]);

/// All targets by the names of their corpora.
pub const ALL: [(&str, Target); 5] =
    [("slot", slot), ("ring", ring), ("results", results), ("program_answer", program_answer), ("hosts", hosts)];

/// Length of the slot of these runs.
const SLOT_BYTES: u64 = MANIFEST_ROOM + (1 << 20);

/// Orders of a run with taps and two files.
pub fn orders() -> Orders {
    let program = || Program {
        command: vec!["/bin/true".into()],
        environment: Default::default(),
        folder: "/".into(),
        awaits_simulator: false,
        host: None,
    };
    Orders {
        machine: None,
        start_shift_ns: 0,
        network: Default::default(),
        has_ipv6: true,
        timer_slack_ns: 0,
        tap: Some(Tap { snaplen_bytes: Some(100), bottleneck_snaplen_bytes: None, room_bytes: 0, of_client: false }),
        transfer: Transfer {
            names: vec!["a".into(), "b".into()],
            size_bytes: 10_000,
            seed: 0,
            zeros: false,
            discard: false,
            timeout_ns: 0,
        },
        files: Vec::new(),
        server: program(),
        client: program(),
        listen: Listen { transport: Transport::Udp, port: 443, timeout_ns: 0 },
        log_limit_bytes: 100_000,
        cpus: Default::default(),
        cross_traffic: None,
        sampling: None,
        profile_period_ns: None,
    }
}

/// A slot of which only the beginnings of its two parts are not zero: what is in front of the blobs, and the blobs.
pub struct Sparse<'a> {
    pub head: &'a [u8],
    pub blobs: &'a [u8],
}

impl Slot for Sparse<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(SLOT_BYTES)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= SLOT_BYTES);
        end.ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.fill(0);
        for (start, bytes) in [(0, self.head), (MANIFEST_ROOM, self.blobs)] {
            let from = offset.max(start);
            let until = (offset + buffer.len() as u64).min(start + bytes.len() as u64);
            if from < until {
                let piece = &bytes[(from - start) as usize..(until - start) as usize];
                buffer[(from - offset) as usize..(until - offset) as usize].copy_from_slice(piece);
            }
        }
        Ok(())
    }
}

/// A slot of any bytes. The first two say how long the part in front of the blobs is.
pub fn slot(input: &[u8]) {
    let Some((length, rest)) = input.split_first_chunk() else { return };
    let (head, blobs) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    read(Sparse { head, blobs });
}

/// Reads everything of a slot that a run reads. What was accepted keeps within its bounds.
pub fn read(slot: Sparse) {
    let Ok(mut results) = Results::open("vm", slot, &orders(), &StageNames::default()) else { return };
    check_bounds(results.manifest());
    let mut capture = Vec::new();
    if results.write_capture(&mut capture).is_ok() {
        Capture::read(&capture[..]).expect("what was written is read");
    }
}

/// What [`check`] promises.
fn check_bounds(manifest: &Manifest) {
    let orders = orders();
    assert_eq!(check(manifest, SLOT_BYTES, &orders), Ok(()));
    let sum: u64 = manifest.blobs.iter().map(|blob| blob.length).sum();
    assert!(sum <= SLOT_BYTES - MANIFEST_ROOM, "{sum} bytes come out of a slot of {SLOT_BYTES}");
    for (number, blob) in manifest.blobs.iter().enumerate() {
        for other in &manifest.blobs[..number] {
            let is_apart = blob.offset >= other.offset + other.length || other.offset >= blob.offset + blob.length;
            assert!(is_apart || blob.length == 0 || other.length == 0, "{blob:?} and {other:?} overlap");
            assert_ne!(blob.name, other.name);
        }
        let is_log = blob.name.starts_with("server/") || blob.name.starts_with("client/");
        if is_log && problem_of(&blob.name).is_none() {
            let parts = Path::new(&blob.name).components();
            assert!(parts.clone().all(|part| matches!(part, Component::Normal(_))), "{:?}", blob.name);
            assert!(parts.count() >= 2 && !blob.name.contains('\0'), "{:?}", blob.name);
        }
    }
    assert!(manifest.report.taps.len() <= 2);
}

/// A ring of any bytes. The first byte says how long its blocks are.
pub fn ring(input: &[u8]) {
    let Some((bits, ring)) = input.split_first() else { return };
    let block_bytes = 64_usize << (bits % 8);
    let (mut packets, mut bytes, mut end) = (0, 0, ring.as_ptr() as usize);
    let _ = for_each_packet(ring, block_bytes, |packet| {
        packets += 1;
        bytes += packet.bytes.len();
        let start = packet.bytes.as_ptr() as usize;
        assert!(start >= end, "packets overlap");
        end = start + packet.bytes.len();
        assert!(packet.bytes.len() <= packet.original_length as usize);
    });
    assert!(packets * LEAST_PACKET <= ring.len() && bytes <= ring.len(), "{packets} packets of {bytes} bytes");
}

/// Answers of a program without sockets: whatever it says, what is read keeps the limits of the reference, and is all of what it said.
pub fn program_answer(input: &[u8]) {
    let Some((first, rest)) = input.split_first_chunk() else { return };
    if let Ok(length) = length(*first) {
        assert!(length <= 16 << 20);
    }
    let Ok(read) = answer(rest) else { return };
    let mut datagrams = 0;
    let mut bytes = 1 + 8 + 2;
    for buffer in &read.buffers {
        assert!(buffer.ecn < 4 && buffer.segment > 0);
        assert!((1..=65_507).contains(&buffer.payload.len()));
        assert!(buffer.datagrams().len() <= 128);
        assert_eq!(buffer.datagrams().map(|one| one.payload).collect::<Vec<_>>().concat(), buffer.payload);
        datagrams += buffer.datagrams().len();
        bytes += 1 + 2 + 8 + 4 + buffer.payload.len();
    }
    assert!(datagrams <= 32_768);
    assert_eq!(bytes, rest.len());
}
