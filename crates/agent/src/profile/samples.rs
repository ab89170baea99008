//! Reads the records that the kernel writes while it samples (`perf_event_open(2)`).

use std::collections::BTreeMap;

/// Samples by place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sampled {
    /// Samples in the kernel.
    pub kernel: u64,
    /// Samples by program, and by offset in its file.
    pub places: BTreeMap<String, BTreeMap<u64, u64>>,
    /// Records that the kernel had no room for, as far as it told.
    pub lost: u64,
}

/// Part of a file in the memory of a process.
#[derive(Clone)]
struct Mapping {
    start: u64,
    length: u64,
    file_offset: u64,
    program: String,
}

const LOST: u32 = 2;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
/// Type, flags and length, which precede each record.
const HEADER: usize = 8;
/// Bits of a record's flags that tell what the CPU ran.
const CPU_MODE: u16 = 7;
const IN_KERNEL: u16 = 1;
/// Program of samples outside all mappings.
const UNKNOWN: &str = "[unknown]";

/// Reads records in the order in which they were written. A damaged one ends them.
pub(super) fn read(mut bytes: &[u8]) -> Sampled {
    let mut sampled = Sampled::default();
    let mut processes: BTreeMap<u32, Vec<Mapping>> = BTreeMap::new();
    while let Some((kind, flags, payload)) = next(&mut bytes) {
        // A record without what belongs into it is none.
        let _ = match kind {
            SAMPLE => sample(payload, flags, &processes, &mut sampled),
            MMAP2 => mapped(payload, &mut processes),
            FORK => forked(payload, &mut processes),
            LOST => number(payload, 8).map(|lost| sampled.lost = sampled.lost.saturating_add(lost)),
            _ => None,
        };
    }
    sampled
}

fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u32, u16, &'a [u8])> {
    let kind = short(bytes, 0)?;
    let flags = u16::from_le_bytes(bytes.get(4..6)?.try_into().ok()?);
    let length = usize::from(u16::from_le_bytes(bytes.get(6..8)?.try_into().ok()?));
    let payload = bytes.get(HEADER..length)?;
    *bytes = &bytes[length..];
    Some((kind, flags, payload))
}

fn sample(payload: &[u8], flags: u16, of: &BTreeMap<u32, Vec<Mapping>>, sampled: &mut Sampled) -> Option<()> {
    let (address, process) = (number(payload, 0)?, short(payload, 8)?);
    if flags & CPU_MODE == IN_KERNEL {
        sampled.kernel += 1;
        return Some(());
    }
    // A later mapping replaces what was at its addresses before.
    let mapping = of.get(&process).and_then(|all| {
        all.iter().rev().find(|one| address.checked_sub(one.start).is_some_and(|offset| offset < one.length))
    });
    let (program, place) = match mapping {
        Some(one) => (one.program.as_str(), (address - one.start).saturating_add(one.file_offset)),
        None => (UNKNOWN, 0),
    };
    *sampled.places.entry(program.to_owned()).or_default().entry(place).or_default() += 1;
    Some(())
}

fn mapped(payload: &[u8], processes: &mut BTreeMap<u32, Vec<Mapping>>) -> Option<()> {
    let name = payload.get(64..)?.split(|byte| *byte == 0).next()?;
    processes.entry(short(payload, 0)?).or_default().push(Mapping {
        start: number(payload, 8)?,
        length: number(payload, 16)?,
        file_offset: number(payload, 24)?,
        program: String::from_utf8_lossy(name).into_owned(),
    });
    Some(())
}

/// A process has the mappings of its parent until it maps others; a thread has those of its process.
fn forked(payload: &[u8], processes: &mut BTreeMap<u32, Vec<Mapping>>) -> Option<()> {
    let (child, parent) = (short(payload, 0)?, short(payload, 4)?);
    if child != parent {
        let inherited = processes.get(&parent).cloned().unwrap_or_default();
        processes.insert(child, inherited);
    }
    Some(())
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, flags: u16, payload: &[u8]) -> Vec<u8> {
        let length = (HEADER + payload.len()) as u16;
        [&kind.to_le_bytes()[..], &flags.to_le_bytes(), &length.to_le_bytes(), payload].concat()
    }

    fn sample_at(address: u64, process: u32, flags: u16) -> Vec<u8> {
        record(SAMPLE, flags, &[&address.to_le_bytes()[..], &process.to_le_bytes(), &process.to_le_bytes()].concat())
    }

    fn mapping(process: u32, start: u64, length: u64, offset: u64, name: &str) -> Vec<u8> {
        let mut payload = [process.to_le_bytes(), process.to_le_bytes()].concat();
        payload.extend([start, length, offset].iter().flat_map(|number| number.to_le_bytes()));
        payload.extend([0; 32]);
        payload.extend(name.as_bytes());
        payload.extend([0; 4]);
        record(MMAP2, 2, &payload)
    }

    #[test]
    fn samples_are_counted_by_offset_in_the_file_that_was_mapped_last() {
        let fork = [8_u32, 7, 8, 7, 0, 0].map(u32::to_le_bytes).concat();
        let bytes = [
            mapping(7, 0x1000, 0x1000, 0x200, "/bin/old"),
            mapping(7, 0x1000, 0x800, 0x400, "/bin/new"),
            sample_at(0x1010, 7, 2),
            sample_at(0x17ff, 7, 2),
            sample_at(0x1800, 7, 2),
            record(FORK, 0, &fork),
            sample_at(0x1010, 8, 2),
            sample_at(0x1010, 9, 2),
            sample_at(0xffff_ffff_8100_0000, 7, IN_KERNEL),
            record(LOST, 0, &[1_u64, 5].map(u64::to_le_bytes).concat()),
        ]
        .concat();
        let sampled = read(&bytes);
        let places = |of: &[(u64, u64)]| of.iter().copied().collect::<BTreeMap<_, _>>();
        assert_eq!((sampled.kernel, sampled.lost), (1, 5));
        assert_eq!(sampled.places["/bin/new"], places(&[(0x410, 2), (0xbff, 1)]));
        assert_eq!(sampled.places["/bin/old"], places(&[(0xa00, 1)]));
        assert_eq!(sampled.places[UNKNOWN], places(&[(0, 1)]));
        for end in 0..bytes.len() {
            // A ring that ends anywhere is read as far as it goes.
            let count = |sampled: &Sampled| sampled.places.values().flat_map(BTreeMap::values).sum::<u64>();
            assert!(count(&read(&bytes[..end])) <= count(&sampled));
        }
    }

    #[test]
    fn numbers_at_their_limits_and_records_without_length_do_no_harm() {
        let far = mapping(1, u64::MAX - 1, u64::MAX, u64::MAX, "/x");
        let sampled = read(&[far, sample_at(u64::MAX, 1, 2)].concat());
        assert_eq!(sampled.places["/x"][&u64::MAX], 1);
        assert_eq!(read(&[0; 64]), Sampled::default());
        assert_eq!(read(&[9, 0, 0, 0, 0, 0, 255, 255]), Sampled::default());
    }
}
