//! Losses by duplicate acknowledgments: fast retransmit and fast recovery (RFC 5681, section 3.2; RFC 6582).

use super::sender::{Answer, DUPLICATE_THRESHOLD};

/// What a sender without selective acknowledgments knows.
#[derive(Debug)]
pub(crate) struct Duplicates {
    /// Whether recovery lasts until all that was sent before it has arrived (RFC 6582).
    is_new_reno: bool,
    /// `SND.NXT`: goes back to the first unacknowledged segment after a timeout.
    next: u64,
    count: u32,
    /// How much larger the window is in fast recovery by segments that have left the path (RFC 5681, section 3.2, steps 3 and 4); negative
    /// where partial acknowledgments have deflated it below its threshold. `None` outside of fast recovery.
    inflation: Option<f64>,
    /// `recover`, plus one: the first segment that had not been sent when a loss was last detected. A recovery begins only if a segment from here on has
    /// been acknowledged. `None` before the first loss, so that a connection's first segment can be retransmitted too.
    recover: Option<u64>,
    /// Whether a partial acknowledgment has come already in fast recovery.
    had_partial: bool,
}

impl Duplicates {
    /// Makes the state of a sender that begins with segment `first`.
    pub(crate) fn new(is_new_reno: bool, first: u64) -> Self {
        Self { is_new_reno, next: first, count: 0, inflation: None, recover: None, had_partial: false }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn inflation(&self) -> f64 {
        self.inflation.unwrap_or(0.0)
    }

    pub(crate) fn in_flight(&self, acknowledged: u64) -> u64 {
        self.next - acknowledged
    }

    pub(crate) fn on_sent(&mut self, sequence: u64) {
        self.next = self.next.max(sequence + 1);
    }

    /// All up to `next` has arrived, and before that all up to `before` had. `window` is the congestion window.
    pub(crate) fn on_new(&mut self, before: u64, next: u64, window: f64) -> Answer {
        let newly = next - before;
        self.next = self.next.max(next);
        self.count = 0;
        let (mut retransmit, mut keeps_timer) = (None, false);
        let was_recovering = self.inflation.is_some();
        if let Some(inflation) = self.inflation {
            if self.is_new_reno && self.recover.is_some_and(|recover| next < recover) {
                // A partial acknowledgment: the next hole is where it ends (RFC 6582, section 3.2, step 3). The window may fall below its threshold, but
                // not below a segment.
                self.inflation = Some((inflation - newly as f64 + 1.0).max(1.0 - window));
                retransmit = Some(next);
                // Only the first of them sets the timer anew (the same step): where many are lost it expires, and slow start repairs them.
                keeps_timer = std::mem::replace(&mut self.had_partial, true);
            } else {
                self.inflation = None;
            }
        }
        // The acknowledgment that ends recovery does not make the window grow (RFC 5681, section 3.2, step 6).
        Answer {
            newly,
            is_recovering: was_recovering,
            is_repairing: was_recovering,
            retransmit,
            keeps_timer,
            ..Answer::default()
        }
    }

    /// Nothing new has arrived in order.
    pub(crate) fn on_duplicate(&mut self, next: u64, acknowledged: u64, highest: u64) -> Answer {
        debug_assert_eq!(next, acknowledged, "a duplicate repeats the last one");
        self.count += 1;
        if let Some(inflation) = &mut self.inflation {
            *inflation += 1.0;
            return Answer { is_recovering: true, is_repairing: true, ..Answer::default() };
        }
        // "More than `recover`" (RFC 6582, section 3.2, step 2): `ack_number - 1 > recover`. An acknowledgment of exactly what had been sent may repeat
        // segments that a timeout sent without need. RFC 5681 has no such variable, but Linux and ns apply the rule to Reno as well.
        let is_of_old_window = self.recover.is_some_and(|recover| acknowledged <= recover);
        if self.count != DUPLICATE_THRESHOLD || is_of_old_window {
            return Answer::default();
        }
        self.recover = Some(highest);
        self.had_partial = false;
        self.inflation = Some(f64::from(DUPLICATE_THRESHOLD));
        Answer {
            lost: 1,
            is_new_loss: true,
            is_recovering: true,
            is_repairing: true,
            retransmit: Some(acknowledged),
            ..Answer::default()
        }
    }

    /// All that was sent is taken for lost (RFC 5681, section 3.1; RFC 6582, section 3.2, step 4).
    pub(crate) fn on_timeout(&mut self, acknowledged: u64, highest: u64) {
        self.inflation = None;
        self.count = 0;
        self.recover = Some(highest);
        self.next = acknowledged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether three duplicates of `acknowledged` begin a recovery.
    fn recovers(duplicates: &mut Duplicates, acknowledged: u64, highest: u64) -> bool {
        (0..3).any(|_| duplicates.on_duplicate(acknowledged, acknowledged, highest).is_new_loss)
    }

    #[test]
    fn the_first_segment_of_a_connection_can_be_retransmitted() {
        for (first, is_new_reno) in [(0, true), (0, false), (70, true)] {
            assert!(recovers(&mut Duplicates::new(is_new_reno, first), first, first + 10));
        }
    }

    /// RFC 6582, section 3.2, step 2: `ack_number - 1 > recover`, where `recover` is the highest number that had been sent.
    #[test]
    fn after_a_timeout_more_must_be_acknowledged_than_had_been_sent() {
        for acknowledged in 95..=105 {
            let mut duplicates = Duplicates::new(true, 0);
            duplicates.on_sent(99);
            duplicates.on_timeout(0, 100);
            duplicates.on_new(0, acknowledged, 10.0);
            assert_eq!(recovers(&mut duplicates, acknowledged, 120), acknowledged > 100, "{acknowledged}");
        }
    }
}
