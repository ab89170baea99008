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
    /// Of all values that the sender logged, in bytes and in order.
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

/// Finds the first packet that the sender sent after its window first fell from a peak. Feed it the sender's log in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstReduction {
    window: Option<u64>,
    has_fallen: bool,
    packet: Option<u64>,
}

impl FirstReduction {
    /// The window is so many bytes now.
    pub fn on_window(&mut self, bytes: u64) {
        self.has_fallen |= self.window.is_some_and(|last| (bytes as f64) < REDUCED * last as f64);
        self.window = Some(bytes);
    }

    /// A 1-RTT packet of this number was sent.
    pub fn on_sent(&mut self, number: u64) {
        if self.has_fallen {
            self.packet.get_or_insert(number);
        }
    }

    /// Its number; `None` where the window did not fall by more than a tenth at once, or nothing was sent after that.
    pub fn first_packet_behind(&self) -> Option<u64> {
        self.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_behind_a_reduction_is_found() {
        let mut reduction = FirstReduction::default();
        let windows = [100, 200, 180, 179, 100, 50];
        for (number, window) in windows.into_iter().enumerate() {
            reduction.on_window(window);
            assert_eq!(reduction.first_packet_behind(), (number > 4).then_some(4), "{window}");
            reduction.on_sent(number as u64);
        }
        assert_eq!(reduction.first_packet_behind(), Some(4), "179 is not below nine tenths of 180, 100 is of 179");
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
