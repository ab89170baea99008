//! Which packet that left is which packet that entered.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io::Read,
};

use quiclab_wire::{CaptureError, CaptureReader};

use crate::tap_packet::{TapPacket, TapReader};

/// A packet that differs from another one in more bytes is another packet.
const MOST_CHANGED_BYTES: usize = 16;
/// Packets without a partner that are compared byte by byte, at each tap.
const MOST_COMPARED: usize = 20_000;

/// Packets of one direction at both of its ends, and who is who.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// Packets where the direction begins, in the order of the capture.
    pub(crate) entered: Vec<TapPacket>,
    /// Packets where it ends.
    pub(crate) left: Vec<TapPacket>,
    /// The origin of each packet that left.
    pub(crate) origins: Vec<Origin>,
    /// Packets that entered and did not leave, by their place in `entered`.
    pub(crate) lost: Vec<usize>,
}

/// The packet that entered as one that left, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A packet that entered left as it was.
    Same(usize),
    /// A packet that had left before left once more.
    Copy(usize),
    /// A packet that entered left with other bytes, at this offset first.
    Changed {
        /// Place of the packet that entered.
        entered: usize,
        /// Offset of the first byte that differs.
        offset: usize,
        /// Bytes that differ.
        bytes: usize,
    },
    /// Nothing like it entered.
    None,
}

impl Origin {
    pub(crate) fn entered(self) -> Option<usize> {
        match self {
            Self::Same(entered) | Self::Copy(entered) | Self::Changed { entered, .. } => Some(entered),
            Self::None => None,
        }
    }
}

impl Pairing {
    /// Finds for each packet that left the one that entered. Of equal ones the first that entered is the first that left.
    pub(crate) fn pair(&mut self) {
        let mut waiting: BTreeMap<(u64, u32), (VecDeque<usize>, Option<usize>)> = BTreeMap::new();
        for (place, packet) in self.entered.iter().enumerate() {
            waiting.entry((packet.key, packet.length)).or_default().0.push_back(place);
        }
        self.origins.clear();
        for packet in &self.left {
            let origin = match waiting.get_mut(&(packet.key, packet.length)) {
                None => Origin::None,
                Some((places, last)) => match (places.pop_front(), *last) {
                    (Some(place), _) => {
                        *last = Some(place);
                        Origin::Same(place)
                    }
                    (None, Some(last)) => Origin::Copy(last),
                    (None, None) => Origin::None,
                },
            };
            self.origins.push(origin);
        }
        self.lost = waiting.into_values().flat_map(|(places, _)| places).collect();
        self.lost.sort_unstable();
    }

    /// Pairs that packets are part of which have no partner: reads their bytes once more, and takes the one that differs least.
    ///
    /// # Errors
    /// Where the capture cannot be read.
    pub(crate) fn pair_changed(&mut self, capture: impl Read, reader: &mut TapReader) -> Result<(), CaptureError> {
        let strange: Vec<usize> = (0..self.left.len()).filter(|place| self.origins[*place] == Origin::None).collect();
        if strange.is_empty() {
            return Ok(());
        }
        let strange = &strange[..strange.len().min(MOST_COMPARED)];
        let lengths: BTreeSet<u32> = strange.iter().map(|place| self.left[*place].length).collect();
        let lost = self.lost.iter().copied().filter(|place| lengths.contains(&self.entered[*place].length));
        let lost: Vec<usize> = lost.take(MOST_COMPARED).collect();
        let wanted = strange.iter().map(|place| self.left[*place].frame);
        let wanted: BTreeSet<u64> = wanted.chain(lost.iter().map(|place| self.entered[*place].frame)).collect();
        let bytes = bytes_of(capture, &wanted, reader)?;
        let mut free = lost;
        let mut found = BTreeSet::new();
        for place in strange {
            let packet = self.left[*place];
            let nearest = free.iter().enumerate().filter_map(|(index, entered)| {
                let other = &self.entered[*entered];
                let fits = other.length == packet.length && other.time <= packet.time;
                let (offset, count) = difference(bytes.get(&other.frame)?, bytes.get(&packet.frame)?)?;
                (fits && count <= MOST_CHANGED_BYTES).then_some((count, index, *entered, offset))
            });
            let Some((count, index, entered, offset)) = nearest.min() else { continue };
            free.remove(index);
            found.insert(entered);
            self.origins[*place] = Origin::Changed { entered, offset, bytes: count };
        }
        self.lost.retain(|place| !found.contains(place));
        Ok(())
    }
}

/// Where two packets differ first, and in how many bytes, as far as both were kept; `None` where they do not.
fn difference(one: &[u8], other: &[u8]) -> Option<(usize, usize)> {
    let mut differing = one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other);
    let (first, _) = differing.next()?;
    Some((first, 1 + differing.count()))
}

/// The bytes of frames without what may change, by their numbers.
fn bytes_of(
    capture: impl Read,
    wanted: &BTreeSet<u64>,
    reader: &mut TapReader,
) -> Result<BTreeMap<u64, Vec<u8>>, CaptureError> {
    let mut capture = CaptureReader::new(capture)?;
    let mut found = BTreeMap::new();
    let mut number = 0;
    while let Some(frame) = capture.next_frame()? {
        number += 1;
        if wanted.contains(&number) {
            found.insert(number, reader.masked(frame.captured));
        }
    }
    Ok(found)
}
