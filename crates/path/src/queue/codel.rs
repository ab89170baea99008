//! Controlled Delay (RFC 8289): drops from the head once packets have waited longer than a target for a whole interval.

use quiclab_units::{ByteCount, Duration, Time};

use super::{Limit, QueueDiscipline};
use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, DropCause, Fates},
};

/// What CoDel is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelSettings {
    /// The delay that is acceptable for good; 5 ms (RFC 8289, section 4.4).
    pub target: Duration,
    /// How long it may be exceeded: a worst-case round-trip time, 100 ms (RFC 8289, section 4.3).
    pub interval: Duration,
    /// Number of waiting bytes up to which nothing is dropped: the largest packet of the link.
    pub largest_packet_bytes: u32,
}

impl Default for CoDelSettings {
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), largest_packet_bytes: 1514 }
    }
}

/// One queue under CoDel, which also has a hard limit.
#[derive(Debug)]
pub struct CoDel<P> {
    settings: CoDelSettings,
    limit: Limit,
    controller: Controller,
    waiting: Fifo<P>,
}

impl<P> CoDel<P> {
    /// Holds as much as `limit` at most.
    pub fn new(settings: CoDelSettings, limit: Limit) -> Self {
        Self { settings, limit, controller: Controller::default(), waiting: Fifo::default() }
    }
}

impl<P> QueueDiscipline<P> for CoDel<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>) {
        if self.limit.has_room(self.waiting.backlog(), packet.bytes) {
            self.waiting.push(now, packet);
        } else {
            fates.drop(packet, DropCause::QueueFull);
        }
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        self.controller.dequeue(now, &self.settings, &mut self.waiting, fates)
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

/// The state of RFC 8289, section 5.3, under its names.
#[derive(Debug, Default)]
pub(crate) struct Controller {
    /// When the delay will have been above the target for an interval; `None` while it is below.
    first_above_time: Option<Time>,
    /// When the next packet is to be dropped.
    drop_next: Time,
    /// Packets dropped since the dropping state began.
    count: u32,
    /// Its value when that state began last.
    last_count: u32,
    dropping: bool,
}

impl Controller {
    /// The next packet, after those that are to be dropped (RFC 8289, section 5.4, `dequeue`). Where a packet can be marked, that takes the
    /// place of the drop (section 5.4: "drop (or mark)").
    pub(crate) fn dequeue<P>(
        &mut self,
        now: Time,
        settings: &CoDelSettings,
        queue: &mut Fifo<P>,
        fates: &mut Fates<P>,
    ) -> Option<(Time, Packet<P>)> {
        let (mut entered, mut packet, mut may_drop) = self.look(now, settings, queue)?;
        if self.dropping {
            if !may_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if fates.mark(&mut packet) {
                    self.drop_next = control_law(self.drop_next, settings.interval, self.count);
                    return Some((entered, packet));
                }
                fates.drop(packet, DropCause::Early);
                (entered, packet, may_drop) = self.look(now, settings, queue)?;
                if may_drop {
                    self.drop_next = control_law(self.drop_next, settings.interval, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            let next = if fates.mark(&mut packet) {
                Some((entered, packet))
            } else {
                fates.drop(packet, DropCause::Early);
                self.look(now, settings, queue).map(|(entered, packet, _)| (entered, packet))
            };
            // Where the last dropping state ended lately, its rate is where this one begins.
            let delta = self.count.saturating_sub(self.last_count);
            let since = now.as_nanos().saturating_sub(self.drop_next.as_nanos());
            let is_recent = since < 16 * settings.interval.as_nanos();
            self.dropping = true;
            self.count = if delta > 1 && is_recent { delta } else { 1 };
            self.drop_next = control_law(now, settings.interval, self.count);
            self.last_count = self.count;
            return next;
        }
        Some((entered, packet))
    }

    /// When the next packet came, the packet, and whether it may be dropped (RFC 8289, section 5.4, `dodequeue`). An empty queue ends the dropping state.
    fn look<P>(&mut self, now: Time, settings: &CoDelSettings, queue: &mut Fifo<P>) -> Option<(Time, Packet<P>, bool)> {
        let Some((entered, packet)) = queue.pop() else {
            self.first_above_time = None;
            self.dropping = false;
            return None;
        };
        let sojourn = now.checked_since(entered).unwrap_or_default();
        if sojourn < settings.target || queue.backlog().bytes <= u64::from(settings.largest_packet_bytes) {
            self.first_above_time = None;
            return Some((entered, packet, false));
        }
        let may_drop = match self.first_above_time {
            None => {
                self.first_above_time = Some(now + settings.interval);
                false
            }
            Some(time) => now >= time,
        };
        Some((entered, packet, may_drop))
    }
}

/// When the drop after the `count`th is due (RFC 8289, section 5.4, `control_law`).
fn control_law(time: Time, interval: Duration, count: u32) -> Time {
    time + Duration::from_nanos((interval.as_nanos() as f64 / f64::from(count).sqrt()) as u64)
}

stage_settings! {
    /// Controlled Delay (RFC 8289): drops, or marks, from the head once packets have waited longer than a target for a whole interval.
    CoDelStageSettings: "queue", discipline = "codel" {
        /// how much it holds at most
        limit: Limit,
        /// the delay that is acceptable for good
        target: Duration = CoDelSettings::default().target,
        /// how long it may be exceeded: a worst-case round-trip time
        interval: Duration = CoDelSettings::default().interval,
        /// with so many bytes or fewer waiting nothing is dropped
        largest_packet: ByteCount = LARGEST_PACKET,
    }
}

/// What `include/net/codel_impl.h` of Linux does in another way.
pub(super) const KERNELS_CODEL: &str = "its CoDel counts time in units of 1024 ns and takes an approximate square root";

/// A whole frame.
pub(super) const LARGEST_PACKET: ByteCount = ByteCount::from_bytes(1514);

/// The parameters from those of a stage.
pub(super) fn codel_settings(
    target: Duration,
    interval: Duration,
    largest_packet: ByteCount,
) -> Result<CoDelSettings, String> {
    for (key, time) in [("target", target), ("interval", interval)] {
        if time == Duration::ZERO {
            return Err(format!("{key}: found 0 ns, expected more"));
        }
    }
    let largest_packet_bytes = u32::try_from(largest_packet.as_bytes())
        .map_err(|_| format!("largest_packet: found {largest_packet}, expected less than 4 GiB"))?;
    Ok(CoDelSettings { target, interval, largest_packet_bytes })
}

impl StageKind for CoDelStageSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        let settings = codel_settings(self.target, self.interval, self.largest_packet)?;
        Ok(Part::Queue(Box::new(CoDel::new(settings, self.limit))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused(KERNELS_CODEL.to_owned())
    }
}
