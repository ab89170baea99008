//! A token bucket as Linux's TBF is: packets pass at once while there are tokens, and otherwise wait for them.

use quiclab_units::{ByteCount, Time};

use crate::{
    clock::{PositiveRate, SECOND},
    content::Payload,
    link::Link,
    packet::Packet,
    queue::QueueDiscipline,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, DropCause, Out, Stage},
};

/// Lets packets pass at a rate on average, and at once up to the depth of the bucket.
pub struct TokenBucket<P, Q> {
    rate: PositiveRate,
    queue: Q,
    /// A full bucket, in bits times nanoseconds per second, so that a nanosecond adds just the rate.
    depth: u128,
    tokens: u128,
    /// When the tokens were counted last.
    counted: Time,
    /// The packet that waits for tokens.
    next: Option<Packet<P>>,
}

impl<P, Q: QueueDiscipline<P>> TokenBucket<P, Q> {
    /// Full at first. A packet that is longer than `burst_bytes` never passes: it is dropped.
    pub fn new(rate: PositiveRate, burst_bytes: u64, queue: Q) -> Self {
        let depth = scaled(burst_bytes);
        Self { rate, queue, depth, tokens: depth, counted: Time::from_nanos(0), next: None }
    }

    fn count(&mut self, now: Time) {
        let elapsed = now.as_nanos().saturating_sub(self.counted.as_nanos());
        let earned = u128::from(elapsed) * u128::from(self.rate.as_bits_per_second());
        self.tokens = (self.tokens + earned).min(self.depth);
        self.counted = now;
    }

    /// When the tokens are enough for `packet`.
    fn enough(&self, packet: &Packet<P>) -> Time {
        let missing = scaled(packet.bytes.into()).saturating_sub(self.tokens);
        let wait = missing.div_ceil(u128::from(self.rate.as_bits_per_second()));
        Time::from_nanos(self.counted.as_nanos().saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)))
    }

    fn pass_due(&mut self, now: Time, out: &mut Out<P>) {
        self.count(now);
        loop {
            if self.next.is_none() {
                self.next = self.queue.dequeue(now, &mut out.fates).map(|(_, packet)| packet);
                self.queue.set_held_by_bucket(self.next.is_some());
            }
            let Some(packet) = &self.next else { return };
            if self.enough(packet) > now {
                return;
            }
            if let Some(packet) = self.next.take() {
                self.queue.set_held_by_bucket(false);
                self.tokens -= scaled(packet.bytes.into());
                out.pass(packet);
            }
        }
    }
}

/// Bytes in the unit of tokens.
fn scaled(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(SECOND)
}

impl<P, Q: QueueDiscipline<P>> Stage<P> for TokenBucket<P, Q> {
    fn name(&self) -> &'static str {
        "token-bucket"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if scaled(packet.bytes.into()) > self.depth {
            out.drop(packet, DropCause::TooLong);
            return;
        }
        self.queue.enqueue(now, packet, &mut out.fates);
        self.pass_due(now, out);
    }

    fn next_time(&self) -> Option<Time> {
        match &self.next {
            Some(packet) => Some(self.enough(packet)),
            None => self.queue.ready_time(),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        self.pass_due(now, out);
    }

    fn backlog(&self) -> Backlog {
        let mut backlog = self.queue.backlog();
        if let Some(packet) = &self.next {
            backlog.add(packet.bytes);
        }
        backlog
    }
}

stage_settings! {
    /// Lets packets pass at a rate, from the queue right before it. With `burst` it is a token bucket: packets pass at once while there
    /// are tokens. Without, it is a link, which packets leave one after the other, each after the time that its bits take.
    RateSettings: "rate" {
        /// the rate; counts frames with their Ethernet header, without check sequence
        rate: PositiveRate,
        /// depth of the bucket: at least a whole frame, 1514 B, or none ever passes
        burst: Option<ByteCount>,
    }
}

impl RateSettings {
    /// The largest frame without jumbo frames: a bucket below it could never let one through.
    pub const LARGEST_FRAME_BYTES: u64 = 1514;
}

impl StageKind for RateSettings {
    fn check(&self) -> Result<(), String> {
        match self.burst.map(ByteCount::as_bytes) {
            Some(burst) if burst < Self::LARGEST_FRAME_BYTES => {
                Err(format!("burst: found {burst} B, expected at least {} B, a whole frame", Self::LARGEST_FRAME_BYTES))
            }
            _ => Ok(()),
        }
    }

    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        let rate = self.rate;
        let Some(burst) = self.burst.map(ByteCount::as_bytes) else {
            return Ok(Part::Rate(Box::new(move |queue| Box::new(Link::new(rate, queue)))));
        };
        Ok(Part::Rate(Box::new(move |queue| Box::new(TokenBucket::new(rate, burst, queue)))))
    }

    fn kernel(&self) -> Kernel {
        let bits = self.rate.as_bits_per_second();
        if !bits.is_multiple_of(8) {
            return Kernel::Refused(format!(
                "the kernel counts whole bytes per second, and {bits} bit/s is no multiple of 8 bit/s"
            ));
        }
        let rate_bytes_per_second = bits / 8;
        match self.burst.map(|burst| u32::try_from(burst.as_bytes())) {
            None => Kernel::Link { rate_bytes_per_second },
            Some(Ok(burst_bytes)) => Kernel::Bucket { rate_bytes_per_second, burst_bytes },
            Some(Err(_)) => Kernel::Refused("the kernel's token bucket holds less than 4 GiB".to_owned()),
        }
    }
}
