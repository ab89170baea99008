//! RFC 5681, sections 3.1 and 3.2, and RFC 6582, section 3.2.

use super::*;

/// The variables of the RFCs under their names.
struct NewReno {
    /// False for RFC 5681 alone.
    is_new_reno: bool,
    cwnd: f64,
    ssthresh: f64,
    snd_una: u64,
    snd_nxt: u64,
    snd_max: u64,
    dup_acks: u32,
    in_fast_recovery: bool,
    /// The highest sequence number transmitted when fast retransmit or the timer came last. RFC 6582 begins with the initial sequence number, which is that of the
    /// SYN, and an `ack_number - 1` of a connection without data would be equal to it: with none, a first segment that is lost can be retransmitted.
    recover: Option<u64>,
    had_partial_ack: bool,
    /// The segment that the timer has retransmitted.
    resent_by_timer: Option<u64>,
    timer: Timer,
    sent: Vec<u64>,
}

impl NewReno {
    fn new(is_new_reno: bool, iw: f64) -> Self {
        Self {
            is_new_reno,
            cwnd: iw,
            ssthresh: f64::INFINITY,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            dup_acks: 0,
            in_fast_recovery: false,
            recover: None,
            had_partial_ack: false,
            resent_by_timer: None,
            timer: Timer::new(false),
            sent: Vec::new(),
        }
    }

    fn transmit(&mut self, sequence: u64, now: Time) {
        self.sent.push(sequence);
        self.snd_nxt = self.snd_nxt.max(sequence + 1);
        self.snd_max = self.snd_max.max(sequence + 1);
        self.timer.on_sent(now);
    }

    /// What cwnd permits, and what there is to see.
    fn step(&mut self, now: Time) -> State {
        while ((self.snd_nxt - self.snd_una) as f64) + 1.0 <= self.cwnd {
            self.transmit(self.snd_nxt, now);
        }
        State {
            sent: std::mem::take(&mut self.sent),
            window: self.cwnd,
            threshold: self.ssthresh,
            in_flight: self.snd_nxt - self.snd_una,
            expires: self.timer.expires,
        }
    }

    fn on_new_data_acknowledged(&mut self, now: Time, ack: u64) {
        let newly = ack - self.snd_una;
        self.snd_una = ack;
        self.snd_nxt = self.snd_nxt.max(ack);
        self.dup_acks = 0;
        if !self.in_fast_recovery {
            // RFC 5681, section 3.1, equations 2 and 3.
            if self.cwnd < self.ssthresh {
                self.cwnd += (newly as f64).min(1.0);
            } else {
                self.cwnd += 1.0 / self.cwnd;
            }
            self.timer.on_new(now, ack == self.snd_max);
            return;
        }
        // "This ACK acknowledges all of the data up to and including recover" (RFC 6582, section 3.2, step 3).
        let is_full = self.recover.is_none_or(|recover| ack > recover);
        if self.is_new_reno && !is_full {
            self.transmit(self.snd_una, now);
            // "Deflate the congestion window by the amount of new data acknowledged [...]. If the partial ACK acknowledges at least one SMSS of new data, then
            // add back SMSS bytes." The RFC has no lower bound; the sender's is a segment.
            self.cwnd = (self.cwnd - newly as f64 + 1.0).max(1.0);
            if !self.had_partial_ack {
                self.had_partial_ack = true;
                self.timer.on_new(now, false);
            }
        } else {
            // RFC 6582: "(2) ssthresh"; RFC 5681, section 3.2, step 6.
            self.cwnd = self.ssthresh;
            self.in_fast_recovery = false;
            self.timer.on_new(now, ack == self.snd_max);
        }
    }

    fn on_duplicate(&mut self, now: Time) {
        if self.in_fast_recovery {
            // RFC 5681, section 3.2, step 4.
            self.cwnd += 1.0;
            return;
        }
        self.dup_acks += 1;
        // RFC 6582, section 3.2, step 2: "ack_number - 1 > recover". RFC 5681 has no such rule, which is applied to both.
        let covers_more = self.recover.is_none_or(|recover| self.snd_una > recover + 1);
        if self.dup_acks != 3 || !covers_more {
            return;
        }
        self.recover = Some(self.snd_max - 1);
        self.had_partial_ack = false;
        // RFC 5681, section 3.2, steps 2 and 3, equation 4: "no more than".
        let flight_size = (self.snd_max - self.snd_una) as f64;
        self.ssthresh = (flight_size.min(self.cwnd) / 2.0).max(2.0);
        self.cwnd = self.ssthresh + 3.0;
        self.in_fast_recovery = true;
        // Linux and ns restart the timer with the retransmission.
        self.timer.restart(now);
        self.transmit(self.snd_una, now);
    }
}

impl Literal for NewReno {
    fn begin(&mut self, now: Time) -> State {
        self.step(now)
    }

    fn on_acknowledgment(&mut self, now: Time, acknowledgment: &Acknowledgment) -> State {
        if acknowledgment.next > self.snd_una {
            self.timer.measure(now, acknowledgment);
            self.on_new_data_acknowledged(now, acknowledgment.next);
        } else if acknowledgment.next == self.snd_una && self.snd_una < self.snd_max {
            self.on_duplicate(now);
        }
        self.step(now)
    }

    fn on_timeout(&mut self, now: Time) -> State {
        // RFC 5681, section 3.1: "no more than the value given in equation (4)" the first time, "held constant" after that. The sender takes no more than the window
        // for FlightSize, without what fast recovery has added.
        if self.resent_by_timer != Some(self.snd_una) {
            let window = if self.in_fast_recovery { self.ssthresh } else { self.cwnd };
            self.ssthresh = (((self.snd_max - self.snd_una) as f64).min(window) / 2.0).max(2.0);
        }
        self.resent_by_timer = Some(self.snd_una);
        self.cwnd = 1.0;
        // RFC 6582, section 3.2, step 4.
        self.recover = Some(self.snd_max - 1);
        self.in_fast_recovery = false;
        self.dup_acks = 0;
        self.snd_nxt = self.snd_una;
        self.timer.on_timeout();
        self.step(now)
    }
}

#[test]
fn reno_and_newreno_do_what_their_rfcs_say() {
    for (recovery, is_new_reno) in [(Recovery::Reno, false), (Recovery::NewReno, true)] {
        let seen = compare_all(recovery, 2000, |initial| Box::new(NewReno::new(is_new_reno, initial)));
        let is_enough = seen.recoveries > 5000 && seen.timeouts > 5000 && seen.repeated_timeouts > 500;
        assert!(is_enough, "{recovery:?}: {seen:?}");
    }
}
