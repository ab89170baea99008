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
/// Trains of that length for each one that is longer. A sender with a bucket of 16 packets that hands over 10 at a time had 129
/// trains of 10 and 10 of 16: one in ten was too many.
const TRAINS_FOR_A_LONGER_ONE: u64 = 20;

/// The trains of one sender that a pause preceded and the pacer ended, by their length.
#[derive(Default)]
pub(super) struct BucketMeter {
    lengths: BTreeMap<u64, u64>,
}

/// The bucket of a sender's pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    /// How many packets it holds.
    pub(super) packets: u64,
    trains: u64,
    shorter: u64,
    longer: u64,
}

impl BucketMeter {
    /// A train that is over.
    pub(super) fn on_train(&mut self, train: &Train) {
        if Waits::around(train).is_some_and(|waits| waits.is_behind_a_pause()) {
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
    /// What speaks for this train to have emptied the full bucket: it has its length, and the pacer ended it. `None` where
    /// that does not fit. The pause before it may be short: some pacers wait until the bucket is full again.
    pub(super) fn emptied_by(&self, train: &Train) -> Option<String> {
        let Waits { pause_ns, wait_ns } = Waits::around(train).filter(|_| train.packets == self.packets)?;
        let Bucket { packets, trains, shorter, longer } = self;
        Some(format!(
            "{packets} packets after a pause of {:.3} ms, the next {:.3} ms later without an ACK, so the window had \
             room for more; of this sender's trains after a pause, {trains} have that length, {shorter} are shorter \
             and {longer} longer",
            pause_ns as f64 / 1e6,
            wait_ns as f64 / 1e6
        ))
    }
}

/// Around a train that the pacer ended: the next packet needed no ACK.
struct Waits {
    /// Time without a packet before the train, in ns.
    pause_ns: u64,
    /// Time from the train to the next packet, in ns.
    wait_ns: u64,
}

impl Waits {
    fn around(train: &Train) -> Option<Waits> {
        let (pause_ns, wait_ns) = train.gap_before_ns.zip(train.gap_behind_ns)?;
        (train.window_had_room == Some(true)).then_some(Waits { pause_ns, wait_ns })
    }

    fn is_behind_a_pause(&self) -> bool {
        self.pause_ns >= PAUSE_FACTOR.saturating_mul(self.wait_ns)
    }
}
