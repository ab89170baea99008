//! A full token bucket in the pacer: after a pause it lets a constant number of packets go at once, then one at a time.
//!
//! The pattern, of one train: the sender had paused at least twice as long before it as behind it, so that the wait behind
//! it was the pacer's and not another pause; and the next packet needed no ACK, so that the congestion window had room
//! for more than went. Of the sender: many of those trains have one length, and next to none are longer. A timer with coarse
//! steps, an application that writes in pieces, and GSO batches of a busy sender make trains of a constant length too, but
//! at even distances.

use std::collections::BTreeMap;

use super::train::Train;

/// The pause before the train, as a multiple of the wait behind it.
const PAUSE_FACTOR: u64 = 2;
/// Shorter trains are ordinary pacing: two packets at a time are one for each acknowledged in slow start.
const FEWEST_PACKETS: u64 = 3;
/// Trains of the bucket's length that it takes to see that the length is constant.
const FEWEST_TRAINS: u64 = 5;
/// Trains of that length for each one that is longer.
const TRAINS_FOR_A_LONGER_ONE: u64 = 10;

/// The trains of one sender that a pause preceded and the pacer ended, by their length.
#[derive(Default)]
pub(super) struct BucketMeter {
    lengths: BTreeMap<u64, u64>,
}

/// The bucket of a sender's pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    /// That it holds.
    pub(super) packets: u64,
    trains: u64,
    shorter: u64,
    longer: u64,
}

impl BucketMeter {
    /// A train that is over.
    pub(super) fn on_train(&mut self, train: &Train) {
        if pause_and_wait(train).is_some() {
            *self.lengths.entry(train.packets).or_insert(0) += 1;
        }
    }

    /// `None` where no length is constant enough.
    pub(super) fn find(&self) -> Option<Bucket> {
        let all: u64 = self.lengths.values().sum();
        let mut longer = 0;
        for (packets, trains) in self.lengths.iter().rev() {
            let one_less = packets.checked_sub(1).and_then(|packets| self.lengths.get(&packets)).copied().unwrap_or(0);
            let is_constant =
                *trains >= FEWEST_TRAINS && longer * TRAINS_FOR_A_LONGER_ONE <= *trains && one_less < *trains;
            if is_constant {
                let bucket = Bucket { packets: *packets, trains: *trains, shorter: all - longer - trains, longer };
                return Some(bucket).filter(|bucket| bucket.packets >= FEWEST_PACKETS);
            }
            longer += trains;
        }
        None
    }
}

impl Bucket {
    /// What speaks for this train to have emptied the full bucket; `None` where the pattern does not fit.
    pub(super) fn emptied_by(&self, train: &Train) -> Option<String> {
        let (pause_ns, wait_ns) = pause_and_wait(train).filter(|_| train.packets == self.packets)?;
        Some(format!(
            "{} packets after a pause of {:.3} ms, as in {} trains of this sender ({} shorter, {} longer); the next packet \
             came {:.3} ms later without an ACK, so the window had room for more",
            train.packets,
            pause_ns as f64 / 1e6,
            self.trains,
            self.shorter,
            self.longer,
            wait_ns as f64 / 1e6
        ))
    }
}

/// The pause before the train and the wait behind it, in ns, where the train fits the pattern.
fn pause_and_wait(train: &Train) -> Option<(u64, u64)> {
    let (pause, wait) = train.gap_before_ns.zip(train.gap_behind_ns)?;
    let fits = train.window_had_room == Some(true) && pause >= PAUSE_FACTOR.saturating_mul(wait);
    fits.then_some((pause, wait))
}
