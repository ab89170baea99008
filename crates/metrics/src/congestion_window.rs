//! What became of the congestion window, by the sender's own log.

/// Reductions below this share of the window before them count: CUBIC keeps 0.7, Reno a half, and what BBR takes back in small steps is no
/// answer to a loss.
const REDUCED: f64 = 0.9;

/// How often the window was reduced, and how often a reduction was taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowChanges {
    /// Times at which it fell by more than a tenth at once.
    pub reductions: u64,
    /// Times at which it stood at once where it had been before the last reduction, or higher, from below nine tenths of that.
    pub restorations: u64,
}

impl WindowChanges {
    /// Counts the changes in all values that the sender logged, in bytes and in order.
    pub fn of(windows: impl IntoIterator<Item = u64>) -> Self {
        let mut changes = Self::default();
        let mut before: Option<u64> = None;
        let mut before_reduction = None;
        for window in windows {
            if let Some(last) = before {
                if (window as f64) < REDUCED * last as f64 {
                    changes.reductions += 1;
                    before_reduction = Some(last);
                } else if let Some(old) = before_reduction
                    && window >= old
                {
                    changes.restorations += u64::from((last as f64) < REDUCED * old as f64);
                    before_reduction = None;
                }
            }
            before = Some(window);
        }
        changes
    }
}

/// Finds in a sender's log where slow start ended: the first packet that it sent after its window had fallen from its first
/// peak, or after it had said that it left slow start. Feed it the log in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlowStartLog {
    window: Option<u64>,
    end: Option<LoggedEnd>,
    packet: Option<u64>,
}

/// What a sender's log has at the end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedEnd {
    /// The window fell by more than a tenth at once.
    WindowFell,
    /// The congestion controller entered a state behind slow start.
    State,
}

impl SlowStartLog {
    /// The window is so many bytes now.
    pub fn on_window(&mut self, bytes: u64) {
        if self.window.is_some_and(|last| (bytes as f64) < REDUCED * last as f64) {
            self.end.get_or_insert(LoggedEnd::WindowFell);
        }
        self.window = Some(bytes);
    }

    /// The congestion controller entered this state. A sender without data to send may still be in slow start.
    pub fn on_state(&mut self, name: &str) {
        const BEHIND_SLOW_START: [&str; 4] = ["avoidance", "recovery", "drain", "probe"];
        let name = name.to_lowercase();
        if BEHIND_SLOW_START.iter().any(|word| name.contains(word)) {
            self.end.get_or_insert(LoggedEnd::State);
        }
    }

    /// A 1-RTT packet of this number was sent.
    pub fn on_sent(&mut self, number: u64) {
        if self.end.is_some() {
            self.packet.get_or_insert(number);
        }
    }

    /// The number of the first 1-RTT packet behind the end, and what the end was; `None` where there is neither.
    pub fn first_packet_behind(&self) -> Option<(u64, LoggedEnd)> {
        self.packet.zip(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_behind_a_fall_of_the_window_ends_slow_start() {
        let mut log = SlowStartLog::default();
        // 179 is not below nine tenths of 180, 100 is of 179.
        for (number, window) in [100, 200, 180, 179, 100, 50].into_iter().enumerate() {
            log.on_window(window);
            assert_eq!(log.first_packet_behind(), (number > 4).then_some((4, LoggedEnd::WindowFell)), "{window}");
            log.on_sent(number as u64);
        }
        assert_eq!(log.first_packet_behind(), Some((4, LoggedEnd::WindowFell)));
    }

    #[test]
    fn a_state_behind_slow_start_ends_it_and_a_pause_does_not() {
        let mut log = SlowStartLog::default();
        for (number, state) in ["slow_start", "application_limited", "Congestion_Avoidance"].into_iter().enumerate() {
            log.on_state(state);
            log.on_sent(number as u64);
        }
        log.on_window(100);
        log.on_window(50);
        log.on_sent(3);
        assert_eq!(log.first_packet_behind(), Some((2, LoggedEnd::State)));
    }

    fn changes(windows: &[u64]) -> (u64, u64) {
        let changes = WindowChanges::of(windows.iter().copied());
        (changes.reductions, changes.restorations)
    }

    #[test]
    fn growing_is_no_change_however_fast() {
        assert_eq!(changes(&[]), (0, 0));
        assert_eq!(changes(&[10, 20, 40, 80, 81, 82]), (0, 0));
    }

    #[test]
    fn a_fall_by_more_than_a_tenth_is_a_reduction() {
        assert_eq!(changes(&[100, 90, 89]), (0, 0));
        assert_eq!(changes(&[100, 89]), (1, 0));
        assert_eq!(changes(&[100, 70, 49, 69]), (2, 0), "the last reduction was from 70");
        assert_eq!(changes(&[100, 70, 49, 70]), (2, 1));
    }

    #[test]
    fn what_is_given_back_at_once_is_a_restoration_and_what_grows_back_is_none() {
        assert_eq!(changes(&[100, 70, 100]), (1, 1));
        assert_eq!(changes(&[100, 70, 71, 100, 70, 101]), (2, 2));
        assert_eq!(changes(&[100, 70, 80, 90, 95, 100, 101]), (1, 0));
        assert_eq!(changes(&[100, 70, 89, 100]), (1, 1), "just below nine tenths");
        assert_eq!(changes(&[100, 70, 90, 100]), (1, 0), "just at nine tenths");
    }
}
