//! Packets that left before a rate could have carried them.
//!
//! Each rate gives an earliest schedule: when each packet could have left had every stage been as fast as its settings allow, given when the
//! packets entered. That never is too strict, however late a real path is: what leaves late makes nothing behind it earlier. Where times are
//! exact, any window of time must also carry no more than the rate.

use quiclab_units::Duration;

use crate::{
    evidence::Evidence,
    law::{Findings, Law, LawReport},
    pairing::Origin,
    rules::{Rules, Stage, StageKind},
    times::least_delay,
};

/// Nanoseconds in a second: bits in this unit times a rate's nanoseconds are whole numbers.
const SECOND: u128 = 1_000_000_000;

/// No packet leaves before all rates could have carried it.
pub(crate) fn rate(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::Rate, evidence.exit);
    let mut stages: Vec<_> = evidence.rules.stages.iter().map(|stage| (stage, None)).collect();
    let mut paces = 0;
    for (index, (stage, pace)) in stages.iter_mut().enumerate() {
        let behind = &evidence.rules.stages[index + 1..];
        match &stage.kind {
            StageKind::PaceUnknown { why } => findings.not_audited(format!("the stage {}: {why}", stage.name)),
            StageKind::Pace { bits_per_second, burst_bytes } => {
                if let Some(other) = behind.iter().find(|stage| !stage.kind.keeps_order()) {
                    findings.not_audited(format!(
                        "the stage {}: behind it {} changes the order, so the order at the rate is not known",
                        stage.name, other.name
                    ));
                    continue;
                }
                paces += 1;
                let counts_copies = !behind.iter().any(|stage| stage.kind == StageKind::Copy);
                let schedule = Schedule::new(*bits_per_second, *burst_bytes, evidence.timing.rounds_each_packet);
                let window = Window::new(*bits_per_second, *burst_bytes, behind, evidence, &mut findings, &stage.name);
                *pace = Some(Pace { schedule, window, counts_copies });
            }
            _ => {}
        }
    }
    if paces == 0 {
        return findings.finish();
    }
    let least = least_delay(evidence);
    for (packet, origin) in evidence.pairing.left.iter().zip(&evidence.pairing.origins) {
        let Some(entered) = origin.entered().map(|place| &evidence.pairing.entered[place]) else { continue };
        findings.checked(1);
        let is_copy = matches!(origin, Origin::Copy(_));
        let mut earliest = entered.time.as_nanos();
        let mut slowest: Option<&str> = None;
        let mut excess: Option<(&str, u128)> = None;
        for (stage, pace) in &mut stages {
            earliest = earliest.saturating_add(stage.kind.least_delay().as_nanos());
            let Some(pace) = pace.as_mut().filter(|pace| pace.counts_copies || !is_copy) else { continue };
            let left = pace.schedule.pass(earliest, packet.length);
            if left > earliest {
                slowest = Some(&stage.name);
            }
            earliest = left;
            let over = pace.window.as_mut().and_then(|window| window.pass(packet.time.as_nanos(), packet.length));
            excess = excess.or(over.map(|bytes| (stage.name.as_str(), bytes)));
        }
        // A packet that left before its delay has violated that law, and not this one.
        let time = packet.time.as_nanos();
        if time < entered.time.as_nanos().saturating_add(least.as_nanos()) {
            continue;
        }
        if time < earliest {
            let stage = slowest.unwrap_or_default();
            findings.violated(packet, || {
                format!(
                    "it left {} ns before the stage {stage} could have carried it; it entered as frame {}",
                    earliest - time,
                    entered.frame
                )
            });
        } else if let Some((stage, bytes)) = excess {
            findings.violated(packet, || {
                format!(
                    "with the packets before it, it is {bytes} bytes more than the stage {stage} carries in that time"
                )
            });
        }
    }
    findings.finish()
}

/// A rate while packets pass.
struct Pace {
    schedule: Schedule,
    /// `None` where times are not exact.
    window: Option<Window>,
    counts_copies: bool,
}

/// When packets leave a rate at the earliest.
struct Schedule {
    /// Work for each nanosecond.
    rate: u128,
    /// Bits of a packet become work by this division first, where each is rounded alone.
    divided_by: Option<u128>,
    /// The work that may run ahead; `None` for a link.
    depth: Option<u128>,
    /// Work that is done at the latest when everything has passed, in work since time 0.
    end: u128,
    last: u64,
}

impl Schedule {
    fn new(bits_per_second: u64, burst_bytes: Option<u64>, rounds_each_packet: bool) -> Self {
        let rate = u128::from(bits_per_second).max(1);
        let depth = burst_bytes.map(|bytes| u128::from(bytes) * 8 * SECOND);
        match rounds_each_packet {
            false => Self { rate, divided_by: None, depth, end: 0, last: 0 },
            true => Self {
                rate: 1,
                divided_by: Some(rate),
                depth: depth.map(|depth| depth.div_ceil(rate)),
                end: 0,
                last: 0,
            },
        }
    }

    /// A packet comes at `arrival`. Returns when it leaves at the earliest.
    fn pass(&mut self, arrival: u64, bytes: u32) -> u64 {
        let bits = u128::from(bytes) * 8 * SECOND;
        let work = match self.divided_by {
            None => bits,
            Some(rate) => (bits / rate).saturating_sub(1),
        };
        let at = |time: u64, rate: u128| u128::from(time).saturating_mul(rate);
        let nanoseconds = |time: u128| u64::try_from(time).unwrap_or(u64::MAX);
        let left = match self.depth {
            None => {
                self.end = self.end.max(at(arrival, self.rate)).saturating_add(work);
                nanoseconds(self.end / self.rate)
            }
            Some(depth) => {
                let conforming = self.end.saturating_add(work).saturating_sub(depth).div_ceil(self.rate);
                let left = arrival.max(self.last).max(nanoseconds(conforming));
                self.end = self.end.max(at(left, self.rate)).saturating_add(work);
                left
            }
        };
        self.last = left;
        left
    }
}

/// The most that a rate carries in any window of time, where it is known when packets left it.
struct Window {
    rate: i128,
    depth: Option<i128>,
    /// Time from the rate to the tap.
    behind: Duration,
    /// Work of all packets so far.
    work: i128,
    /// Smallest amount by which the work was ahead of the rate when a window could begin.
    least: Option<i128>,
}

impl Window {
    fn new(
        bits_per_second: u64,
        burst_bytes: Option<u64>,
        behind: &[Stage],
        evidence: &Evidence,
        findings: &mut Findings,
        name: &str,
    ) -> Option<Self> {
        if !evidence.timing.is_exact {
            findings.not_audited(format!(
                "windows of time behind the stage {name}: the record does not say how late each packet went from there to the tap"
            ));
            return None;
        }
        let behind = match Rules::constant_delay(behind) {
            Ok(behind) => behind,
            Err(other) => {
                findings.not_audited(format!(
                    "windows of time behind the stage {name}: {other} delays packets differently"
                ));
                return None;
            }
        };
        let depth = burst_bytes.map(|bytes| i128::from(bytes) * 8 * SECOND as i128);
        Some(Self { rate: i128::from(bits_per_second), depth, behind, work: 0, least: None })
    }

    /// A packet was at the tap. Returns the bytes by which a window that ends with it has too much.
    fn pass(&mut self, time: u64, bytes: u32) -> Option<u128> {
        let elapsed = i128::from(time.saturating_sub(self.behind.as_nanos())).saturating_mul(self.rate);
        let before = self.work.saturating_sub(elapsed);
        self.work += i128::from(bytes) * 8 * SECOND as i128;
        let ahead = self.work.saturating_sub(elapsed);
        // A bucket may be full where a window begins, just before a packet. A link has nothing saved, so that a window begins just behind a
        // packet; its times are rounded down to whole nanoseconds.
        let (begins, may_be) = match self.depth {
            Some(depth) => (before, depth),
            None => (ahead, self.rate),
        };
        let least = match self.depth {
            Some(_) => Some(self.least.map_or(begins, |least| least.min(begins))),
            None => self.least,
        };
        self.least = Some(self.least.map_or(begins, |least| least.min(begins)));
        let over = ahead.saturating_sub(least?).saturating_sub(may_be);
        (over > 0).then(|| u128::try_from(over).unwrap_or(0).div_ceil(8 * SECOND))
    }
}
