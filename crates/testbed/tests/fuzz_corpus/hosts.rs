//! What hosts of a run say, and what is made of it.

use std::{
    fmt::Write,
    fs::File,
    io::{BufRead, BufReader, Read, Seek},
    path::Path,
    sync::Mutex,
};

use quiclab_agent_protocol::{
    activity::{ACTIVITY, Activity, Sampling},
    hosts::{Answer, Exchange},
    orders::Orders,
    report::Outcome,
    slot::{BLOCK, MANIFEST_ROOM},
};
use quiclab_record::{ClockSeen, OffsetSeen};
use quiclab_testbed::{
    guest::{path::StageNames, results::Results},
    hosts::{
        merge::{Corrections, Handed, report, write},
        messages::{MessageReader, What},
        offsets::offset,
        spool::Spool,
    },
};
use quiclab_units::Duration;
use quiclab_wire::Capture;

fn ordered() -> Orders {
    Orders { sampling: Some(Sampling { step_ns: 1, system_calls: true }), ..super::orders() }
}

/// What was heard.
#[derive(Default)]
struct Heard {
    /// All of it, in words.
    text: String,
    handed: Vec<Handed>,
    offsets: Vec<OffsetSeen>,
}

/// Whatever hosts say, one after the other: it is read the same whole and byte by byte, is stored no longer than it says, and makes a slot that is
/// no longer than what was stored.
pub fn hosts(input: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let Heard { text, mut handed, offsets } = heard(input, folder.path());
    assert_eq!(text, heard(BufReader::with_capacity(1, input), folder.path()).text);
    let (Some(first), Some(last)) = (handed.first(), handed.last()) else { return };
    let merged = report(Outcome::Done, &first.manifest.report, None, &last.manifest.report, None);
    let stored: u64 = handed.iter().map(|one| one.blobs.metadata().expect("its length").len()).sum();
    let blobs: usize = handed.iter().map(|one| one.manifest.blobs.len()).sum();
    let clock = offsets.first().map(|before| ClockSeen::of(*before, offsets.get(1).copied(), Duration::from_nanos(1)));
    let path = folder.path().join("slot");
    let corrections =
        Corrections { client: clock.as_ref(), sniffer: clock.as_ref(), sniffed: Some([2, 0, 0, 0, 0, 1]) };
    if write(&path, merged, &mut handed, corrections).is_err() {
        return;
    }
    let slot = File::open(&path).expect("it was written");
    let length = slot.metadata().expect("its length").len();
    let Ok(mut results) = Results::open("hosts", slot, &ordered(), &StageNames::default()) else { return };
    let mut most = MANIFEST_ROOM + stored + (blobs * BLOCK) as u64;
    if let Some(json) = results.bytes(ACTIVITY).expect("it is in the slot") {
        serde_json::from_slice::<Activity>(&json).expect("what was written is read");
        most += (json.len() + BLOCK) as u64;
    }
    assert!(length <= most, "a slot of {length} bytes, expected at most {most}");
    let mut capture = Vec::new();
    if results.write_capture(&mut capture).is_ok() {
        Capture::read(&capture[..]).expect("what was written is read");
    }
}

fn heard(output: impl BufRead, folder: &Path) -> Heard {
    let spool = Mutex::new(Spool::of(folder.to_path_buf(), ordered()));
    let (mut said, mut found) = (MessageReader::new(output), Heard::default());
    loop {
        // Each of some hosts hands over its results once.
        let what = match said.next(found.handed.len().min(3), &spool) {
            Ok(Some(what)) => what,
            // Without a backtrace, which names who reads.
            end => {
                let _ = write!(found.text, "{:?}", end.map_err(|error| format!("{error:#}")));
                return found;
            }
        };
        match what {
            What::Results(manifest, mut blobs) => {
                let mut bytes = Vec::new();
                blobs.rewind().and_then(|()| blobs.read_to_end(&mut bytes)).expect("what was stored");
                let length: u64 = manifest.blobs.iter().map(|blob| blob.length).sum();
                assert_eq!(bytes.len() as u64, length);
                let _ = write!(found.text, "{manifest:?} {bytes:?}");
                found.handed.push(Handed { manifest: *manifest, blobs });
            }
            What::Answer(answer) => {
                let _ = write!(found.text, "{answer:?}");
                if let Answer::Exchanges { exchanges } = answer {
                    found.offsets.extend(seen(&exchanges));
                }
            }
            other => {
                let _ = write!(found.text, "{other:?}");
            }
        }
    }
}

/// What packets say of two clocks: a time between the first and the last of them.
fn seen(exchanges: &[Exchange]) -> Option<OffsetSeen> {
    let found = offset(exchanges)?;
    assert!(exchanges.iter().any(|one| (one.sent_ns..=one.received_ns).contains(&found.at_ns)), "{found:?}");
    let uncertainty = Duration::from_nanos(found.uncertainty_ns);
    Some(OffsetSeen { at_ns: found.at_ns, server_ahead_ns: found.server_ahead_ns, uncertainty, exchanges: 1 })
}
