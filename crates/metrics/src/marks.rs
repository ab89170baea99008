//! Marks in the time-sequence picture.

use quiclab_units::Time;

/// Number of marks of each kind that are kept at most; others are counted and left out.
const MOST_MARKS: usize = 5_000;

/// Losses and retransmissions: (time since the flow's first packet in ns, sequence). Keeps nothing until it is wanted.
#[derive(Default)]
pub(crate) struct Marks {
    is_wanted: bool,
    origin: Option<Time>,
    pub(crate) lost: Vec<(u64, u64)>,
    pub(crate) retransmitted: Vec<(u64, u64)>,
    pub(crate) left_out: u64,
}

impl Marks {
    pub(crate) fn want(&mut self) {
        self.is_wanted = true;
    }

    pub(crate) fn begin(&mut self, origin: Time) {
        self.origin.get_or_insert(origin);
    }

    pub(crate) fn on_loss(&mut self, sent: Time, sequence: u64) {
        let place = self.place(sent, sequence);
        self.left_out += u64::from(!push(&mut self.lost, place, self.is_wanted));
    }

    pub(crate) fn on_retransmission(&mut self, time: Time, sequence: u64) {
        let place = self.place(time, sequence);
        self.left_out += u64::from(!push(&mut self.retransmitted, place, self.is_wanted));
    }

    fn place(&self, time: Time, sequence: u64) -> (u64, u64) {
        let since = self.origin.and_then(|origin| time.checked_since(origin)).map_or(0, |since| since.as_nanos());
        (since, sequence)
    }
}

/// Whether there is room, or nothing is wanted.
fn push(marks: &mut Vec<(u64, u64)>, mark: (u64, u64), is_wanted: bool) -> bool {
    if is_wanted && marks.len() < MOST_MARKS {
        marks.push(mark);
        return true;
    }
    !is_wanted
}
