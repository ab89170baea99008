//! Explicit Congestion Notification: a mark of a queue asks for what a loss would (RFC 3168, section 6.1).

use quiclab_path::packet::Ecn;

/// The sender's half (RFC 3168, section 6.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    /// The window was reduced when all below this segment was sent: what was marked of these asks for nothing more.
    until: u64,
    /// Whether the next new segment says that it was (CWR).
    is_to_tell: bool,
}

impl Answers {
    /// Whether the mark that this acknowledgment repeats, of everything up to `next`, asks for a smaller window: once in each window of data.
    pub(crate) fn is_asked_by(self, next: u64) -> bool {
        next > self.until
    }

    /// The window was reduced, for whatever reason, with everything below `highest` sent.
    pub(crate) fn on_reduced(&mut self, highest: u64) {
        self.until = highest;
        self.is_to_tell = true;
    }

    /// Whether a new segment is to say that the window was reduced.
    pub(crate) fn tell(&mut self) -> bool {
        std::mem::take(&mut self.is_to_tell)
    }
}

/// The receiver's half (RFC 3168, section 6.1.3): whether acknowledgments repeat a mark (ECE), which they do until the sender says that it has heard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Echo(bool);

impl Echo {
    /// A segment has arrived with this mark, which says that the window was reduced, or not.
    pub(crate) fn on_arrived(&mut self, ecn: Ecn, has_reduced: bool) {
        self.0 = ecn == Ecn::CongestionExperienced || (self.0 && !has_reduced);
    }

    pub(crate) fn is_set(self) -> bool {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use quiclab_units::{Duration, Time};

    use super::*;
    use crate::{
        endpoint::{Endpoint, Outbox},
        segment::Segment,
        tcp::{
            congestion::{hystart::SlowStart, reno::Reno},
            receiver::{Receiver, ReceiverSettings},
            sender::{Sender, SenderSettings},
        },
    };

    fn at(milliseconds: u64) -> Time {
        Time::from_nanos(0) + Duration::from_millis(milliseconds)
    }

    /// What a sender with a window of ten segments does with acknowledgments up to some segments, marked or not: its window, and those of the new segments that
    /// say that it has reduced it.
    fn answers(acknowledged: &[(u64, bool)]) -> Vec<(f64, Vec<u64>)> {
        let reno = Reno::new(10.0, 10.0, SlowStart::standard(1.0));
        let mut sender = Sender::new(SenderSettings { ecn: true, ..SenderSettings::default() }, Box::new(reno));
        let mut outbox = Outbox::default();
        sender.write(1000);
        sender.handle_timeout(at(0), &mut outbox);
        let answer = |(next, is_marked): &(u64, bool)| {
            outbox.packets.clear();
            let (selective, echo) = ([(0, 0); 3], at(0));
            let segment =
                Segment::Acknowledgment { next: *next, selective, echo, is_first: true, is_marked: *is_marked };
            sender.handle_packet(at(100 + next), Ecn::NotCapable, segment, &mut outbox);
            let telling = outbox.packets.iter().filter_map(|(_, ecn, segment)| match segment {
                Segment::Data { sequence, has_reduced, .. } => {
                    assert_eq!(*ecn, Ecn::Capable);
                    has_reduced.then_some(*sequence)
                }
                Segment::Acknowledgment { .. } => None,
            });
            let telling = telling.collect();
            (sender.congestion_window(), telling)
        };
        acknowledged.iter().map(answer).collect()
    }

    /// Ten are on their way when the first mark is heard of: the window is halved, and not again before what was sent later is acknowledged.
    #[test]
    fn a_mark_halves_the_window_once_in_each_window_of_data() {
        // RFC 3168, section 6.1.2.
        let found = answers(&[(1, true), (2, true), (5, true), (6, true), (10, false), (11, true), (12, false)]);
        let grown = 5.0 + 1.0 / 5.0;
        let expected = [
            (5.0, vec![]),
            (5.0, vec![]),
            (5.0, vec![]),
            // Five of the ten are still to be acknowledged, and 10 is the first new one.
            (5.0, vec![10]),
            (grown, vec![]),
            // Five were on their way, and four are.
            (2.5, vec![]),
            (2.5 + 1.0 / 2.5, vec![]),
        ];
        assert_eq!(found, expected);
    }

    /// The mark is of the last segments of a connection, and nothing is left to send that would tell the receiver: the first segment of the next one does.
    #[test]
    fn a_mark_of_one_connection_is_none_of_the_next() {
        let reno = Reno::new(4.0, 4.0, SlowStart::standard(1.0));
        let mut sender = Sender::new(SenderSettings { ecn: true, ..SenderSettings::default() }, Box::new(reno));
        let mut receiver = Receiver::new(ReceiverSettings::default());
        for (connection, mark) in [Ecn::CongestionExperienced, Ecn::Capable].into_iter().enumerate() {
            let (mut there, mut back, mut nothing) = (Outbox::default(), Outbox::default(), Outbox::default());
            sender.write(4);
            sender.handle_timeout(at(0), &mut there);
            for (_, _, segment) in there.packets.drain(..) {
                receiver.handle_packet(at(50), mark, segment, &mut back);
            }
            for (_, ecn, segment) in back.packets.drain(..) {
                sender.handle_packet(at(100), ecn, segment, &mut nothing);
            }
            assert_eq!(sender.counters().marks, 1, "connection {connection}");
            sender.reconnect();
        }
    }

    #[test]
    fn acknowledgments_repeat_a_mark_until_the_sender_has_heard() {
        // RFC 3168, section 6.1.3.
        const MARKED: Ecn = Ecn::CongestionExperienced;
        let mut receiver = Receiver::new(ReceiverSettings::default());
        let mut outbox = Outbox::default();
        let arriving = [
            (Ecn::Capable, false),
            (MARKED, false),
            (Ecn::Capable, false),
            (Ecn::Capable, true),
            (MARKED, false),
            (MARKED, true),
            (Ecn::Capable, true),
        ];
        for (sequence, (ecn, has_reduced)) in (0..).zip(arriving) {
            let segment = Segment::Data { sequence, sent: at(0), is_retransmission: false, has_reduced };
            receiver.handle_packet(at(1), ecn, segment, &mut outbox);
        }
        let repeated = outbox.packets.iter().map(|(_, ecn, segment)| {
            assert_eq!(*ecn, Ecn::NotCapable, "acknowledgments are not marked");
            matches!(segment, Segment::Acknowledgment { is_marked: true, .. })
        });
        assert_eq!(repeated.collect::<Vec<_>>(), [false, true, true, false, true, true, false]);
    }
}
