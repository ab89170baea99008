//! RFC 6675, sections 4 and 5, with timestamps.

use std::collections::BTreeSet;

use super::*;

/// `DupThresh`.
const DUP_THRESH: usize = 3;

/// The variables of the RFC under their names. `HighACK` is `snd_una - 1` and `HighData` is `snd_max - 1`.
struct Selective {
    cwnd: f64,
    ssthresh: f64,
    snd_una: u64,
    snd_max: u64,
    sacked: BTreeSet<u64>,
    /// `HighRxt`, plus one.
    rxt_end: u64,
    /// `RecoveryPoint`, plus one.
    recovery_end: Option<u64>,
    /// Whether the timer began the recovery.
    is_by_timer: bool,
    /// What is below was taken for lost by the timer.
    timed_out_end: Option<u64>,
    resent_by_timer: Option<u64>,
    timer: Timer,
    sent: Vec<u64>,
}

impl Selective {
    fn new(iw: f64) -> Self {
        Self {
            cwnd: iw,
            ssthresh: f64::INFINITY,
            snd_una: 0,
            snd_max: 0,
            sacked: BTreeSet::new(),
            rxt_end: 0,
            recovery_end: None,
            is_by_timer: false,
            timed_out_end: None,
            resent_by_timer: None,
            timer: Timer::new(true),
            sent: Vec::new(),
        }
    }

    /// `IsLost`: "either DupThresh discontiguous SACKed sequences have arrived above 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers greater
    /// than 'SeqNum' have been SACKed". After a timeout also everything that was sent before it.
    fn is_lost(&self, number: u64) -> bool {
        let above = || self.sacked.range(number + 1..);
        let discontiguous = || above().filter(|one| !self.sacked.contains(&(*one + 1))).count();
        self.timed_out_end.is_some_and(|end| number < end)
            || above().take(DUP_THRESH).count() > DUP_THRESH - 1
            || discontiguous() >= DUP_THRESH
    }

    /// `SetPipe`.
    fn pipe(&self) -> u64 {
        let mut pipe = 0;
        for number in (self.snd_una..self.snd_max).filter(|number| !self.sacked.contains(number)) {
            if !self.is_lost(number) {
                pipe += 1;
            }
            if number < self.rxt_end {
                pipe += 1;
            }
        }
        pipe
    }

    /// `NextSeg`, rules 1 and 2. Rule 1.b, "less than the highest octet covered by any received SACK", does not hold after a timeout.
    fn next_seg(&self) -> u64 {
        let first = self.rxt_end.max(self.snd_una);
        let lost = (first..self.snd_max).find(|number| !self.sacked.contains(number) && self.is_lost(*number));
        lost.unwrap_or(self.snd_max)
    }

    fn transmit(&mut self, number: u64, now: Time) {
        self.sent.push(number);
        if number < self.snd_max {
            self.rxt_end = number + 1;
        }
        self.snd_max = self.snd_max.max(number + 1);
        self.timer.on_sent(now);
    }

    /// Step C, and what there is to see.
    fn step(&mut self, now: Time) -> State {
        while self.cwnd - self.pipe() as f64 >= 1.0 {
            self.transmit(self.next_seg(), now);
        }
        State {
            sent: std::mem::take(&mut self.sent),
            window: self.cwnd,
            threshold: self.ssthresh,
            in_flight: self.pipe(),
            expires: self.timer.expires,
        }
    }

    /// `Update`; gives the segments that are lost now and were not before.
    fn update(&mut self, acknowledgment: &Acknowledgment) -> Vec<u64> {
        let lost: BTreeSet<u64> = (self.snd_una..self.snd_max).filter(|number| self.is_lost(*number)).collect();
        self.snd_una = self.snd_una.max(acknowledgment.next);
        for (begin, end) in acknowledgment.selective {
            self.sacked.extend(begin.max(self.snd_una)..end.max(self.snd_una));
        }
        let una = self.snd_una;
        self.sacked.retain(|number| *number >= una);
        let is_new = |number: &u64| !self.sacked.contains(number) && self.is_lost(*number) && !lost.contains(number);
        (self.snd_una..self.snd_max).filter(is_new).collect()
    }
}

impl Literal for Selective {
    fn begin(&mut self, now: Time) -> State {
        self.step(now)
    }

    fn on_acknowledgment(&mut self, now: Time, acknowledgment: &Acknowledgment) -> State {
        if acknowledgment.next < self.snd_una || self.snd_una == self.snd_max {
            return self.step(now);
        }
        let is_cumulative = acknowledgment.next > self.snd_una;
        let flight_size = (self.snd_max - self.snd_una) as f64;
        if is_cumulative {
            self.timer.measure(now, acknowledgment);
        }
        let lost = self.update(acknowledgment);
        // Step A.
        if self.recovery_end.is_some_and(|end| self.snd_una >= end) {
            self.recovery_end = None;
            self.timed_out_end = None;
        }
        // Steps 1 and 2. Three duplicates select three segments, so that step 1 is in IsLost. The sender also begins with an acknowledgment that advances, and, where
        // RFC 6675 waits for the end of the recovery, as soon as something is lost that was sent after its beginning (RFC 5681, section 4.3).
        let is_of_this_recovery = |number: &u64| self.recovery_end.is_some_and(|end| *number < end);
        let begins = lost.iter().any(|number| !is_of_this_recovery(number));
        let is_recovering = self.recovery_end.is_some() && !self.is_by_timer;
        if begins {
            // Steps 4.1 to 4.3.
            let is_first = self.recovery_end.is_none();
            self.recovery_end = Some(self.snd_max);
            self.is_by_timer = false;
            self.ssthresh = (flight_size.min(self.cwnd) / 2.0).max(2.0);
            self.cwnd = self.ssthresh;
            // Linux restarts the timer with the retransmission.
            self.timer.restart(now);
            if is_first {
                self.transmit(self.next_seg(), now);
            }
        } else if is_cumulative && !is_recovering {
            if self.cwnd < self.ssthresh {
                self.cwnd += 1.0;
            } else {
                self.cwnd += 1.0 / self.cwnd;
            }
        }
        if is_cumulative {
            self.timer.on_new(now, self.snd_una == self.snd_max);
        }
        self.step(now)
    }

    fn on_timeout(&mut self, now: Time) -> State {
        if self.resent_by_timer != Some(self.snd_una) {
            let flight_size = ((self.snd_max - self.snd_una) as f64).min(self.cwnd);
            self.ssthresh = (flight_size / 2.0).max(2.0);
        }
        self.resent_by_timer = Some(self.snd_una);
        self.cwnd = 1.0;
        // RFC 6675, section 5.1: RecoveryPoint is HighData, and what was selected is still believed to have arrived.
        self.recovery_end = Some(self.snd_max);
        self.is_by_timer = true;
        self.timed_out_end = Some(self.snd_max);
        self.rxt_end = self.snd_una;
        self.timer.on_timeout();
        self.step(now)
    }
}

#[test]
fn selective_acknowledgments_do_what_their_rfc_says() {
    let seen = compare_all(Recovery::Selective, 1000, |initial| Box::new(Selective::new(initial)));
    assert!(seen.recoveries > 2000 && seen.timeouts > 1000 && seen.repeated_timeouts > 100, "{seen:?}");
}
